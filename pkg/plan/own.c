/* SPDX-License-Identifier: Apache-2.0 */
/* Who goes for its own doing: each question is a few checks, the first that fails is the answer. */
#include "plan/own.h"

#include "cluster/looks.h"
#include "cluster/nodes/gpunodes.h"
#include "cluster/placing/placement.h"
#include "cluster/read.h"
#include "cluster/tenants/objectives.h"
#include "cluster/tenants/tenants.h"
#include "cluster/tenants/users.h"
#include "model/feedback.h"
#include "plan/internal.h"

const char *own_text(const struct own_found *found)
{
	static const char *const texts[] = {
#define X(name, text) [OWN_##name] = text,
		OWN_VERDICTS(X)
#undef X
	};

	return found->verdict == OWN_EXEMPT ? plan_exemption_text(found->exemption)
					    : texts[found->verdict];
}

static struct cluster_victim victim_of(const struct own_view *view, uint32_t pod)
{
	struct cluster_victim victim;

	cluster_victim(view->cluster, pod, view->ask->now_us, view->ask->now_real_us, &victim);
	return victim;
}

/* --- who goes with it */

static bool take(const struct own_view *view, uint32_t pod, struct own_found *found)
{
	struct cluster_victim victim = victim_of(view, pod);
	enum plan_exemption exemption = plan_exempt(view->ask, pod, &victim);

	if (exemption == PLAN_NONE && victim.tenant == view->tenant && found->n < RECEIPT_VICTIMS) {
		found->pods[found->n++] = pod;
		return true;
	}
	found->verdict = OWN_EXEMPT;
	found->exemption = pod == found->pod ? exemption : PLAN_GANG;
	return false;
}

/* Of a gang: neither those that wait nor those that are over, or soon will be. */
static bool counts(const struct cluster_victim *victim)
{
	return victim->node != TABLE_NONE && !victim->finished && !victim->terminating;
}

static bool take_all(const struct own_view *view, struct own_found *found)
{
	struct cluster_victim self = victim_of(view, found->pod);
	uint32_t gang = self.gang;

	if (gang == TABLE_NONE || !counts(&self))
		return take(view, found->pod, found);
	for (uint32_t pod = cluster_gang_pod(view->cluster, gang); pod != TABLE_NONE;
	     pod = cluster_gang_next(view->cluster, pod)) {
		struct cluster_victim member = victim_of(view, pod);

		if (counts(&member) && !take(view, pod, found))
			return false;
	}
	return found->n > 0;
}

static bool budgets_allow(const struct own_view *view, const struct own_found *found)
{
	struct plan_member members[RECEIPT_VICTIMS];
	const struct plan_member *list[RECEIPT_VICTIMS];

	for (size_t i = 0; i < found->n; i++) {
		members[i] = (struct plan_member){found->pods[i],
						  victim_of(view, found->pods[i]).budget_of,
						  cluster_pod_uid(view->cluster, found->pods[i])};
		list[i] = &members[i];
	}
	return plan_budgets_allow(view->cluster, list, found->n);
}

/* The pod and its gang, where all of them may go. */
static void decide(const struct own_view *view, struct own_found *found)
{
	if (!take_all(view, found))
		return;
	if (!budgets_allow(view, found)) {
		found->verdict = OWN_EXEMPT;
		found->exemption = PLAN_BUDGET;
	} else if (found->n > view->ask->most) {
		found->verdict = OWN_LIMITED;
	} else {
		found->verdict = OWN_GO;
	}
}

/* --- the offender */

static bool is_proven(const struct own_view *view, uint32_t pod, uint32_t signals)
{
	struct cluster_usage usage = cluster_pod_usage(view->cluster, pod);

	return feedback_families(signals) >= 2 && usage.source == USAGE_AGENT &&
	       view->ask->now_us - usage.sampled_us < OWN_FRESH_US;
}

/* By a bad objective of its tenant that is not known to be another pod's. */
static bool has_bad_objective(const struct own_view *view, uint32_t tenant, uint32_t pod,
			      struct own_found *found)
{
	for (size_t i = 0; i < cluster_objective_count(view->cluster, tenant); i++) {
		struct cluster_objective objective = cluster_objective(view->cluster, tenant, i);

		if (!slo_is_bad(objective.verdict) ||
		    (objective.pod != TABLE_NONE && objective.pod != pod))
			continue;
		found->objective = objective.spec->name;
		return true;
	}
	return false;
}

static bool suffers(const struct own_view *view, uint32_t pod, uint32_t tenant,
		    struct own_found *found)
{
	struct cluster_user user;

	if (has_bad_objective(view, tenant, pod, found))
		return true;
	cluster_user(view->cluster, pod, view->ask->now_real_us, &user);
	return user.crashes > 0;
}

/* Looks for who suffers among those that have a card in common with it. */
static void find_sufferer(const struct own_view *view, struct own_found *found)
{
	uint32_t node = cluster_pod_node(view->cluster, found->pod);
	uint64_t cards = cluster_pod_cards(view->cluster, found->pod);

	found->verdict = OWN_NOT_SHARED;
	for (uint32_t pod = cluster_node_pod(view->cluster, node);
	     pod != TABLE_NONE && found->sufferer == TABLE_NONE;
	     pod = cluster_node_pod_next(view->cluster, pod)) {
		struct cluster_victim other = victim_of(view, pod);

		if (other.tenant == TABLE_NONE || other.tenant == view->tenant || other.finished ||
		    !(cluster_pod_cards(view->cluster, pod) & cards))
			continue;
		found->verdict = OWN_NOBODY_SUFFERS;
		if (suffers(view, pod, other.tenant, found))
			found->sufferer = pod;
	}
}

void own_offender(const struct own_view *view, uint32_t pod, uint32_t signals,
		  struct own_found *ret_found)
{
	*ret_found = (struct own_found){.verdict = OWN_NOBODY, .pod = pod, .sufferer = TABLE_NONE};
	if (pod == TABLE_NONE || cluster_pod_node(view->cluster, pod) == TABLE_NONE)
		return;
	if (!is_proven(view, pod, signals)) {
		ret_found->verdict = OWN_UNPROVEN;
		return;
	}
	find_sufferer(view, ret_found);
	if (ret_found->sufferer != TABLE_NONE)
		decide(view, ret_found);
}

/* --- the idle */

bool own_is_idle(const struct own_view *view, uint32_t pod, int64_t idle_us)
{
	struct cluster_usage usage = cluster_pod_usage(view->cluster, pod);

	return usage.idle_since_us > 0 && view->ask->now_us - usage.idle_since_us >= idle_us &&
	       view->ask->now_us - usage.sampled_us < OWN_FRESH_US;
}

static bool gang_is_idle(const struct own_view *view, uint32_t gang, int64_t idle_us)
{
	for (uint32_t pod = cluster_gang_pod(view->cluster, gang); pod != TABLE_NONE;
	     pod = cluster_gang_next(view->cluster, pod)) {
		struct cluster_victim member = victim_of(view, pod);

		if (counts(&member) && !own_is_idle(view, pod, idle_us))
			return false;
	}
	return true;
}

static void look_at(const struct own_view *view, uint32_t pod, int64_t idle_us,
		    struct own_found *found)
{
	uint32_t gang = victim_of(view, pod).gang;

	*found = (struct own_found){.verdict = OWN_GANG_BUSY, .pod = pod, .sufferer = TABLE_NONE};
	if (gang == TABLE_NONE || gang_is_idle(view, gang, idle_us))
		decide(view, found);
}

static bool is_before(const struct own_view *view, uint32_t a, uint32_t b)
{
	bool left = victim_of(view, a).borrowing, right = victim_of(view, b).borrowing;
	int64_t since_a = cluster_pod_usage(view->cluster, a).idle_since_us,
		since_b = cluster_pod_usage(view->cluster, b).idle_since_us;

	if (left != right)
		return left;
	if (since_a != since_b)
		return since_a < since_b;
	return plan_uid_compare(cluster_pod_uid(view->cluster, a),
				cluster_pod_uid(view->cluster, b)) < 0;
}

/* One that goes before one that stays, then by the order of the header. */
static bool is_better(const struct own_view *view, const struct own_found *one,
		      const struct own_found *best)
{
	if (best->pod == TABLE_NONE)
		return true;
	if ((one->verdict == OWN_GO) != (best->verdict == OWN_GO))
		return one->verdict == OWN_GO;
	return is_before(view, one->pod, best->pod);
}

void own_idle(const struct own_view *view, int64_t idle_us, struct own_found *ret_found)
{
	const struct cluster *cluster = view->cluster;

	*ret_found = (struct own_found){
		.verdict = OWN_NOBODY, .pod = TABLE_NONE, .sufferer = TABLE_NONE};
	for (uint32_t ns = cluster_namespace_next(cluster, 0); ns != TABLE_NONE;
	     ns = cluster_namespace_next(cluster, ns + 1)) {
		if (cluster_tenant_of(cluster, ns) != view->tenant)
			continue;
		for (uint32_t pod = cluster_namespace_pod(cluster, ns); pod != TABLE_NONE;
		     pod = cluster_namespace_pod_next(cluster, pod)) {
			struct own_found one;

			if (!own_is_idle(view, pod, idle_us))
				continue;
			look_at(view, pod, idle_us, &one);
			if (is_better(view, &one, ret_found))
				*ret_found = one;
		}
	}
}
