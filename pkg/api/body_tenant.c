/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a TenantQoS, and the policy bindings that tie it to its namespaces. */
#include "api/binding.h"

#include <stdio.h>

#include "api/body.h"
#include "api/body_common.h"
#include "api/type.h"
#include "base/macros.h"

/* --- status */

static void add_ceiling(struct json_out *out, const struct tenant_status *status)
{
	if (status->ceiling == AMOUNT_NONE && status->ceiling_gpus == AMOUNT_NONE)
		return;
	json_out_object(out, "ceiling");
	if (status->ceiling != AMOUNT_NONE)
		body_add_bytes(out, "gpuMemory", status->ceiling);
	if (status->ceiling_gpus != AMOUNT_NONE)
		json_out_int(out, "gpus", status->ceiling_gpus);
	json_out_end(out);
}

static void add_objective(struct json_out *out, const struct objective_status *objective)
{
	json_out_object(out, NULL);
	json_out_string(out, "name", objective->name);
	if (objective->value != OBJECTIVE_NO_VALUE)
		json_out_cstring(out, "value", objective_value_text(objective->value).text);
	json_out_cstring(out, "state", objective_state_text(objective->state));
	json_out_cstring(out, "reason", objective_reason_text(objective->reason));
	if (objective->since_us != 0)
		json_out_time(out, "since", objective->since_us);
	json_out_end(out);
}

/* "2 Met, 1 Violated": what is worst comes last. */
static void add_summary(struct json_out *out, const struct tenant_status *status)
{
	static const enum objective_state order[] = {OBJECTIVE_MET, OBJECTIVE_UNKNOWN,
						     OBJECTIVE_AT_RISK, OBJECTIVE_VIOLATED};
	char text[128] = "";
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		size_t n = 0;

		for (size_t k = 0; k < status->n_objectives; k++)
			n += status->objectives[k].state == order[i];
		if (n > 0)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%zu %s",
						len > 0 ? ", " : "", n,
						objective_state_text(order[i]));
	}
	json_out_cstring(out, "objectivesSummary", text);
}

static void add_objectives(struct json_out *out, const struct tenant_status *status)
{
	if (status->n_objectives == 0)
		return;
	json_out_array(out, "objectives");
	for (size_t i = 0; i < status->n_objectives; i++)
		add_objective(out, &status->objectives[i]);
	json_out_end_array(out);
	add_summary(out, status);
}

static void add_shown(struct json_out *out, const struct tenant_status *status)
{
	json_out_object(out, "shown");
	body_add_shown(out, "granted", status->granted, false);
	body_add_shown(out, "used", status->used, true);
	body_add_shown(out, "lent", status->lent, true);
	json_out_end(out);
}

static void add_status(struct json_out *out, const struct tenant_status *status)
{
	size_t i;

	json_out_object(out, "status");
	json_out_int(out, "observedGeneration", status->observed_generation);
	json_out_array(out, "namespaces");
	for (i = 0; i < status->n_namespaces_listed; i++)
		json_out_string(out, NULL, status->namespaces[i]);
	json_out_end_array(out);
	json_out_int(out, "namespaceCount", status->n_namespaces);
	add_ceiling(out, status);
	body_add_bytes(out, "granted", status->granted);
	json_out_int(out, "grantedGPUs", status->granted_gpus);
	body_add_bytes(out, "used", status->used);
	json_out_int(out, "usedGPUs", status->used_gpus);
	body_add_bytes(out, "lent", status->lent);
	add_shown(out, status);
	add_objectives(out, status);
	body_add_throttle(out, &status->throttle);
	json_out_array(out, "conditions");
	for (i = 0; i < TENANT_CONDITION_COUNT; i++)
		body_add_condition(out, tenant_condition_text((enum tenant_condition)i),
				   &status->conditions[i], status->observed_generation);
	json_out_end_array(out);
	json_out_end(out);
}

void api_body_tenant_status(struct buf *body, struct str name, struct str uid,
			    const struct tenant_status *status)
{
	struct json_out out;

	json_out_init(&out, body);
	json_out_object(&out, NULL);
	json_out_cstring(&out, "apiVersion", API_GROUP_VERSION);
	json_out_cstring(&out, "kind", api_tenants.kind);
	json_out_object(&out, "metadata");
	json_out_string(&out, "name", name);
	json_out_string(&out, "uid", uid);
	json_out_end(&out);
	add_status(&out, status);
	json_out_end(&out);
}

/* --- bindings */

static void add_requirement(struct json_out *out, const struct label_requirement *requirement)
{
	size_t i;

	json_out_object(out, NULL);
	json_out_string(out, "key", requirement->key);
	json_out_cstring(out, "operator", label_operator_text(requirement->op));
	if (requirement->n_values > 0) {
		json_out_array(out, "values");
		for (i = 0; i < requirement->n_values; i++)
			json_out_string(out, NULL, requirement->values[i]);
		json_out_end_array(out);
	}
	json_out_end(out);
}

/* As expressions alone: a list keeps its order, and reads back as it was written. */
static void add_selector(struct json_out *out, const char *key,
			 const struct label_selector *selector)
{
	size_t i;

	if (selector->n_requirements == 0)
		return;
	json_out_object(out, key);
	json_out_array(out, "matchExpressions");
	for (i = 0; i < selector->n_requirements; i++)
		add_requirement(out, &selector->requirements[i]);
	json_out_end_array(out);
	json_out_end(out);
}

static void add_binding_meta(struct json_out *out, struct str name, const struct body_owner *owner)
{
	json_out_object(out, "metadata");
	json_out_string(out, "name", name);
	json_out_object(out, "labels");
	json_out_cstring(out, BINDING_LABEL_NAME, BINDING_LABEL_VALUE);
	json_out_string(out, API_LABEL_TENANT, owner->name);
	json_out_end(out);
	body_add_owner(out, owner);
	json_out_end(out);
}

static void add_binding_spec(struct json_out *out, const struct policy_binding *binding)
{
	json_out_object(out, "spec");
	json_out_string(out, "policyName", binding->policy);
	json_out_object(out, "paramRef");
	json_out_string(out, "name", binding->param);
	json_out_cstring(out, "parameterNotFoundAction", BINDING_NOT_FOUND);
	json_out_end(out);
	json_out_object(out, "matchResources");
	add_selector(out, "namespaceSelector", &binding->namespaces);
	add_selector(out, "objectSelector", &binding->objects);
	json_out_end(out);
	json_out_array(out, "validationActions");
	json_out_cstring(out, NULL, binding->denies ? BINDING_DENIES : BINDING_WARNS);
	json_out_end_array(out);
	json_out_end(out);
}

void api_body_binding(struct buf *body, struct str name, const struct body_owner *owner,
		      const struct policy_binding *binding)
{
	struct json_out out;

	json_out_init(&out, body);
	json_out_object(&out, NULL);
	json_out_cstring(&out, "apiVersion", "admissionregistration.k8s.io/v1");
	json_out_cstring(&out, "kind", api_policy_bindings.kind);
	add_binding_meta(&out, name, owner);
	add_binding_spec(&out, binding);
	json_out_end(&out);
}
