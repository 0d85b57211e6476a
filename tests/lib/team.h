/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_LIB_TEAM_H
#define TESTS_LIB_TEAM_H

#include "cluster/cluster.h"
#include "model/tenant.h"

/* A TenantQoS of this tier that asks for nothing else, and its one namespace of the same name. */
void team_add(struct cluster *cluster, const char *name, enum tenant_tier tier);

struct team {
	const char *name;
	enum tenant_tier tier;
	int64_t ceiling_gpus;           /* whole cards, or AMOUNT_NONE */
	const struct receipt *receipts; /* in its status; borrowed for the call */
	size_t n_receipts;
};

/* The same, of more particulars, and with a quota that leaves room for whatever a test asks for. */
void team_add_of(struct cluster *cluster, const struct team *team);

/* Works out what all that was applied has changed, of every tenant and namespace. */
void team_refresh(struct cluster *cluster);

#endif
