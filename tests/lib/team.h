/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_LIB_TEAM_H
#define TESTS_LIB_TEAM_H

#include "cluster/cluster.h"
#include "model/tenant.h"

/* A TenantQoS of this tier that asks for nothing else, and its one namespace of the same name. */
void team_add(struct cluster *cluster, const char *name, enum tenant_tier tier);

#endif
