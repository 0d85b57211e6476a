/* SPDX-License-Identifier: Apache-2.0 */
/* The least that a pod with a tier needs around it. */
#include "lib/team.h"

#include "cluster/tenants/tenants.h"
#include "lib/crowd.h"

void team_add(struct cluster *cluster, const char *name, enum tenant_tier tier)
{
	struct str value = str_from(name);
	struct label_requirement requirement = {STR("team"), LABEL_IN, &value, 1};
	struct label label = {STR("team"), value};
	struct namespace_facts namespace = {
		.name = value, .uid = value, .labels = &label, .n_labels = 1};
	struct tenant_facts facts = {.name = value,
				     .uid = value,
				     .spec = {.namespaces = {&requirement, 1},
					      .tier = tier,
					      .ceiling = AMOUNT_NONE,
					      .ceiling_gpus = AMOUNT_NONE,
					      .topology = TOPOLOGY_SPEC_DEFAULT,
					      .preemptible = PREEMPTIBLE_DEFAULT}};
	struct error err = {0};

	crowd_check(cluster_apply_namespace(cluster, &namespace, &err), &err);
	crowd_check(cluster_apply_tenant(cluster, &facts, &err), &err);
}
