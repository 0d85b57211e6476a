/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a GpuMemoryQuota; pack_quota_status.c reads it back. */
#include "api/body.h"
#include "api/body_common.h"
#include "api/type.h"

/* Name and product are the list's keys, so an unlabelled product is written as empty. */
static void add_row(struct json_out *out, const struct quota_row *row)
{
	json_out_object(out, NULL);
	json_out_string(out, "name", row->resource);
	json_out_string(out, "product", row->product);
	if (row->unit_memory != AMOUNT_UNKNOWN)
		body_add_bytes(out, "unitMemory", row->unit_memory);
	json_out_cstring(out, "sharing", device_sharing_text(row->sharing));
	json_out_int(out, "used", row->used);
	json_out_int(out, "hard", row->hard);
	json_out_end(out);
}

/* An empty resource says that the class is free, so it is written. */
static void add_classes(struct json_out *out, const struct quota_classes *classes)
{
	size_t i;

	if (classes->n == 0)
		return;
	json_out_array(out, "deviceClasses");
	for (i = 0; i < classes->n; i++) {
		json_out_object(out, NULL);
		json_out_string(out, "name", classes->list[i].name);
		json_out_string(out, "resource", classes->list[i].resource);
		json_out_end(out);
	}
	json_out_end_array(out);
}

static void add_dry_run(struct json_out *out, const struct dry_run_status *dry_run)
{
	size_t i;

	if (dry_run->since_us == 0)
		return;
	json_out_object(out, "dryRun");
	json_out_time(out, "since", dry_run->since_us);
	json_out_time(out, "through", dry_run->through_us);
	json_out_int(out, "refusedPods", dry_run->refused);
	json_out_array(out, "workloads");
	for (i = 0; i < dry_run->n_rows; i++) {
		json_out_object(out, NULL);
		json_out_string(out, "kind", dry_run->rows[i].kind);
		json_out_string(out, "name", dry_run->rows[i].name);
		json_out_int(out, "pods", dry_run->rows[i].pods);
		body_add_bytes(out, "gpuMemory", dry_run->rows[i].gpu_memory);
		json_out_end(out);
	}
	json_out_end_array(out);
	json_out_end(out);
}

static void add_amounts(struct json_out *out, const struct quota_status *status)
{
	body_add_bytes(out, "effective", status->effective);
	body_add_bytes(out, "granted", status->granted);
	body_add_bytes(out, "used", status->used);
	body_add_bytes(out, "lent", status->lent);
	body_add_bytes(out, "borrowed", status->borrowed);
	body_add_bytes(out, "live", status->live);
	body_add_bytes(out, "released", status->released);
	json_out_int(out, "releasedPods", status->released_pods);
	json_out_int(out, "usedPercent", status->used_percent);
	json_out_int(out, "pods", status->pods);
	json_out_int(out, "gpus", status->gpus_used);
	if (status->granted_gpus > 0)
		json_out_int(out, "grantedGPUs", status->granted_gpus);
	if (status->effective_gpus > 0)
		json_out_int(out, "effectiveGPUs", status->effective_gpus);
}

/* Use is rounded up and what it is held against down: room is never shown where there is none. */
static void add_shown(struct json_out *out, const struct quota_status *status)
{
	json_out_object(out, "shown");
	body_add_shown(out, "effective", status->effective, false);
	body_add_shown(out, "granted", status->granted, false);
	body_add_shown(out, "used", status->used, true);
	body_add_shown(out, "lent", status->lent, true);
	body_add_shown(out, "borrowed", status->borrowed, false);
	json_out_end(out);
}

static void add_status(struct json_out *out, const struct quota_status *status)
{
	size_t i;

	json_out_object(out, "status");
	json_out_int(out, "observedGeneration", status->observed_generation);
	if (!str_empty(status->tenant))
		json_out_string(out, "tenant", status->tenant);
	add_amounts(out, status);
	add_shown(out, status);
	json_out_array(out, "resources");
	for (i = 0; i < status->n_rows; i++)
		add_row(out, &status->rows[i]);
	json_out_end_array(out);
	add_classes(out, &status->classes);
	add_dry_run(out, &status->dry_run);
	json_out_array(out, "conditions");
	for (i = 0; i < QUOTA_CONDITION_COUNT; i++)
		body_add_condition(out, quota_condition_text((enum quota_condition)i),
				   &status->conditions[i], status->observed_generation);
	json_out_end_array(out);
	json_out_end(out);
}

void api_body_quota_status(struct buf *body, struct str namespace, struct str name, struct str uid,
			   const struct quota_status *status)
{
	struct json_out out;

	json_out_init(&out, body);
	json_out_object(&out, NULL);
	json_out_cstring(&out, "apiVersion", API_GROUP_VERSION);
	json_out_cstring(&out, "kind", api_gpu_memory_quotas.kind);
	json_out_object(&out, "metadata");
	json_out_string(&out, "name", name);
	json_out_string(&out, "namespace", namespace);
	json_out_string(&out, "uid", uid);
	json_out_end(&out);
	add_status(&out, status);
	json_out_end(&out);
}
