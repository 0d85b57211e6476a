/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CLUSTER_TENANT_WORLD_H
#define TESTS_CLUSTER_TENANT_WORLD_H

#include "cluster/internal.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"

/* Objects for tests of tenants, told to a cluster in one line. Uids are the names. */

/* Selectors over one label, and namespaces' labels. */
extern const struct label_requirement is_ml, is_either, has_team, is_not_ml, has_no_team;
extern const struct label ml, web;

/* A NULL @requirement: an empty selector. */
struct tenant_facts tenant_of(const char *name, int64_t created_us,
			      const struct label_requirement *requirement);
void tell_tenant(struct cluster *c, const char *name, int64_t created_us,
		 const struct label_requirement *requirement);
void tell_namespace(struct cluster *c, const char *name, const struct label *label);
struct quota_spec spec_of(int64_t memory);
/* The quota "quota" of a namespace. */
void tell_quota(struct cluster *c, const char *namespace, struct quota_spec spec,
		const struct quota_status *status);
void tell_grant(struct cluster *c, const char *tenant, const char *namespace,
		struct tenant_grant grant);

uint32_t handle_of(struct cluster *c, const char *namespace);
/* Takes all that is dirty: exactly these tenants, in this order. */
void assert_takes(struct cluster *c, const char *expected);
/* A NULL @expected: nobody's. */
void assert_tenant(struct cluster *c, const char *namespace, const char *expected);
struct tenant_lookup look_at(struct cluster *c, const char *name, struct arena *arena);
const struct tenant_member *member_of(const struct tenant_lookup *lookup, const char *name);

#endif
