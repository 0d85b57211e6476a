/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_PACK_OBJECTIVE_H
#define GPUQOS_API_PACK_OBJECTIVE_H

#include "api/pack_spec.h"
#include "api/wire_tenant.h"
#include "model/tenant.h"

/* Objectives of a TenantQoS. Inside api only; about spec checks see api/pack_spec.h. */
int pack_objectives(struct spec_check *check, const struct wire_tenant_spec *wire,
		    struct tenant_spec *spec);

/* status.objectives[]; false where one cannot be read. The array is in @arena. */
bool pack_objective_statuses(const struct wire_list *wire, struct arena *arena,
			     struct tenant_status *status);

#endif
