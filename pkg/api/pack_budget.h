/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_PACK_BUDGET_H
#define GPUQOS_API_PACK_BUDGET_H

#include "api/pack.h"
#include "api/wire_budget.h"

/*
 * As api/pack.h. A selector that is too large or odd is of unknown reach and no error; so is that
 * of an outline.
 */
int api_pack_budget(const struct wire_budget *wire, struct arena *arena,
		    struct budget_facts *ret_facts, struct error *err);
int api_pack_budget_outline(const struct wire_object *wire, struct budget_facts *ret_facts,
			    struct error *err);

#endif
