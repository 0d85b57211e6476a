/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kinds is the whole of what this controller watches. */
#include "controller/kinds.h"

#include "api/agent.h"
#include "api/pack.h"
#include "api/pack_budget.h"
#include "api/pack_dra.h"
#include "api/pack_job.h"
#include "api/pack_storage.h"
#include "api/wire.h"
#include "api/wire_quota.h"
#include "cluster/leaving/budgets.h"
#include "cluster/leaving/victims.h"
#include "cluster/nodes/agents.h"
#include "cluster/nodes/gpunodes.h"
#include "cluster/nodes/published.h"
#include "cluster/volumes/volumes.h"

#define OWN_OBJECTS  "metadata.name=" OWNED_OBJECT_NAME
#define OWN_BINDINGS "app.kubernetes.io/name=gpuqos"
#define AGENT_LEASES "app.kubernetes.io/name=" API_AGENT_NAME

static int apply_pod(struct kinds_sink *sink, const void *object, struct arena *arena,
		     struct error *err)
{
	struct pod_facts facts;

	if (api_pack_pod(object, sink->table, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_pod(sink->cluster, &facts, err);
}

static int apply_node(struct kinds_sink *sink, const void *object, struct arena *arena,
		      struct error *err)
{
	struct node_facts facts;

	if (api_pack_node(object, sink->table, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_node(sink->cluster, &facts, err);
}

static int apply_namespace(struct kinds_sink *sink, const void *object, struct arena *arena,
			   struct error *err)
{
	struct namespace_facts facts;

	if (api_pack_namespace(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_namespace(sink->cluster, &facts, err);
}

static int apply_quota(struct kinds_sink *sink, const void *object, struct arena *arena,
		       struct error *err)
{
	struct quota_facts facts;

	if (api_pack_quota(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_quota(sink->cluster, &facts, err);
}

static int apply_resource_quota(struct kinds_sink *sink, const void *object, struct arena *arena,
				struct error *err)
{
	struct resource_quota_facts facts;

	if (api_pack_resource_quota(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_resource_quota(sink->cluster, &facts, sink->now_us, err);
}

static int apply_limit_range(struct kinds_sink *sink, const void *object, struct arena *arena,
			     struct error *err)
{
	struct limit_range_facts facts;

	if (api_pack_limit_range(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_limit_range(sink->cluster, &facts, err);
}

static int apply_tenant(struct kinds_sink *sink, const void *object, struct arena *arena,
			struct error *err)
{
	struct tenant_facts facts;

	if (api_pack_tenant(object, arena, &facts, err) < 0)
		return -1;
	if (cluster_apply_tenant(sink->cluster, &facts, err) < 0)
		return -1;
	sink->makes_room = tenant_makes_room(&facts.spec);
	return 0;
}

static int apply_binding(struct kinds_sink *sink, const void *object, struct arena *arena,
			 struct error *err)
{
	struct binding_facts facts;

	if (api_pack_binding(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_binding(sink->cluster, &facts, err);
}

static int apply_claim(struct kinds_sink *sink, const void *object, struct arena *arena,
		       struct error *err)
{
	struct claim_facts facts;

	if (api_pack_claim(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_claim(sink->cluster, &facts, err);
}

static int apply_slice(struct kinds_sink *sink, const void *object, struct arena *arena,
		       struct error *err)
{
	struct slice_facts facts;

	if (api_pack_slice(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_slice(sink->cluster, &facts, err);
}

static int apply_class(struct kinds_sink *sink, const void *object, struct arena *arena,
		       struct error *err)
{
	struct class_facts facts;

	(void)arena;
	if (api_pack_class(object, &facts, err) < 0)
		return -1;
	facts.in_table = source_table_find(sink->table, facts.extended_resource) != NULL;
	return cluster_apply_class(sink->cluster, &facts, err);
}

static int apply_agent(struct kinds_sink *sink, const void *object, struct arena *arena UNUSED,
		       struct error *err)
{
	struct agent_facts facts;

	api_pack_agent(object, &facts);
	return cluster_apply_agent(sink->cluster, &facts, sink->now_us, err);
}

static int apply_gpu_node(struct kinds_sink *sink, const void *object, struct arena *arena,
			  struct error *err)
{
	struct gpu_node_facts facts;

	if (api_pack_gpu_node(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_gpu_node(sink->cluster, &facts, sink->now_us, err);
}

static int apply_koordinator(struct kinds_sink *sink, const void *object, struct arena *arena,
			     struct error *err)
{
	struct published_facts facts;

	if (api_pack_koordinator_device(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_published(sink->cluster, CLUSTER_PUBLISHED, &facts, err);
}

static int apply_zones(struct kinds_sink *sink, const void *object, struct arena *arena,
		       struct error *err)
{
	struct published_facts facts;

	if (api_pack_node_topology(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_published(sink->cluster, CLUSTER_ZONES, &facts, err);
}

static int apply_budget(struct kinds_sink *sink, const void *object, struct arena *arena,
			struct error *err)
{
	struct budget_facts facts;

	if (api_pack_budget(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_budget(sink->cluster, &facts, err);
}

static int apply_job(struct kinds_sink *sink, const void *object, struct arena *arena UNUSED,
		     struct error *err)
{
	struct job_facts facts;

	if (api_pack_job(object, &facts, err) < 0)
		return -1;
	return cluster_apply_job(sink->cluster, &facts, err);
}

static int apply_volume_claim(struct kinds_sink *sink, const void *object,
			      struct arena *arena UNUSED, struct error *err)
{
	struct volume_claim_facts facts;

	if (api_pack_volume_claim(object, &facts, err) < 0)
		return -1;
	return cluster_apply_volume_claim(sink->cluster, &facts, err);
}

static int apply_volume(struct kinds_sink *sink, const void *object, struct arena *arena,
			struct error *err)
{
	struct volume_facts facts;

	if (api_pack_volume(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_volume(sink->cluster, &facts, err);
}

static int apply_storage_class(struct kinds_sink *sink, const void *object, struct arena *arena,
			       struct error *err)
{
	struct storage_class_facts facts;

	if (api_pack_storage_class(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_storage_class(sink->cluster, &facts, err);
}

static int apply_csi_node(struct kinds_sink *sink, const void *object, struct arena *arena,
			  struct error *err)
{
	struct csi_node_facts facts;

	if (api_pack_csi_node(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_csi_node(sink->cluster, &facts, err);
}

static int apply_csi_driver(struct kinds_sink *sink, const void *object, struct arena *arena UNUSED,
			    struct error *err)
{
	struct csi_driver_facts facts;

	if (api_pack_csi_driver(object, &facts, err) < 0)
		return -1;
	return cluster_apply_csi_driver(sink->cluster, &facts, err);
}

/* --- what cannot be read whole */

/* What it was seen to hold stays, and where it runs and whether it is over is still read. */
static int outline_pod(struct kinds_sink *sink, const void *object, const char *why UNUSED,
		       struct arena *arena UNUSED, struct error *err)
{
	struct pod_facts facts;

	if (api_pack_pod_outline(object, &facts, err) < 0)
		return -1;
	return cluster_apply_pod(sink->cluster, &facts, err);
}

static int outline_claim(struct kinds_sink *sink, const void *object, const char *why UNUSED,
			 struct arena *arena UNUSED, struct error *err)
{
	struct claim_facts facts;

	if (api_pack_claim_outline(object, &facts, err) < 0)
		return -1;
	return cluster_apply_claim(sink->cluster, &facts, err);
}

static int outline_namespace(struct kinds_sink *sink, const void *object, const char *why UNUSED,
			     struct arena *arena, struct error *err)
{
	return apply_namespace(sink, object, arena, err);
}

static int outline_quota(struct kinds_sink *sink, const void *object, const char *why,
			 struct arena *arena UNUSED, struct error *err)
{
	struct quota_facts facts;

	if (api_pack_quota_outline(object, why, &facts, err) < 0)
		return -1;
	return cluster_apply_quota(sink->cluster, &facts, err);
}

static int outline_tenant(struct kinds_sink *sink, const void *object, const char *why,
			  struct arena *arena UNUSED, struct error *err)
{
	struct tenant_facts facts;

	if (api_pack_tenant_outline(object, why, &facts, err) < 0)
		return -1;
	return cluster_apply_tenant(sink->cluster, &facts, err);
}

static int outline_budget(struct kinds_sink *sink, const void *object, const char *why UNUSED,
			  struct arena *arena UNUSED, struct error *err)
{
	struct budget_facts facts;

	if (api_pack_budget_outline(object, &facts, err) < 0)
		return -1;
	return cluster_apply_budget(sink->cluster, &facts, err);
}

static const struct kinds_watched watched[CLUSTER_KIND_COUNT] = {
	[CLUSTER_PODS] = {.type = &api_pods, .apply = apply_pod, .outline = outline_pod},
	[CLUSTER_NODES] = {.type = &api_nodes, .apply = apply_node},
	[CLUSTER_NAMESPACES] = {.type = &api_namespaces,
				.apply = apply_namespace,
				.outline = outline_namespace},
	[CLUSTER_QUOTAS] = {.type = &api_gpu_memory_quotas,
			    .apply = apply_quota,
			    .outline = outline_quota},
	[CLUSTER_RESOURCE_QUOTAS] = {.type = &api_resource_quotas,
				     .apply = apply_resource_quota,
				     .field_selector = OWN_OBJECTS},
	[CLUSTER_LIMIT_RANGES] = {.type = &api_limit_ranges,
				  .apply = apply_limit_range,
				  .field_selector = OWN_OBJECTS},
	[CLUSTER_TENANTS] = {.type = &api_tenants,
			     .apply = apply_tenant,
			     .outline = outline_tenant,
			     .optional = true},
	[CLUSTER_BINDINGS] = {.type = &api_policy_bindings,
			      .apply = apply_binding,
			      .label_selector = OWN_BINDINGS},
	[CLUSTER_CLAIMS] = {.type = &api_resource_claims,
			    .apply = apply_claim,
			    .outline = outline_claim,
			    .optional = true},
	[CLUSTER_SLICES] = {.type = &api_resource_slices, .apply = apply_slice, .optional = true},
	[CLUSTER_CLASSES] = {.type = &api_device_classes, .apply = apply_class, .optional = true},
	[CLUSTER_AGENTS] = {.type = &api_leases,
			    .apply = apply_agent,
			    .label_selector = AGENT_LEASES,
			    .at_home = true},
	[CLUSTER_GPU_NODES] = {.type = &api_gpu_nodes, .apply = apply_gpu_node, .optional = true},
	[CLUSTER_PUBLISHED] = {.type = &api_koordinator_devices,
			       .apply = apply_koordinator,
			       .optional = true,
			       .foreign = true},
	[CLUSTER_ZONES] = {.type = &api_node_topologies,
			   .apply = apply_zones,
			   .optional = true,
			   .foreign = true},
	[CLUSTER_BUDGETS] = {.type = &api_budgets,
			     .apply = apply_budget,
			     .outline = outline_budget},
	[CLUSTER_JOBS] = {.type = &api_jobs, .apply = apply_job},
	[CLUSTER_VOLUME_CLAIMS] = {.type = &api_volume_claims, .apply = apply_volume_claim},
	[CLUSTER_VOLUMES] = {.type = &api_volumes, .apply = apply_volume},
	[CLUSTER_STORAGE_CLASSES] = {.type = &api_storage_classes, .apply = apply_storage_class},
	[CLUSTER_CSI_NODES] = {.type = &api_csi_nodes, .apply = apply_csi_node},
	[CLUSTER_CSI_DRIVERS] = {.type = &api_csi_drivers, .apply = apply_csi_driver},
};

int kinds_know_table(const struct source_table *table, struct cluster *cluster, struct error *err)
{
	for (size_t i = 0; i < table->n_rows; i++)
		if (cluster_know_resource(cluster, table->rows[i].name, table->rows[i].sharing,
					  err) < 0)
			return -1;
	return 0;
}

const struct kinds_watched *kinds_watched(enum cluster_kind kind)
{
	return &watched[kind];
}
