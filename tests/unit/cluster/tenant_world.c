/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tenant_world.h"

static const struct str team_ml[] = {{"ml", 2}}, team_both[] = {{"ml", 2}, {"web", 3}};

const struct label_requirement is_ml = {{"team", 4}, LABEL_IN, team_ml, 1},
			       is_either = {{"team", 4}, LABEL_IN, team_both, 2},
			       has_team = {{"team", 4}, LABEL_EXISTS, NULL, 0},
			       is_not_ml = {{"team", 4}, LABEL_NOT_IN, team_ml, 1},
			       has_no_team = {{"team", 4}, LABEL_DOES_NOT_EXIST, NULL, 0};

const struct label ml = {{"team", 4}, {"ml", 2}}, web = {{"team", 4}, {"web", 3}};

struct tenant_facts tenant_of(const char *name, int64_t created_us,
			      const struct label_requirement *requirement)
{
	return (struct tenant_facts){
		.name = str_from(name),
		.uid = str_from(name),
		.created_us = created_us,
		.generation = 1,
		.spec = {.namespaces = {requirement, requirement ? 1 : 0},
			 .tier = TIER_TRAINING,
			 .ceiling = 100 * GIB,
			 .ceiling_gpus = AMOUNT_NONE},
	};
}

void tell_tenant(struct cluster *c, const char *name, int64_t created_us,
		 const struct label_requirement *requirement)
{
	struct tenant_facts facts = tenant_of(name, created_us, requirement);

	assert_int_equal(cluster_apply_tenant(c, &facts, NULL), 0);
}

void tell_namespace(struct cluster *c, const char *name, const struct label *label)
{
	struct namespace_facts facts = {.name = str_from(name),
					.uid = str_from(name),
					.labels = label,
					.n_labels = label ? 1 : 0};

	assert_int_equal(cluster_apply_namespace(c, &facts, NULL), 0);
}

void tell_quota(struct cluster *c, const char *namespace, struct quota_spec spec,
		const struct quota_status *status)
{
	struct quota_facts facts = {.namespace = str_from(namespace),
				    .name = STR("quota"),
				    .uid = STR("quota-uid"),
				    .created_us = 7,
				    .spec = spec,
				    .has_status = status != NULL};

	if (status)
		facts.status = *status;
	assert_int_equal(cluster_apply_quota(c, &facts, NULL), 0);
}

struct quota_spec spec_of(int64_t memory)
{
	return (struct quota_spec){.gpu_memory = memory,
				   .gpus = AMOUNT_NONE,
				   .pod_gpu_memory = AMOUNT_NONE,
				   .pod_gpus = AMOUNT_NONE};
}

uint32_t handle_of(struct cluster *c, const char *name)
{
	return cluster_namespace_find(c, str_from(name));
}

/* All that is dirty is taken; the names of tenants, in order, go to @ret_names. */
static void drain(struct cluster *c, char *ret_names, size_t size)
{
	uint32_t handle;
	size_t len = 0;

	ret_names[0] = '\0';
	while (cluster_take_dirty_tenant(c, &handle)) {
		struct str name = cluster_tenant_name(c, handle);

		len += (size_t)snprintf(ret_names + len, size - len, "%s%.*s", len ? " " : "",
					STR_ARGS(name));
	}
	while (cluster_take_dirty(c, &handle))
		;
}

void assert_takes(struct cluster *c, const char *expected)
{
	char names[256];

	drain(c, names, sizeof(names));
	assert_string_equal(names, expected);
}

void assert_tenant(struct cluster *c, const char *namespace, const char *expected)
{
	uint32_t tenant;

	cluster_refresh(c, handle_of(c, namespace));
	tenant = cluster_tenant_of(c, handle_of(c, namespace));
	if (!expected) {
		assert_int_equal(tenant, TABLE_NONE);
		return;
	}
	assert_int_not_equal(tenant, TABLE_NONE);
	if (!str_equal(cluster_tenant_name(c, tenant), str_from(expected)))
		fail_msg("%s belongs to %.*s", namespace, STR_ARGS(cluster_tenant_name(c, tenant)));
}

struct tenant_lookup look_at(struct cluster *c, const char *name, struct arena *arena)
{
	uint32_t tenant = cluster_tenant_find(c, str_from(name));
	struct tenant_lookup lookup;

	cluster_refresh_tenant(c, tenant);
	assert_int_equal(cluster_tenant_view(c, tenant, arena, &lookup, NULL), 0);
	return lookup;
}

const struct tenant_member *member_of(const struct tenant_lookup *lookup, const char *name)
{
	for (size_t i = 0; i < lookup->view.n_members; i++)
		if (str_equal(lookup->view.members[i].name, str_from(name)))
			return &lookup->view.members[i];
	fail_msg("no member %s", name);
	return NULL;
}

void tell_grant(struct cluster *c, const char *tenant, const char *namespace,
		struct tenant_grant grant)
{
	uint32_t handle = handle_of(c, namespace);
	struct tenant_sums sums = {.granted = grant.granted};
	struct tenant_decision decision = {&handle, &grant, 1, &sums, THROTTLE_NOTHING};

	cluster_grant(c, cluster_tenant_find(c, str_from(tenant)), &decision);
}
