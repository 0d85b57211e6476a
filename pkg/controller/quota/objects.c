/* SPDX-License-Identifier: Apache-2.0 */
/* One function per object that a namespace has of us. */
#include "api/body.h"
#include "controller/quota/events.h"
#include "controller/quota/turn.h"
#include "controller/writes.h"

static struct body_owner owner_of(const struct quota_turn *turn,
				  const struct quota_identity *identity)
{
	if (turn->tenant != TABLE_NONE)
		return (struct body_owner){STR(API_GROUP_VERSION), str_from(api_tenants.kind),
					   turn->tenant_summary.name, turn->tenant_summary.uid};
	return (struct body_owner){STR(API_GROUP_VERSION), str_from(api_gpu_memory_quotas.kind),
				   identity->name, identity->uid};
}

static struct work_write *add_owned(struct quota_turn *turn, enum kube_verb verb,
				    const struct api_type *type)
{
	struct work_write *write =
		work_set_add(turn->set, verb, type, turn->namespace.name, STR(OWNED_OBJECT_NAME));

	write->missing_is_fine = verb == KUBE_DELETE;
	return write;
}

int quota_write_resource_quota(struct quota_turn *turn, const struct quota_identity *identity,
			       const struct quota_plan *plan, struct error *err)
{
	struct body_owner owner = owner_of(turn, identity);
	enum kube_verb verb = plan->replace_resource_quota && !plan->remake_resource_quota
				      ? KUBE_UPDATE
				      : KUBE_APPLY;
	struct buf body;

	if (plan->delete_resource_quota || plan->remake_resource_quota)
		add_owned(turn, KUBE_DELETE, &api_resource_quotas);
	if (!plan->write_resource_quota)
		return 0;
	buf_init(&body, LIMIT_JSON_OUTPUT);
	api_body_resource_quota(&body, turn->namespace.name, &owner, plan->hard, plan->n_hard);
	cluster_note_sent(turn->reconciler->cluster, turn->handle, plan->hard, plan->n_hard);
	return write_give_body(add_owned(turn, verb, &api_resource_quotas), &body, err);
}

int quota_write_limit_range(struct quota_turn *turn, const struct quota_identity *identity,
			    const struct quota_plan *plan, struct error *err)
{
	struct body_owner owner = owner_of(turn, identity);
	struct buf body;

	if (plan->delete_limit_range)
		add_owned(turn, KUBE_DELETE, &api_limit_ranges);
	if (!plan->write_limit_range)
		return 0;
	buf_init(&body, LIMIT_JSON_OUTPUT);
	api_body_limit_range(&body, turn->namespace.name, &owner, plan->defaults, plan->n_defaults);
	return write_give_body(add_owned(turn, KUBE_APPLY, &api_limit_ranges), &body, err);
}

int quota_write_labels(struct quota_turn *turn, bool priced, struct error *err)
{
	const struct namespace_view *namespace = &turn->namespace;
	bool has_tenant = turn->tenant != TABLE_NONE, quotaless = has_tenant && !priced;
	bool managed = namespace->n_quotas > 0 || has_tenant;
	struct str tenant = has_tenant ? turn->tenant_summary.name : STR_NONE;
	const struct label labels[] = {{STR(API_LABEL_MANAGED), managed ? STR("true") : STR_NONE},
				       {STR(API_LABEL_TENANT), tenant},
				       {STR(API_LABEL_QUOTA), quotaless ? STR("none") : STR_NONE}};
	struct buf body;

	if (!namespace->exists ||
	    (namespace->managed == managed && namespace->quotaless == quotaless &&
	     str_equal(namespace->tenant_label, tenant)))
		return 0;
	buf_init(&body, LIMIT_JSON_OUTPUT);
	api_body_label_patch(&body, namespace->uid, labels, ARRAY_SIZE(labels));
	return write_give_body(work_set_add(turn->set, KUBE_MERGE_PATCH, &api_namespaces, STR_NONE,
					    namespace->name),
			       &body, err);
}

/*
 * Only where the label says that it was ours to manage: an object of that name may be anybody's.
 * And there whether it was seen or not: a write that was never answered may have come to something,
 * and without the label nobody would look for it again.
 */
int quota_write_nothing(struct quota_turn *turn, struct error *err)
{
	if (turn->namespace.managed)
		add_owned(turn, KUBE_DELETE, &api_resource_quotas);
	if (turn->namespace.managed && !turn->namespace.foreign_limit_range)
		add_owned(turn, KUBE_DELETE, &api_limit_ranges);
	return quota_write_labels(turn, false, err);
}

/* Mere usage waits for its interval; anything else is told at once. */
static bool status_is_due(struct quota_turn *turn, const struct quota_plan *plan)
{
	int64_t due_us = *moments_of(&turn->reconciler->status_written, turn->handle) +
			 turn->reconciler->usage_interval_us;

	if (!plan->write_status)
		return false;
	if (plan->status_urgent || turn->now_us >= due_us)
		return true;
	quota_turn_look_again(turn, due_us);
	return false;
}

/* Events go with the write that makes them true: who decides the same again has no news. */
int quota_write_status(struct quota_turn *turn, const struct quota_identity *identity,
		       const struct quota_status *before, const struct quota_plan *plan,
		       struct error *err)
{
	struct work_write *write;
	struct buf body;

	if (!status_is_due(turn, plan))
		return 0;
	if (quota_turn_expects(turn, &api_gpu_memory_quotas,
			       (struct api_identity){identity->namespace, identity->name})) {
		quota_turn_look_again(turn, turn->now_us + WRITE_WATCH_LAG_US);
		return 0;
	}
	if (plan->governs)
		cluster_note_publishing(turn->reconciler->cluster, turn->handle,
					plan->status.effective, plan->status.effective_gpus);
	quota_record_changes(turn->reconciler->recorder, identity, before, &plan->status);
	write = work_set_add(turn->set, KUBE_APPLY, &api_gpu_memory_quotas, turn->namespace.name,
			     identity->name);
	write->subresource = "status";
	write->missing_is_fine = true;
	buf_init(&body, LIMIT_JSON_OUTPUT);
	api_body_quota_status(&body, turn->namespace.name, identity->name, identity->uid,
			      &plan->status);
	return write_give_body(write, &body, err);
}
