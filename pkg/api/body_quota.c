/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a GpuMemoryQuota; pack_quota_status.c reads it back. */
#include "api/body.h"
#include "api/quantity.h"
#include "api/type.h"
#include "base/macros.h"
#include "codec/json_out.h"

static void add_bytes(struct json_out *out, const char *key, int64_t bytes)
{
	char text[QUANTITY_TEXT_SIZE];
	size_t len = quantity_format_bytes(bytes, text);

	json_out_string(out, key, (struct str){text, len});
}

/* Name and product are the list's keys, so an unlabelled product is written as empty. */
static void add_row(struct json_out *out, const struct quota_row *row)
{
	json_out_object(out, NULL);
	json_out_string(out, "name", row->resource);
	json_out_string(out, "product", row->product);
	if (row->unit_memory != AMOUNT_UNKNOWN)
		add_bytes(out, "unitMemory", row->unit_memory);
	json_out_cstring(out, "sharing", device_sharing_text(row->sharing));
	json_out_int(out, "used", row->used);
	json_out_int(out, "hard", row->hard);
	json_out_end(out);
}

static void add_condition(struct json_out *out, enum quota_condition type,
			  const struct condition *condition, int64_t generation)
{
	json_out_object(out, NULL);
	json_out_cstring(out, "type", quota_condition_text(type));
	json_out_cstring(out, "status", condition_status_text(condition->status));
	json_out_cstring(out, "reason", quota_reason_text(condition->reason));
	json_out_cstring(out, "message", condition->message);
	json_out_time(out, "lastTransitionTime", condition->since_us);
	json_out_int(out, "observedGeneration", generation);
	json_out_end(out);
}

static void add_status(struct json_out *out, const struct quota_status *status)
{
	size_t i;

	json_out_object(out, "status");
	json_out_int(out, "observedGeneration", status->observed_generation);
	add_bytes(out, "effective", status->effective);
	add_bytes(out, "used", status->used);
	add_bytes(out, "lent", status->lent);
	add_bytes(out, "borrowed", status->borrowed);
	add_bytes(out, "live", status->live);
	json_out_int(out, "usedPercent", status->used_percent);
	json_out_int(out, "pods", status->pods);
	json_out_int(out, "gpus", status->gpus_used);
	json_out_array(out, "resources");
	for (i = 0; i < status->n_rows; i++)
		add_row(out, &status->rows[i]);
	json_out_end_array(out);
	json_out_array(out, "conditions");
	for (i = 0; i < QUOTA_CONDITION_COUNT; i++)
		add_condition(out, (enum quota_condition)i, &status->conditions[i],
			      status->observed_generation);
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
