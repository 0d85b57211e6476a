/* SPDX-License-Identifier: Apache-2.0 */
/* Six lines: two kubelets, three placers. */
#include "cli/incident.h"

#include <inttypes.h>

#include "base/macros.h"
#include "codec/json_out.h"

static const enum layout_policy kubelets[] = {LAYOUT_POLICY_NONE, LAYOUT_POLICY_SINGLE_NUMA};

static struct incident_result play(struct incident_plan plan, int64_t first_seed, uint32_t n_seeds)
{
	struct incident_result result = {0};

	for (uint32_t i = 0; i < n_seeds; i++) {
		plan.seed = (uint64_t)first_seed + i;
		incident_play(&plan, &result);
	}
	return result;
}

static void add_line(const struct incident_plan *plan, const struct incident_result *r,
		     struct buf *out)
{
	buf_printf(out,
		   "%-17s %-18s %8" PRIu32 " %9" PRIu32 " %9" PRIu32 " %9" PRIu32 " %10" PRIu32
		   "\n",
		   layout_policy_text(plan->kubelet), incident_placer_text(plan->placer), r->ran,
		   r->spanning, r->rejected, r->never_ran, r->sold_twice);
}

static void add_object(const struct incident_plan *plan, const struct incident_result *r,
		       struct json_out *json)
{
	json_out_object(json, NULL);
	json_out_cstring(json, "kubelet", layout_policy_text(plan->kubelet));
	json_out_cstring(json, "placer", incident_placer_text(plan->placer));
	json_out_int(json, "ran", r->ran);
	json_out_int(json, "spanning", r->spanning);
	json_out_int(json, "rejected", r->rejected);
	json_out_int(json, "neverRan", r->never_ran);
	json_out_int(json, "soldTwice", r->sold_twice);
	json_out_end(json);
}

void incident_report(int64_t first_seed, uint32_t n_seeds, bool as_json, struct buf *out)
{
	struct json_out json;

	json_out_init(&json, out);
	if (as_json)
		json_out_array(&json, NULL);
	else
		buf_printf(out,
			   "%d nodes of two sockets with 4 GPUs each; %d tenants race with %d pods "
			   "of 1, 2 or 4 GPUs;\nsums over seeds %" PRId64 " to %" PRId64
			   "\n\n%-17s %-18s %8s %9s %9s %9s %10s\n",
			   INCIDENT_NODES, INCIDENT_TENANTS, INCIDENT_PODS, first_seed,
			   first_seed + n_seeds - 1, "KUBELET'S POLICY", "PLACED BY", "RAN",
			   "SPAN NUMA", "REJECTED", "NEVER RAN", "SOLD TWICE");
	for (size_t k = 0; k < ARRAY_SIZE(kubelets); k++) {
		for (unsigned int placer = 0; placer < INCIDENT_PLACER_COUNT; placer++) {
			const struct incident_plan plan = {placer, kubelets[k], 0};
			const struct incident_result result = play(plan, first_seed, n_seeds);

			if (as_json)
				add_object(&plan, &result, &json);
			else
				add_line(&plan, &result, out);
		}
	}
	if (as_json) {
		json_out_end_array(&json);
		buf_add_char(out, '\n');
	} else {
		buf_add_cstr(
			out,
			"\nspan NUMA: ran on cards of both sockets; rejected: by "
			"kubelet's topology manager;\nnever ran: no node was good for them, or "
			"kubelet turned them down too often; sold twice: a node\nhad more "
			"bound than it has\n");
	}
}
