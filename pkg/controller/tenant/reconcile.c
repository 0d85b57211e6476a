/* SPDX-License-Identifier: Apache-2.0 */
/* Gather, decide, write, and keep the decision last: it ends what was gathered. */
#include "controller/tenant/reconcile.h"

#include "api/body.h"
#include "cluster/tenants/tenants.h"
#include "cluster/tenants/users.h"
#include "controller/transitions.h"
#include "controller/writes.h"
#include "quota/tenant_plan.h"

/* One reconcile's intermediate state. */
struct turn {
	struct tenant_reconciler *reconciler;
	uint32_t handle; /* of the tenant, as is: */
	struct tenant_lookup lookup;
	struct tenant_grant *grants;
	struct tenant_sums sums;
	struct tenant_feedback feedback;
	struct tenant_plan plan;
	struct work_set *set;
	int64_t now_us;
};

void tenant_reconciler_init(struct tenant_reconciler *reconciler)
{
	arena_init(&reconciler->arena, LIMIT_DECODE_ARENA);
}

void tenant_reconciler_clear(struct tenant_reconciler *reconciler)
{
	moments_clear(&reconciler->decided);
	moments_clear(&reconciler->status_written);
	tenant_watches_clear(&reconciler->watches);
	refusals_free(reconciler->refusals);
	arena_clear(&reconciler->arena);
	*reconciler = (struct tenant_reconciler){0};
}

void tenant_reconciler_forget(struct tenant_reconciler *reconciler)
{
	tenant_watches_clear(&reconciler->watches);
}

int64_t tenant_due(struct tenant_reconciler *reconciler, uint32_t tenant)
{
	return MAX(loop_now(reconciler->loop),
		   *moments_of(&reconciler->decided, tenant) + TENANT_PACE_US);
}

static void look_again(struct turn *turn, int64_t at_us)
{
	turn->set->look_again_us = MIN(turn->set->look_again_us, at_us);
}

/* True, and it is looked at again, where the cache does not show our last write of the object. */
static bool is_unseen(struct turn *turn, const struct api_type *type, struct str name)
{
	if (!caches_pending(turn->reconciler->caches, type, (struct api_identity){STR_NONE, name},
			    turn->now_us))
		return false;
	look_again(turn, turn->now_us + WRITE_WATCH_LAG_US);
	return true;
}

/* --- bindings */

static void remove_binding(struct turn *turn, struct str name)
{
	work_set_add(turn->set, KUBE_DELETE, &api_policy_bindings, STR_NONE, name)
		->missing_is_fine = true;
}

static int write_binding(struct turn *turn, const struct tenant_binding_plan *plan,
			 struct error *err)
{
	const struct tenant_facts *tenant = &turn->lookup.facts;
	const struct body_owner owner = {STR(API_GROUP_VERSION), str_from(api_tenants.kind),
					 tenant->name, tenant->uid};
	struct buf body;

	if (!plan->write && !plan->remove)
		return 0;
	if (is_unseen(turn, &api_policy_bindings, plan->name))
		return 0;
	if (plan->remove || plan->replace)
		remove_binding(turn, plan->name);
	if (plan->remove)
		return 0;
	buf_init(&body, LIMIT_JSON_OUTPUT);
	api_body_binding(&body, plan->name, &owner, &plan->spec);
	return write_give_body(
		work_set_add(turn->set, KUBE_APPLY, &api_policy_bindings, STR_NONE, plan->name),
		&body, err);
}

static int write_bindings(struct turn *turn, struct error *err)
{
	for (size_t i = 0; i < TENANT_BINDING_COUNT; i++)
		if (write_binding(turn, &turn->plan.bindings[i], err) < 0)
			return -1;
	return 0;
}

/* The TenantQoS is gone. The garbage collector would come, but later, and where the parameter of a
 * policy is missing its pods wait. */
static void remove_bindings(struct turn *turn)
{
	for (size_t i = 0; i < TENANT_BINDING_COUNT; i++) {
		const struct binding_facts *binding = turn->lookup.bindings[i];

		if (binding && !str_empty(binding->owner_uid) &&
		    !is_unseen(turn, &api_policy_bindings, binding->name))
			remove_binding(turn, binding->name);
	}
}

/* --- status */

static void record_changes(const struct turn *turn)
{
	static const enum condition_status bad[TENANT_CONDITION_COUNT] = {
		[TENANT_READY] = CONDITION_FALSE,      [TENANT_ACCEPTED] = CONDITION_FALSE,
		[TENANT_EXCEEDED] = CONDITION_TRUE,    [TENANT_TOPOLOGY] = CONDITION_TRUE,
		[TENANT_OBJECTIVES] = CONDITION_FALSE, [TENANT_ABNORMAL] = CONDITION_TRUE,
		[TENANT_THROTTLED] = CONDITION_TRUE,   [TENANT_UNPROTECTED] = CONDITION_TRUE,
		[TENANT_IDLE] = CONDITION_TRUE,
	};
	const struct tenant_facts *tenant = &turn->lookup.facts;

	transitions_record(turn->reconciler->recorder,
			   &(struct transitions){
				   .object = {STR(API_GROUP_VERSION), str_from(api_tenants.kind),
					      STR_NONE, tenant->name, tenant->uid},
				   .before = tenant->has_status ? tenant->status.conditions : NULL,
				   .after = turn->plan.status.conditions,
				   .bad = bad,
				   .n = TENANT_CONDITION_COUNT,
			   });
}

/* Mere sums wait for their interval; anything else is told at once. */
static bool status_is_due(struct turn *turn)
{
	int64_t due_us = *moments_of(&turn->reconciler->status_written, turn->handle) +
			 turn->reconciler->usage_interval_us;

	if (!turn->plan.write_status)
		return false;
	if (turn->plan.status_urgent || turn->now_us >= due_us)
		return !is_unseen(turn, &api_tenants, turn->lookup.facts.name);
	look_again(turn, due_us);
	return false;
}

static int write_status(struct turn *turn, struct error *err)
{
	const struct tenant_facts *tenant = &turn->lookup.facts;
	struct work_write *write;
	struct buf body;

	if (!status_is_due(turn))
		return 0;
	record_changes(turn);
	write = work_set_add(turn->set, KUBE_APPLY, &api_tenants, STR_NONE, tenant->name);
	write->subresource = "status";
	write->missing_is_fine = true;
	buf_init(&body, LIMIT_JSON_OUTPUT);
	api_body_tenant_status(&body, tenant->name, tenant->uid, &turn->plan.status);
	return write_give_body(write, &body, err);
}

/* --- alerts */

static const struct {
	enum tenant_condition condition;
	const char *name;
} alerts[] = {
	{TENANT_ABNORMAL, "GpuqosTenantAbnormal"},
	{TENANT_THROTTLED, "GpuqosTenantThrottled"},
};

/* As it is now; a TenantQoS that is gone has no conditions, and nothing fires. */
static void tell_alerts(const struct turn *turn)
{
	struct alertmanager *to = turn->reconciler->alerts;

	for (size_t i = 0; to && i < ARRAY_SIZE(alerts); i++) {
		const struct condition *c = &turn->plan.status.conditions[alerts[i].condition];
		struct alert alert = {
			.name = str_from(alerts[i].name),
			.tenant = cluster_tenant_name(turn->reconciler->cluster, turn->handle),
			.severity = STR("warning"),
			.summary = str_from(c->message),
		};

		alertmanager_tell(to, &alert, c->status == CONDITION_TRUE);
	}
}

/* --- the turn */

static struct tenant_some some_of(const struct tenant_example *example)
{
	return (struct tenant_some){(int64_t)example->n, example->namespace};
}

static struct objective_status status_of(const struct cluster_objective *objective)
{
	const struct slo_verdict *verdict = objective->verdict;

	return (struct objective_status){objective->spec->name, verdict->state, verdict->reason,
					 objective_round(verdict->value), verdict->since_us};
}

static int view_objectives(struct turn *turn, struct tenant_plan_view *view, struct error *err)
{
	size_t n = turn->lookup.n_objectives;
	struct objective_status *objectives =
		arena_alloc(&turn->reconciler->arena, n * sizeof(*objectives));

	if (!objectives)
		return error_set(err, ERROR_LIMIT, "more objectives than can be looked at");
	for (size_t i = 0; i < n; i++)
		objectives[i] = status_of(&turn->lookup.objectives[i]);
	view->objectives = objectives;
	view->n_objectives = n;
	view->keep_values =
		turn->now_us - *moments_of(&turn->reconciler->status_written, turn->handle) <
		CLUSTER_VALUE_US;
	return 0;
}

static int decide_plan(struct turn *turn, struct error *err)
{
	struct arena *arena = &turn->reconciler->arena;
	const struct tenant_lookup *lookup = &turn->lookup;
	size_t n = lookup->view.n_members;
	struct str *names = arena_alloc(arena, MAX(n, 1) * sizeof(*names));
	struct tenant_plan_view view = {
		.facts = &lookup->facts,
		.sums = turn->sums,
		.namespaces = names,
		.n_namespaces = n,
		.elsewhere = some_of(&lookup->elsewhere),
		.elsewhere_tenant = lookup->elsewhere.tenant,
		.unenforced = some_of(&lookup->unenforced),
		.unpriced = some_of(&lookup->unpriced),
		.topology = lookup->topology,
		.mismatch_namespace = lookup->mismatch_namespace,
		.mismatch_pod = lookup->mismatch_pod,
		.throttle = turn->feedback.throttle,
		.unseen = turn->feedback.unseen,
		.offender_namespace = turn->feedback.offender_namespace,
		.offender = turn->feedback.offender,
		.unmoved = lookup->unmoved,
		.unhelped = lookup->unhelped,
		.kept = lookup->kept,
		.idle = turn->feedback.idle,
		.now_real_us = clock_real(loop_clock(turn->reconciler->loop)),
	};

	if (!names)
		return error_set(err, ERROR_LIMIT, "more namespaces than can be looked at");
	for (size_t i = 0; i < n; i++)
		names[i] = lookup->view.members[i].name;
	for (size_t i = 0; i < TENANT_BINDING_COUNT; i++)
		view.bindings[i] = lookup->bindings[i];
	if (view_objectives(turn, &view, err) < 0)
		return -1;
	return tenant_plan_decide(&view, arena, &turn->plan, err);
}

static int decide_feedback(struct turn *turn, struct error *err)
{
	struct tenant_reconciler *reconciler = turn->reconciler;
	const struct tenant_seen seen = {
		reconciler->cluster,
		turn->handle,
		&turn->lookup,
		&reconciler->pace,
		refusals_are_seen(reconciler->refusals, turn->now_us),
		turn->now_us,
		clock_real(loop_clock(reconciler->loop)),
	};

	if (tenant_feedback_step(&reconciler->watches, &seen, &reconciler->arena, &turn->feedback,
				 err) < 0)
		return -1;
	cluster_blame(reconciler->cluster, turn->handle, &turn->feedback.blame, turn->now_us);
	cluster_note_idle(reconciler->cluster, turn->handle, turn->feedback.idle.idle);
	look_again(turn, turn->feedback.look_again_us);
	turn->lookup.view.withhold = THROTTLE_WHOLE - turn->feedback.throttle.percent;
	return 0;
}

static int decide_grants(struct turn *turn, struct error *err)
{
	struct arena *arena = &turn->reconciler->arena;
	size_t n = turn->lookup.view.n_members;

	turn->grants = arena_alloc(arena, MAX(n, 1) * sizeof(*turn->grants));
	if (!turn->grants)
		return error_set(err, ERROR_LIMIT, "more namespaces than can be looked at");
	return tenant_decide(&turn->lookup.view, arena, turn->grants, &turn->sums, err);
}

static int gather(struct turn *turn, struct error *err)
{
	struct tenant_reconciler *reconciler = turn->reconciler;

	arena_reset(&reconciler->arena);
	cluster_refresh_tenant(reconciler->cluster, turn->handle);
	return cluster_tenant_view(reconciler->cluster, turn->handle, &reconciler->arena,
				   &turn->lookup, err);
}

static int decide_and_write(struct turn *turn, struct error *err)
{
	if (decide_feedback(turn, err) < 0 || decide_grants(turn, err) < 0 ||
	    decide_plan(turn, err) < 0 || write_bindings(turn, err) < 0 ||
	    write_status(turn, err) < 0)
		return -1;
	tell_alerts(turn);
	cluster_grant(turn->reconciler->cluster, turn->handle,
		      &(struct tenant_decision){turn->lookup.namespaces, turn->grants,
						turn->lookup.view.n_members, &turn->sums,
						turn->feedback.throttle});
	return 0;
}

int tenant_reconcile(void *context, uint32_t tenant, struct work_set *set, struct error *err)
{
	struct tenant_reconciler *reconciler = context;
	struct turn turn = {.reconciler = reconciler,
			    .handle = tenant,
			    .set = set,
			    .now_us = loop_now(reconciler->loop)};
	struct str name;

	if (!cluster_tenant_has(reconciler->cluster, tenant))
		return 0;
	*moments_of(&reconciler->decided, tenant) = turn.now_us;
	name = cluster_tenant_name(reconciler->cluster, tenant);
	if (gather(&turn, err) < 0)
		return error_wrap(err, "tenant %.*s", STR_ARGS(name));
	if (!turn.lookup.exists) {
		remove_bindings(&turn);
		tell_alerts(&turn);
		return 0;
	}
	return decide_and_write(&turn, err) < 0 ? error_wrap(err, "tenant %.*s", STR_ARGS(name))
						: 0;
}

void tenant_written(void *context, uint32_t tenant, const struct work_write *write,
		    const struct kube_answer *answer, const struct error *err)
{
	struct tenant_reconciler *reconciler = context;
	int64_t now_us = loop_now(reconciler->loop);

	if (write->type == &api_tenants)
		*moments_of(&reconciler->status_written, tenant) = now_us;
	if (!err)
		write_expect(reconciler->caches, write, answer, &reconciler->arena, now_us);
}

void tenant_describe(void *context, uint32_t tenant, struct buf *text)
{
	struct tenant_reconciler *reconciler = context;

	if (cluster_tenant_has(reconciler->cluster, tenant))
		buf_add_str(text, cluster_tenant_name(reconciler->cluster, tenant));
}
