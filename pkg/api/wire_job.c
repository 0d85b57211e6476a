/* SPDX-License-Identifier: Apache-2.0 */
/* The field tables of Jobs; about tables see wire.c. */
#include "api/wire_job.h"

#include "base/macros.h"

static const struct field condition_fields[] = {
	FIELD(struct wire_job_condition, type, "type", 1, FIELD_STRING),
	FIELD(struct wire_job_condition, status, "status", 2, FIELD_STRING),
};
static const struct schema condition_schema = SCHEMA("PodFailurePolicyOnPodConditionsPattern",
						     struct wire_job_condition, condition_fields);

static const struct field rule_fields[] = {
	FIELD(struct wire_job_rule, action, "action", 1, FIELD_STRING),
	FIELD_SUB(struct wire_job_rule, conditions, "onPodConditions", 3, FIELD_MESSAGES,
		  &condition_schema),
};
static const struct schema rule_schema =
	SCHEMA("PodFailurePolicyRule", struct wire_job_rule, rule_fields);

static const struct field policy_fields[] = {
	FIELD_SUB(struct wire_job_policy, rules, "rules", 1, FIELD_MESSAGES, &rule_schema),
};
static const struct schema policy_schema =
	SCHEMA("PodFailurePolicy", struct wire_job_policy, policy_fields);

static const struct field spec_fields[] = {
	FIELD(struct wire_job_spec, backoff_limit, "backoffLimit", 7, FIELD_INT32),
	FIELD_SUB(struct wire_job_spec, policy, "podFailurePolicy", 11, FIELD_MESSAGE,
		  &policy_schema),
	FIELD(struct wire_job_spec, index_limit, "backoffLimitPerIndex", 12, FIELD_INT32),
};
static const struct schema spec_schema = SCHEMA("JobSpec", struct wire_job_spec, spec_fields);

static const struct field status_fields[] = {
	FIELD(struct wire_job_status, failed, "failed", 6, FIELD_INT32),
};
static const struct schema status_schema =
	SCHEMA("JobStatus", struct wire_job_status, status_fields);

static const struct field job_fields[] = {
	FIELD_SUB(struct wire_job, meta, "metadata", 1, FIELD_MESSAGE, &wire_meta_schema),
	FIELD_SUB(struct wire_job, spec, "spec", 2, FIELD_MESSAGE, &spec_schema),
	FIELD_SUB(struct wire_job, status, "status", 3, FIELD_MESSAGE, &status_schema),
};
const struct schema wire_job_schema = SCHEMA("Job", struct wire_job, job_fields);
