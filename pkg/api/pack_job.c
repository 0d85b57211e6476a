/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs: whether one more failed pod is one too many. */
#include "api/pack_job.h"

#include "api/pack_common.h"

#define BACKOFF_LIMIT_DEFAULT 6 /* k8s.io/api/batch/v1, JobSpec */

/* k8s.io/api/core/v1: the condition that an evicted pod has. */
static bool is_of_evictions(const struct wire_job_rule *rule)
{
	wire_for_each(const struct wire_job_condition, condition, rule->conditions) {
		if (str_equal(condition->type, STR("DisruptionTarget")) &&
		    !str_equal(condition->status, STR("False")))
			return true;
	}
	return false;
}

/* The first rule that an evicted pod meets; empty: none, or it is counted. */
static struct str action_of(const struct wire_job_policy *policy)
{
	wire_for_each(const struct wire_job_rule, rule, policy->rules) {
		if (is_of_evictions(rule))
			return rule->action;
	}
	return STR_NONE;
}

static bool is_final(const struct wire_job *wire)
{
	const struct wire_job_spec *spec = &wire->spec;
	struct str action = action_of(&spec->policy);

	if (str_equal(action, STR("Ignore")))
		return false;
	if (str_equal(action, STR("FailJob")) || str_equal(action, STR("FailIndex")))
		return true;
	if (wire_has(spec, WIRE_JOB_INDEX_LIMIT) && spec->index_limit <= 0)
		return true;
	return wire->status.failed >= (wire_has(spec, WIRE_JOB_BACKOFF_LIMIT)
					       ? spec->backoff_limit
					       : BACKOFF_LIMIT_DEFAULT);
}

int api_pack_job(const struct wire_job *wire, struct job_facts *ret_facts, struct error *err)
{
	if (pack_check_meta(&wire->meta, err) < 0)
		return pack_locate(err, "Job", &wire->meta);
	*ret_facts = (struct job_facts){
		.namespace = wire->meta.namespace,
		.name = wire->meta.name,
		.final = is_final(wire),
	};
	return 0;
}
