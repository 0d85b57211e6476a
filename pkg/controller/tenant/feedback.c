/* SPDX-License-Identifier: Apache-2.0 */
/* Gather what is seen of a tenant, look, step. Nobody is looked at whose feedback is Off. */
#include "controller/tenant/feedback.h"

#include "base/macros.h"
#include "base/mem.h"
#include "base/table.h"
#include "cluster/read.h"
#include "cluster/tenants/refusals.h"
#include "cluster/tenants/users.h"

/* Of the TenantQoS that was made then: a handle may come to name another. */
struct tenant_watch {
	int64_t created_us;
	struct feedback_watch *watch; /* owned; NULL: nobody looks */
};

void tenant_watches_clear(struct tenant_watches *watches)
{
	for (size_t i = 0; i < watches->capacity; i++)
		mem_free(watches->list[i].watch);
	mem_free(watches->list);
	*watches = (struct tenant_watches){0};
}

static struct tenant_watch *watch_at(struct tenant_watches *watches, uint32_t tenant)
{
	size_t had = watches->capacity;

	if (tenant >= had) {
		mem_grow((void **)&watches->list, &watches->capacity, (size_t)tenant + 1,
			 sizeof(*watches->list));
		for (size_t i = had; i < watches->capacity; i++)
			watches->list[i] = (struct tenant_watch){0};
	}
	return &watches->list[tenant];
}

static void forget(struct tenant_watch *watch)
{
	mem_free(watch->watch);
	*watch = (struct tenant_watch){0};
}

static struct feedback_watch *watch_of(struct tenant_watches *watches, uint32_t tenant,
				       const struct tenant_facts *facts)
{
	struct tenant_watch *watch = watch_at(watches, tenant);

	if (watch->created_us != facts->created_us)
		forget(watch);
	if (!watch->watch)
		watch->watch = mem_alloc(sizeof(*watch->watch));
	watch->created_us = facts->created_us;
	return watch->watch;
}

/* --- what is seen */

/*
 * All figures are of the pod's own processes, but for what is estimated from the whole card: that
 * is its own where nobody else is there. A pod on several cards is as busy as they are on average.
 */
static struct feedback_pod describe_pod(const struct cluster_user *user,
					const struct tenant_seen *seen)
{
	const struct cluster_usage *usage = &user->usage;
	struct feedback_pod pod = {
		.key = user->key,
		.granted = user->granted,
		.memory = AMOUNT_UNKNOWN,
		.utilisation = AMOUNT_UNKNOWN,
		.pcie = AMOUNT_UNKNOWN,
	};

	if (usage->cards == 0)
		return pod;
	pod.memory = usage->memory;
	pod.pcie = usage->pcie;
	if (usage->pcie_estimated && usage->shared)
		pod.shared = FEEDBACK_BIT(FEEDBACK_PCIE);
	if (usage->sm_percent >= 0)
		pod.utilisation = usage->sm_percent / (int64_t)usage->cards;
	pod.alone = !usage->shared;
	pod.sample_us = seen->now_real_us - (seen->now_us - usage->sampled_us);
	return pod;
}

static size_t count_pods(const struct cluster *cluster, const struct tenant_lookup *lookup)
{
	size_t n = 0;

	for (size_t i = 0; i < lookup->view.n_members; i++)
		for (uint32_t pod = cluster_namespace_pod(cluster, lookup->namespaces[i]);
		     pod != TABLE_NONE; pod = cluster_namespace_pod_next(cluster, pod))
			n++;
	return n;
}

/* One that is not told may be the one that makes it too many. */
static void add_crashes(const struct cluster_user *user, struct feedback_facts *facts, bool *untold)
{
	if (user->crashes == AMOUNT_UNKNOWN)
		*untold = true;
	else
		facts->crashes += user->crashes;
}

static int gather_pods(const struct tenant_seen *seen, struct arena *arena,
		       struct feedback_facts *facts)
{
	const struct cluster *cluster = seen->cluster;
	const struct tenant_lookup *lookup = seen->lookup;
	size_t n = 0, most = count_pods(cluster, lookup);
	struct feedback_pod *pods = arena_alloc(arena, MAX(most, 1) * sizeof(*pods));
	bool untold = false;

	if (!pods)
		return -1;
	for (size_t i = 0; i < lookup->view.n_members; i++)
		for (uint32_t pod = cluster_namespace_pod(cluster, lookup->namespaces[i]);
		     pod != TABLE_NONE; pod = cluster_namespace_pod_next(cluster, pod)) {
			struct cluster_user user;

			cluster_user(cluster, pod, seen->now_real_us, &user);
			if (!user.holds)
				continue;
			pods[n++] = describe_pod(&user, seen);
			add_crashes(&user, facts, &untold);
		}
	if (untold && facts->crashes < FEEDBACK_CRASHES_BAD)
		facts->crashes = AMOUNT_UNKNOWN;
	facts->pods = pods;
	facts->n_pods = n;
	return 0;
}

/* None is known to be as asked as long as it is unknown of one. */
static int64_t mismatched(const struct topology_counts *counts)
{
	const struct topology_count *required = &counts->of[TOPOLOGY_REQUIRED];
	uint32_t spans = topology_count_spans(required);

	return spans == 0 && required->unknown > 0 ? AMOUNT_UNKNOWN : (int64_t)spans;
}

static int64_t refusals(const struct tenant_seen *seen)
{
	int64_t n = 0;

	if (!seen->refusals)
		return AMOUNT_UNKNOWN;
	for (size_t i = 0; i < seen->lookup->view.n_members; i++)
		n += cluster_refusals(seen->cluster, seen->lookup->namespaces[i],
				      seen->now_real_us);
	return n;
}

static void name_offender(const struct tenant_seen *seen, uint64_t key,
			  struct tenant_feedback *feedback)
{
	const struct cluster *cluster = seen->cluster;
	const struct tenant_lookup *lookup = seen->lookup;

	for (size_t i = 0; i < lookup->view.n_members; i++)
		for (uint32_t pod = cluster_namespace_pod(cluster, lookup->namespaces[i]);
		     pod != TABLE_NONE; pod = cluster_namespace_pod_next(cluster, pod)) {
			struct cluster_user user;

			cluster_user(cluster, pod, seen->now_real_us, &user);
			if (user.key != key || !user.holds)
				continue;
			feedback->offender_namespace = lookup->view.members[i].name;
			feedback->offender = user.name;
			feedback->blame.pod = pod;
			return;
		}
}

/* --- the step */

static struct throttle throttle_before(const struct tenant_facts *facts)
{
	if (!facts->has_status || facts->status.throttle.step == THROTTLE_NONE)
		return THROTTLE_NOTHING;
	return facts->status.throttle;
}

/* --- who is idle */

static void see_idle(const struct tenant_seen *seen, const struct cluster_user *user,
		     struct str namespace, struct tenant_feedback *feedback)
{
	struct tenant_idle *idle = &feedback->idle;
	int64_t since_us = user->usage.idle_since_us, due_us = since_us + seen->pace->idle_us;

	idle->pods++;
	idle->told += user->usage.cards > 0;
	if (since_us == 0 || seen->now_us - user->usage.sampled_us >= FEEDBACK_STALE_US)
		return;
	if (due_us > seen->now_us) {
		feedback->look_again_us = MIN(feedback->look_again_us, due_us);
		return;
	}
	if (idle->idle++ == 0) {
		idle->namespace = namespace;
		idle->name = user->name;
	}
}

static void look_for_idle(const struct tenant_seen *seen, struct tenant_feedback *feedback)
{
	const struct cluster *cluster = seen->cluster;
	const struct tenant_lookup *lookup = seen->lookup;

	feedback->idle.idle_us = seen->pace->idle_us;
	for (size_t i = 0; i < lookup->view.n_members; i++)
		for (uint32_t pod = cluster_namespace_pod(cluster, lookup->namespaces[i]);
		     pod != TABLE_NONE; pod = cluster_namespace_pod_next(cluster, pod)) {
			struct cluster_user user;

			cluster_user(cluster, pod, seen->now_real_us, &user);
			if (user.holds)
				see_idle(seen, &user, lookup->view.members[i].name, feedback);
		}
	if (feedback->idle.pods > 0)
		feedback->look_again_us =
			MIN(feedback->look_again_us,
			    seen->now_us + MIN(TENANT_IDLE_LOOK_US, seen->pace->idle_us / 4));
}

static void plan_next_look(const struct tenant_seen *seen, const struct feedback_spec *spec,
			   struct tenant_feedback *feedback)
{
	const struct throttle *throttle = &feedback->throttle;
	int64_t wait_us = throttle->until_us - seen->now_real_us;

	feedback->look_again_us = TIME_NEVER;
	if (spec->mode != FEEDBACK_OFF)
		feedback->look_again_us =
			seen->now_us +
			MIN(TENANT_LOOK_US, MAX(seen->pace->grace_us / 6, USEC_PER_SEC));
	if (throttle->until_us > 0)
		feedback->look_again_us =
			MIN(feedback->look_again_us, seen->now_us + MAX(wait_us, USEC_PER_SEC));
}

static int judge(struct tenant_watches *watches, const struct tenant_seen *seen,
		 struct arena *arena, struct feedback_verdict *ret_verdict, struct error *err)
{
	const struct tenant_facts *tenant = &seen->lookup->facts;
	struct throttle before = throttle_before(tenant);
	struct feedback_watch *watch = watch_of(watches, seen->tenant, tenant);
	struct feedback_facts facts = {
		.mismatched = mismatched(&seen->lookup->topology),
		.refusals = refusals(seen),
		.throttled = before.percent < THROTTLE_WHOLE,
		.grace_us = seen->pace->grace_us,
	};

	if (gather_pods(seen, arena, &facts) < 0)
		return error_set(err, ERROR_LIMIT, "more pods than can be looked at");
	feedback_watch_look(watch, &tenant->spec.isolation, &facts, seen->now_real_us);
	*ret_verdict = feedback_watch_verdict(watch, before.signals, seen->now_real_us);
	return 0;
}

/* What is not in force changes nothing. */
int tenant_feedback_step(struct tenant_watches *watches, const struct tenant_seen *seen,
			 struct arena *arena, struct tenant_feedback *ret_feedback,
			 struct error *err)
{
	const struct tenant_facts *tenant = &seen->lookup->facts;
	const struct feedback_spec *spec = &tenant->spec.feedback;
	bool in_force = !tenant->terminating && !tenant->invalid;
	struct feedback_verdict verdict = {.unknown = FEEDBACK_BIT(FEEDBACK_SIGNAL_COUNT) - 1};
	struct tenant_feedback feedback = {.throttle = throttle_before(tenant),
					   .blame = {TABLE_NONE, 0, false}};

	if (!in_force || spec->mode == FEEDBACK_OFF)
		forget(watch_at(watches, seen->tenant));
	else if (judge(watches, seen, arena, &verdict, err) < 0)
		return -1;
	feedback.unseen = verdict.unknown;
	if (in_force)
		feedback.throttle = feedback_step(&feedback.throttle, spec, seen->pace, &verdict,
						  seen->now_real_us);
	if (verdict.has_offender)
		name_offender(seen, verdict.offender, &feedback);
	feedback.blame.signals = verdict.proof;
	feedback.blame.normal = verdict.outcome == FEEDBACK_NORMAL;
	plan_next_look(seen, spec, &feedback);
	look_for_idle(seen, &feedback);
	*ret_feedback = feedback;
	return 0;
}
