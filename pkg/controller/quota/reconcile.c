/* SPDX-License-Identifier: Apache-2.0 */
/* Gather, decide, write: see the header for the order of writes. */
#include "controller/quota/reconcile.h"

#include "api/body.h"
#include "api/pack.h"
#include "api/watch_event.h"
#include "base/mem.h"
#include "cluster/read.h"
#include "controller/quota/events.h"
#include "quota/decide.h"

/* A watch that shows nothing of our write for so long is believed as it is. */
#define EXPECT_US (30 * USEC_PER_SEC)
/* After so long it is looked whether the watch has shown it. */
#define WATCH_LAG_US USEC_PER_SEC
/* A quota takes up to five writes: its status, and what the governing one owns. */
#define MOST_WRITES (LIMIT_WRITES_PER_RECONCILE - 5)

/* One reconcile's intermediate state. */
struct turn {
	struct quota_reconciler *reconciler;
	uint32_t handle; /* of the namespace, as is: */
	struct namespace_view namespace;
	struct work_set *set;
	int64_t now_us;
};

void quota_reconciler_init(struct quota_reconciler *reconciler)
{
	arena_init(&reconciler->arena, LIMIT_DECODE_ARENA);
}

void quota_reconciler_clear(struct quota_reconciler *reconciler)
{
	mem_free(reconciler->status_written_us);
	arena_clear(&reconciler->arena);
	*reconciler = (struct quota_reconciler){0};
}

static int64_t *status_written(struct quota_reconciler *reconciler, uint32_t namespace)
{
	size_t had = reconciler->status_capacity;

	if (namespace >= had) {
		mem_grow((void **)&reconciler->status_written_us, &reconciler->status_capacity,
			 (size_t) namespace + 1, sizeof(int64_t));
		for (size_t i = had; i < reconciler->status_capacity; i++)
			reconciler->status_written_us[i] = INT64_MIN / 2;
	}
	return &reconciler->status_written_us[namespace];
}

static bool expected(struct turn *turn, const struct api_type *type, struct api_identity object)
{
	return caches_pending(turn->reconciler->caches, type, object, turn->now_us);
}

static bool own_writes_unseen(struct turn *turn)
{
	struct str namespace = turn->namespace.name;
	struct api_identity owned = {namespace, STR(OWNED_OBJECT_NAME)};

	return expected(turn, &api_resource_quotas, owned) ||
	       expected(turn, &api_limit_ranges, owned) ||
	       expected(turn, &api_namespaces, (struct api_identity){STR_NONE, namespace});
}

static void look_again(struct turn *turn, int64_t at_us)
{
	turn->set->look_again_us = MIN(turn->set->look_again_us, at_us);
}

static int give_body(struct work_write *write, struct buf *body, struct error *err)
{
	if (body->overflowed) {
		buf_clear(body);
		return error_set(err, ERROR_LIMIT, "%s %s/%s: the body would be over %d bytes",
				 write->type->kind, write->namespace, write->name,
				 LIMIT_JSON_OUTPUT);
	}
	write->body_len = body->len;
	write->body = buf_take(body);
	buf_clear(body);
	return 0;
}

static struct body_owner owner_of(const struct quota_identity *identity)
{
	return (struct body_owner){STR(API_GROUP_VERSION), str_from(api_gpu_memory_quotas.kind),
				   identity->name, identity->uid};
}

static int write_resource_quota(struct turn *turn, const struct quota_identity *identity,
				const struct quota_plan *plan, struct error *err)
{
	struct body_owner owner = owner_of(identity);
	enum kube_verb verb = KUBE_APPLY;
	struct buf body;

	if (!plan->write_resource_quota)
		return 0;
	if (plan->remake_resource_quota)
		work_set_add(turn->set, KUBE_DELETE, &api_resource_quotas, turn->namespace.name,
			     STR(OWNED_OBJECT_NAME))
			->missing_is_fine = true;
	else if (plan->replace_resource_quota)
		verb = KUBE_UPDATE;
	buf_init(&body, LIMIT_JSON_OUTPUT);
	api_body_resource_quota(&body, turn->namespace.name, &owner, plan->hard, plan->n_hard);
	return give_body(work_set_add(turn->set, verb, &api_resource_quotas, turn->namespace.name,
				      STR(OWNED_OBJECT_NAME)),
			 &body, err);
}

static int write_limit_range(struct turn *turn, const struct quota_identity *identity,
			     const struct quota_plan *plan, struct error *err)
{
	struct body_owner owner = owner_of(identity);
	struct work_write *write;
	struct buf body;

	if (!plan->write_limit_range && !plan->delete_limit_range)
		return 0;
	buf_init(&body, LIMIT_JSON_OUTPUT);
	write = work_set_add(turn->set, plan->write_limit_range ? KUBE_APPLY : KUBE_DELETE,
			     &api_limit_ranges, turn->namespace.name, STR(OWNED_OBJECT_NAME));
	write->missing_is_fine = plan->delete_limit_range;
	if (plan->write_limit_range)
		api_body_limit_range(&body, turn->namespace.name, &owner, plan->defaults,
				     plan->n_defaults);
	return give_body(write, &body, err);
}

static int write_label(struct turn *turn, struct error *err)
{
	const struct namespace_view *namespace = &turn->namespace;
	bool managed = namespace->n_quotas > 0;
	const struct label label = {STR(API_LABEL_MANAGED), managed ? STR("true") : STR_NONE};
	struct buf body;

	if (!namespace->exists || namespace->managed == managed)
		return 0;
	buf_init(&body, LIMIT_JSON_OUTPUT);
	api_body_label_patch(&body, namespace->uid, &label, 1);
	return give_body(work_set_add(turn->set, KUBE_MERGE_PATCH, &api_namespaces, STR_NONE,
				      namespace->name),
			 &body, err);
}

/* Mere usage waits for its interval; anything else is told at once. */
static bool status_is_due(struct turn *turn, const struct quota_plan *plan)
{
	int64_t due_us = *status_written(turn->reconciler, turn->handle) +
			 turn->reconciler->usage_interval_us;

	if (!plan->write_status)
		return false;
	if (plan->status_urgent || turn->now_us >= due_us)
		return true;
	look_again(turn, due_us);
	return false;
}

/* Events go with the write that makes them true: who decides the same again has no news. */
static int write_status(struct turn *turn, const struct quota_identity *identity,
			const struct quota_status *before, const struct quota_plan *plan,
			struct error *err)
{
	struct work_write *write;
	struct buf body;

	if (!status_is_due(turn, plan))
		return 0;
	if (expected(turn, &api_gpu_memory_quotas,
		     (struct api_identity){identity->namespace, identity->name})) {
		look_again(turn, turn->now_us + WATCH_LAG_US);
		return 0;
	}
	quota_record_transitions(turn->reconciler->recorder, identity, before, &plan->status);
	write = work_set_add(turn->set, KUBE_APPLY, &api_gpu_memory_quotas, turn->namespace.name,
			     identity->name);
	write->subresource = "status";
	write->missing_is_fine = true;
	buf_init(&body, LIMIT_JSON_OUTPUT);
	api_body_quota_status(&body, turn->namespace.name, identity->name, identity->uid,
			      &plan->status);
	return give_body(write, &body, err);
}

static int write_gates(struct turn *turn, const struct quota_identity *identity,
		       const struct quota_plan *plan, struct error *err)
{
	if (!plan->governs)
		return 0;
	if (write_resource_quota(turn, identity, plan, err) < 0 ||
	    write_limit_range(turn, identity, plan, err) < 0)
		return -1;
	return write_label(turn, err);
}

static int gather(struct turn *turn, uint32_t index, struct quota_lookup *ret_quota,
		  struct error *err)
{
	struct quota_reconciler *reconciler = turn->reconciler;
	uint32_t quota = cluster_quota_nth(reconciler->cluster, turn->handle, index);

	if (cluster_quota_view(reconciler->cluster, quota, &reconciler->arena, ret_quota, err) < 0)
		return -1;
	ret_quota->view.now_us = turn->now_us;
	ret_quota->view.now_real_us = clock_real(loop_clock(reconciler->loop));
	return 0;
}

static int reconcile_quota(struct turn *turn, uint32_t index, struct error *err)
{
	struct arena *arena = &turn->reconciler->arena;
	struct quota_lookup quota;
	struct quota_plan plan;

	arena_reset(arena);
	if (gather(turn, index, &quota, err) < 0 ||
	    quota_decide(&quota.view, arena, &plan, err) < 0)
		return error_wrap(err, "namespace %.*s", STR_ARGS(turn->namespace.name));
	look_again(turn, plan.look_again_us);
	if (write_gates(turn, &quota.identity, &plan, err) < 0)
		return -1;
	return write_status(turn, &quota.identity, quota.view.status, &plan, err);
}

static int reconcile_quotas(struct turn *turn, struct error *err)
{
	cluster_refresh(turn->reconciler->cluster, turn->handle);
	for (uint32_t i = 0; i < turn->namespace.n_quotas && turn->set->n_writes <= MOST_WRITES;
	     i++)
		if (reconcile_quota(turn, i, err) < 0)
			return -1;
	return 0;
}

int quota_reconcile(void *context, uint32_t namespace, struct work_set *set, struct error *err)
{
	struct quota_reconciler *reconciler = context;
	struct turn turn = {.reconciler = reconciler,
			    .handle = namespace,
			    .set = set,
			    .now_us = loop_now(reconciler->loop)};

	if (!cluster_namespace_has(reconciler->cluster, namespace))
		return 0;
	cluster_namespace_view(reconciler->cluster, namespace, &turn.namespace);
	if (turn.namespace.terminating || !turn.namespace.exists)
		return 0;
	if (own_writes_unseen(&turn)) {
		look_again(&turn, turn.now_us + WATCH_LAG_US);
		return 0;
	}
	if (turn.namespace.n_quotas == 0)
		return write_label(&turn, err);
	return reconcile_quotas(&turn, err);
}

/* The version that the server gave to what we wrote; 0 where it says none. */
static uint64_t answered_version(struct quota_reconciler *reconciler,
				 const struct kube_answer *answer)
{
	struct api_bytes object;
	struct str version;

	arena_reset(&reconciler->arena);
	if (api_open_answer(answer->body, answer->protobuf, &object, NULL) < 0 ||
	    api_object_version(object, &reconciler->arena, &version, NULL) < 0)
		return 0;
	return api_version_number(version);
}

void quota_written(void *context, uint32_t namespace, const struct work_write *write,
		   const struct kube_answer *answer, const struct error *err)
{
	struct quota_reconciler *reconciler = context;
	int64_t now_us = loop_now(reconciler->loop);

	if (write->type == &api_gpu_memory_quotas)
		*status_written(reconciler, namespace) = now_us;
	if (err || !answer || write->verb == KUBE_DELETE)
		return;
	caches_expect(reconciler->caches, write->type,
		      (struct api_identity){str_from(write->namespace), str_from(write->name)},
		      answered_version(reconciler, answer), now_us + EXPECT_US);
}

void quota_describe(void *context, uint32_t namespace, struct buf *text)
{
	struct quota_reconciler *reconciler = context;

	if (cluster_namespace_has(reconciler->cluster, namespace))
		buf_add_str(text, cluster_namespace_name(reconciler->cluster, namespace));
}
