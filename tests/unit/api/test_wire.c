/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The field tables against a real API server: the same objects were recorded as protobuf and as
 * JSON, and what is read from both must be the same, in every field that a table names.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/type.h"
#include "api/wire_agent.h"
#include "api/wire_budget.h"
#include "api/wire_dra.h"
#include "api/wire_event.h"
#include "api/wire_job.h"
#include "api/wire_storage.h"
#include "api/wire_tenant.h"
#include "base/limits.h"
#include "base/macros.h"
#include "codec/json.h"
#include "codec/pb.h"
#include "recorded.h"
#include "schema_equal.h"

#define FOLDER "tests/data/wire/objects"

/* By the first part of the files' names. */
static const struct {
	const char *prefix;
	const struct schema *schema;
	size_t size, least; /* recordings of this type */
} types[] = {
	{"pod.", &wire_pod_schema, sizeof(struct wire_pod), 19},
	{"node.", &wire_node_schema, sizeof(struct wire_node), 11},
	{"node.", &wire_own_node_schema, sizeof(struct wire_own_node), 11},
	{"namespace.", &wire_namespace_schema, sizeof(struct wire_namespace), 2},
	{"resourcequota.", &wire_resource_quota_schema, sizeof(struct wire_resource_quota), 2},
	{"limitrange.", &wire_limit_range_schema, sizeof(struct wire_limit_range), 2},
	{"binding.", &wire_binding_schema, sizeof(struct wire_binding), 3},
	{"lease.", &wire_lease_schema, sizeof(struct wire_lease), 1},
	{"resourceclaim.", &wire_claim_schema, sizeof(struct wire_claim), 8},
	{"resourceslice.", &wire_slice_schema, sizeof(struct wire_slice), 6},
	{"deviceclass.", &wire_class_schema, sizeof(struct wire_class), 3},
	{"job.", &wire_job_schema, sizeof(struct wire_job), 1},
	{"persistentvolumeclaim.", &wire_persistent_volume_claim_schema,
	 sizeof(struct wire_persistent_volume_claim), 1},
	{"persistentvolume.", &wire_persistent_volume_schema, sizeof(struct wire_persistent_volume),
	 8},
	{"storageclass.", &wire_storage_class_schema, sizeof(struct wire_storage_class), 1},
	{"csinode.", &wire_csi_node_schema, sizeof(struct wire_csi_node), 1},
	{"csidriver.", &wire_csi_driver_schema, sizeof(struct wire_csi_driver), 1},
	{"event.", &wire_event_schema, sizeof(struct wire_event), 2},
	{"budget.", &wire_budget_schema, sizeof(struct wire_budget), 2},
	{"status.", &wire_status_schema, sizeof(struct wire_status), 3},
};

union any_object {
	uint64_t present;
	struct wire_pod pod;
	struct wire_event event;
	struct wire_node node;
	struct wire_own_node own_node;
	struct wire_namespace namespace;
	struct wire_resource_quota resource_quota;
	struct wire_limit_range limit_range;
	struct wire_binding binding;
	struct wire_lease lease;
	struct wire_claim claim;
	struct wire_slice slice;
	struct wire_class class;
	struct wire_budget budget;
	struct wire_job job;
	struct wire_persistent_volume_claim volume_claim;
	struct wire_persistent_volume volume;
	struct wire_storage_class storage_class;
	struct wire_csi_node csi_node;
	struct wire_csi_driver csi_driver;
	struct wire_status status;
};

static void compare(const char *name, const struct schema *schema)
{
	struct arena arena CLEANUP(arena_clear);
	struct buf text CLEANUP(buf_clear);
	struct buf bytes CLEANUP(buf_clear);
	struct buf difference CLEANUP(buf_clear);
	union any_object from_json, from_protobuf;
	struct pb_envelope envelope;
	struct error err = {0};

	arena_init(&arena, LIMIT_DECODE_ARENA);
	buf_init(&text, LIMIT_WATCH_FRAME);
	buf_init(&bytes, LIMIT_WATCH_FRAME);
	buf_init(&difference, LIMIT_ERROR_MESSAGE);
	recorded_decode(schema, name, &text, &arena, &from_json);
	recorded_read(name, ".pb", &bytes);
	if (pb_open_envelope(buf_str(&bytes), &envelope, &err) < 0 ||
	    pb_decode(schema, envelope.raw, &arena, &from_protobuf, &err) < 0)
		fail_msg("%s: %s", name, err.message);
	if (!schema_equal(schema, &from_json, &from_protobuf, &difference))
		fail_msg("%s: they differ%s", name, difference.data);
}

/* Names of the recordings of a type that exist as protobuf. */
static bool is_recording(const char *file, const char *prefix, char name[NAME_MAX + 1])
{
	struct str text = str_from(file);

	if (!str_starts_with(text, str_from(prefix)) || !str_ends_with(text, STR(".pb")))
		return false;
	snprintf(name, NAME_MAX + 1, "%.*s", (int)text.len - 3, file);
	return true;
}

static void both_encodings_read_the_same(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		DIR *folder = opendir(FOLDER);
		char name[NAME_MAX + 1];
		struct dirent *entry;
		size_t count = 0;

		assert_non_null(folder);
		assert_true(types[i].size <= sizeof(union any_object));
		while ((entry = readdir(folder)) != NULL) {
			if (!is_recording(entry->d_name, types[i].prefix, name))
				continue;
			compare(name, types[i].schema);
			count++;
		}
		closedir(folder);
		assert_true(count >= types[i].least);
	}
}

/* Marks fields of @schema that are set in @object, and of what it contains. */
static void note_used(const struct schema *schema, const void *object, struct buf *used)
{
	size_t i, k;

	for (i = 0; i < schema->n_fields; i++) {
		const struct field *field = &schema->fields[i];
		const char *member = (const char *)object + field->offset;
		struct wire_list list;

		if (!wire_has(object, (unsigned int)i))
			continue;
		buf_printf(used, " %s.%s ", schema->name, field->name);
		if (field->kind == FIELD_MESSAGE || field->kind == FIELD_INLINE)
			note_used(field->schema, member, used);
		if (field->kind != FIELD_MESSAGES && field->kind != FIELD_ENTRIES)
			continue;
		memcpy(&list, member, sizeof(list));
		for (k = 0; k < list.len; k++)
			note_used(field->schema, (const char *)list.items + k * field->schema->size,
				  used);
	}
}

static void assert_all_used(const struct schema *schema, const char *used)
{
	char wanted[128];
	size_t i;

	for (i = 0; i < schema->n_fields; i++) {
		snprintf(wanted, sizeof(wanted), " %s.%s ", schema->name, schema->fields[i].name);
		if (!strstr(used, wanted))
			fail_msg("no recording has%s", wanted);
		if (schema->fields[i].schema)
			assert_all_used(schema->fields[i].schema, used);
	}
}

static const struct {
	const char *name;
	const struct schema *schema;
} samples[] = {
	{"pod.sidecars", &wire_pod_schema},
	{"pod.terminating", &wire_pod_schema},
	{"pod.deployment-vllm", &wire_pod_schema},
	{"pod.overhead", &wire_pod_schema},
	{"pod.given", &wire_pod_schema},
	{"pod.gated", &wire_pod_schema},
	{"pod.crashing", &wire_pod_schema},
	{"pod.choosy", &wire_pod_schema},
	{"pod.extended-claim", &wire_pod_schema},
	{"pod.claimed", &wire_pod_schema},
	{"node.h100", &wire_node_schema},
	{"node.cordoned", &wire_node_schema},
	{"namespace.managed", &wire_namespace_schema},
	{"resourcequota.ours", &wire_resource_quota_schema},
	{"resourcequota.scoped", &wire_resource_quota_schema},
	{"binding.ours", &wire_binding_schema},
	{"binding.edited", &wire_binding_schema},
	{"binding.foreign", &wire_binding_schema},
	{"limitrange.edited", &wire_limit_range_schema},
	{"lease.held", &wire_lease_schema},
	{"resourceclaim.exact", &wire_claim_schema},
	{"resourceclaim.first", &wire_claim_schema},
	{"resourceclaim.part", &wire_claim_schema},
	{"resourceclaim.admin", &wire_claim_schema},
	{"resourceclaim.extended", &wire_claim_schema},
	{"resourceclaim.together", &wire_claim_schema},
	{"resourceslice.dynamic", &wire_slice_schema},
	{"resourceslice.scattered", &wire_slice_schema},
	{"resourceslice.shared", &wire_slice_schema},
	{"deviceclass.gpu.nvidia.com", &wire_class_schema},
	{"budget.some", &wire_budget_schema},
	{"job.failed", &wire_job_schema},
	{"persistentvolumeclaim.models", &wire_persistent_volume_claim_schema},
	{"persistentvolume.csi", &wire_persistent_volume_schema},
	{"persistentvolume.gce", &wire_persistent_volume_schema},
	{"persistentvolume.aws", &wire_persistent_volume_schema},
	{"persistentvolume.cinder", &wire_persistent_volume_schema},
	{"persistentvolume.file", &wire_persistent_volume_schema},
	{"persistentvolume.vsphere", &wire_persistent_volume_schema},
	{"persistentvolume.disk", &wire_persistent_volume_schema},
	{"persistentvolume.portworx", &wire_persistent_volume_schema},
	{"storageclass.zonal", &wire_storage_class_schema},
	{"csinode.h100-0", &wire_csi_node_schema},
	{"csidriver.csi.example.com", &wire_csi_driver_schema},
	{"event.refused", &wire_event_schema},
	{"event.series", &wire_event_schema},
	{"status.conflict", &wire_status_schema},
	{"status.timeout", &wire_status_schema},
};

/* A comparison of fields that no recording has would prove nothing. */
static void recordings_have_every_field(void **state)
{
	struct buf used CLEANUP(buf_clear);
	size_t i;

	(void)state;
	buf_init(&used, LIMIT_WATCH_FRAME);
	for (i = 0; i < ARRAY_SIZE(samples); i++) {
		struct arena arena CLEANUP(arena_clear);
		struct buf text CLEANUP(buf_clear);
		union any_object object;

		arena_init(&arena, LIMIT_DECODE_ARENA);
		buf_init(&text, LIMIT_WATCH_FRAME);
		recorded_decode(samples[i].schema, samples[i].name, &text, &arena, &object);
		note_used(samples[i].schema, &object, &used);
	}
	for (i = 0; i < ARRAY_SIZE(samples); i++)
		assert_all_used(samples[i].schema, used.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_encodings_read_the_same),
		cmocka_unit_test(recordings_have_every_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
