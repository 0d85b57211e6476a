/* SPDX-License-Identifier: Apache-2.0 */
/* The field table of PodDisruptionBudgets; about tables see wire.c. */
#include "api/wire_budget.h"

#include "base/macros.h"

static const struct field spec_fields[] = {
	FIELD_SUB(struct wire_budget_spec, selector, "selector", 2, FIELD_MESSAGE,
		  &wire_selector_schema),
};
static const struct schema spec_schema =
	SCHEMA("PodDisruptionBudgetSpec", struct wire_budget_spec, spec_fields);

static const struct field status_fields[] = {
	FIELD(struct wire_budget_status, observed_generation, "observedGeneration", 1, FIELD_INT64),
	FIELD(struct wire_budget_status, allowed, "disruptionsAllowed", 3, FIELD_INT32),
};
static const struct schema status_schema =
	SCHEMA("PodDisruptionBudgetStatus", struct wire_budget_status, status_fields);

static const struct field budget_fields[] = {
	FIELD_SUB(struct wire_budget, meta, "metadata", 1, FIELD_MESSAGE, &wire_meta_schema),
	FIELD_SUB(struct wire_budget, spec, "spec", 2, FIELD_MESSAGE, &spec_schema),
	FIELD_SUB(struct wire_budget, status, "status", 3, FIELD_MESSAGE, &status_schema),
};
const struct schema wire_budget_schema =
	SCHEMA("PodDisruptionBudget", struct wire_budget, budget_fields);
