/* SPDX-License-Identifier: Apache-2.0 */
/* Events by which controllers of workloads tell that a pod was refused. */
#include "api/pack_event.h"

#include "api/pack_common.h"
#include "base/macros.h"

/* k8s.io/apiserver: pkg/admission/plugin/resourcequota/controller.go, and
 * pkg/admission/plugin/policy/validating/dispatcher.go. */
#define BY_QUOTA  "exceeded quota: " OWNED_OBJECT_NAME ","
#define BY_POLICY "ValidatingAdmissionPolicy '" OWNED_OBJECT_NAME "-"

static bool has(struct str text, struct str part)
{
	for (size_t i = 0; i + part.len <= text.len; i++)
		if (str_starts_with(str_skip(text, i), part))
			return true;
	return false;
}

static bool is_of_a_workload(const struct wire_event *wire)
{
	static const char *const controllers[] = {
		"replicaset-controller", "job-controller",         "statefulset-controller",
		"daemonset-controller",  "replication-controller",
	};
	struct str from = str_empty(wire->reporter) ? wire->source.component : wire->reporter;

	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++)
		if (str_equal(from, str_from(controllers[i])))
			return true;
	return false;
}

int api_pack_refusal(const struct wire_event *wire, struct refusal_facts *ret_facts,
		     struct error *err)
{
	int64_t count = MAX(wire->count, wire->series.count);

	if (pack_check_meta(&wire->meta, err) < 0)
		return pack_locate(err, "Event", &wire->meta);
	*ret_facts = (struct refusal_facts){
		.namespace = wire->meta.namespace,
		.uid = wire->meta.uid,
		.ours = str_equal(wire->reason, STR(API_REFUSED_REASON)) &&
			is_of_a_workload(wire) && !str_empty(wire->message) &&
			(has(wire->message, STR(BY_QUOTA)) || has(wire->message, STR(BY_POLICY))),
		.count = MAX(count, INT64_C(1)),
		.last_us = MAX(MAX(wire->last_us, wire->event_us), wire->series.last_us),
	};
	return 0;
}
