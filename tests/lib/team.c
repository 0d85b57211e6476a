/* SPDX-License-Identifier: Apache-2.0 */
/* The least that a pod with a tier needs around it. */
#include "lib/team.h"

#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "lib/crowd.h"

#define PLENTY (10000 * GIB)

static void add(struct cluster *cluster, const struct team *team, bool with_status)
{
	struct str value = str_from(team->name);
	struct label_requirement requirement = {STR("team"), LABEL_IN, &value, 1};
	struct label label = {STR("team"), value};
	struct namespace_facts namespace = {
		.name = value, .uid = value, .labels = &label, .n_labels = 1};
	struct tenant_facts facts = {
		.name = value,
		.uid = value,
		.spec = {.namespaces = {&requirement, 1},
			 .tier = team->tier,
			 .ceiling = AMOUNT_NONE,
			 .ceiling_gpus = team->ceiling_gpus,
			 .topology = TOPOLOGY_SPEC_DEFAULT,
			 .preemptible = PREEMPTIBLE_DEFAULT},
		.has_status = with_status,
		.status = {.receipts = team->receipts, .n_receipts = team->n_receipts}};
	struct error err = {0};

	crowd_check(cluster_apply_namespace(cluster, &namespace, &err), &err);
	crowd_check(cluster_apply_tenant(cluster, &facts, &err), &err);
}

static void add_quota(struct cluster *cluster, struct str name)
{
	struct quota_facts quota = {.namespace = name,
				    .name = STR("q"),
				    .uid = STR("q"),
				    .spec = {.gpu_memory = PLENTY,
					     .gpus = AMOUNT_NONE,
					     .pod_gpu_memory = AMOUNT_NONE,
					     .pod_gpus = AMOUNT_NONE},
				    .has_status = true,
				    .status = {.granted = PLENTY,
					       .effective = PLENTY,
					       .granted_gpus = 1000,
					       .effective_gpus = 1000,
					       .tenant = name}};
	struct error err = {0};

	crowd_check(cluster_apply_quota(cluster, &quota, &err), &err);
}

void team_add(struct cluster *cluster, const char *name, enum tenant_tier tier)
{
	add(cluster, &(struct team){.name = name, .tier = tier, .ceiling_gpus = AMOUNT_NONE},
	    false);
}

void team_add_of(struct cluster *cluster, const struct team *team)
{
	add(cluster, team, true);
	add_quota(cluster, str_from(team->name));
}

void team_refresh(struct cluster *cluster)
{
	uint32_t handle;

	while (cluster_take_dirty_tenant(cluster, &handle))
		cluster_refresh_tenant(cluster, handle);
	while (cluster_take_dirty(cluster, &handle))
		cluster_refresh(cluster, handle);
}
