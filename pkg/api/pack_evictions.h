/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_PACK_EVICTIONS_H
#define GPUQOS_API_PACK_EVICTIONS_H

#include "api/pack_spec.h"
#include "api/wire_tenant.h"
#include "model/tenant.h"

/* What a TenantQoS says of evictions. Inside api only. */

/* spec.protection and spec.preemptible; what is left out has its default. */
int pack_protection(struct spec_check *check, const struct wire_tenant_spec *spec,
		    struct protection_spec *protection);
int pack_preemptible(struct spec_check *check, const struct wire_preemptible *wire,
		     struct preemptible_spec *preemptible);

/*
 * status.evictions[]. One that cannot be read is passed over: the controller then writes the list
 * without it.
 */
int pack_evictions(const struct wire_list *evictions, const struct pack *pack,
		   struct tenant_status *status);

#endif
