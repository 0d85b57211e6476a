/* SPDX-License-Identifier: Apache-2.0 */
/* The field tables of metadata and Status; about tables see wire.c. */
#include "api/wire_meta.h"

#include "api/keys.h"
#include "base/macros.h"
#include "codec/pb.h"

/* --- metadata */

static const struct field owner_fields[] = {
	FIELD(struct wire_owner, kind, "kind", 1, FIELD_STRING),
	FIELD(struct wire_owner, name, "name", 3, FIELD_STRING),
	FIELD(struct wire_owner, uid, "uid", 4, FIELD_STRING),
	FIELD(struct wire_owner, controller, "controller", 6, FIELD_BOOL),
};
static const struct schema owner_schema = SCHEMA("OwnerReference", struct wire_owner, owner_fields);

static const struct field managed_fields[] = {
	FIELD(struct wire_managed_fields, manager, "manager", 1, FIELD_STRING),
	FIELD(struct wire_managed_fields, fields, "fieldsV1", 7, FIELD_RAW),
	FIELD(struct wire_managed_fields, subresource, "subresource", 8, FIELD_STRING),
};
static const struct schema managed_schema =
	SCHEMA("ManagedFieldsEntry", struct wire_managed_fields, managed_fields);

/* What every table of metadata begins with; the deletion time is row WIRE_META_DELETION. */
#define PLAIN_META                                                                             \
	FIELD(struct wire_meta, name, "name", 1, FIELD_STRING),                                \
		FIELD(struct wire_meta, namespace, "namespace", 3, FIELD_STRING),              \
		FIELD(struct wire_meta, uid, "uid", 5, FIELD_STRING),                          \
		FIELD(struct wire_meta, resource_version, "resourceVersion", 6, FIELD_STRING), \
		FIELD(struct wire_meta, generation, "generation", 7, FIELD_INT64),             \
		FIELD(struct wire_meta, creation_us, "creationTimestamp", 8, FIELD_TIME),      \
		FIELD(struct wire_meta, deletion_us, "deletionTimestamp", 9, FIELD_TIME)
#define LABELS               FIELD(struct wire_meta, labels, "labels", 11, FIELD_MAP)
#define LABELS_OF(keys)      FIELD_MAP_OF(struct wire_meta, labels, "labels", 11, &(keys))
#define ANNOTATIONS_OF(keys) FIELD_MAP_OF(struct wire_meta, annotations, "annotations", 12, &(keys))
#define OWNERS \
	FIELD_SUB(struct wire_meta, owners, "ownerReferences", 13, FIELD_MESSAGES, &owner_schema)
#define MANAGED_FIELDS                                                                   \
	FIELD_SUB(struct wire_meta, managed_fields, "managedFields", 17, FIELD_MESSAGES, \
		  &managed_schema)

static const struct field plain_meta[] = {PLAIN_META};
static const struct field marked_meta[] = {PLAIN_META, LABELS_OF(keys_own_labels)};
static const struct field labelled_meta[] = {PLAIN_META, LABELS};
static const struct field described_meta[] = {PLAIN_META, LABELS,
					      ANNOTATIONS_OF(keys_node_annotations)};
static const struct field owned_meta[] = {PLAIN_META, OWNERS, MANAGED_FIELDS};
static const struct field bound_meta[] = {PLAIN_META, LABELS, OWNERS};
static const struct field pod_meta[] = {PLAIN_META, LABELS, ANNOTATIONS_OF(keys_pod_annotations),
					OWNERS};
static const struct field claim_meta[] = {PLAIN_META, ANNOTATIONS_OF(keys_claim_annotations),
					  OWNERS};
static const struct field volume_claim_meta[] = {
	PLAIN_META, ANNOTATIONS_OF(keys_volume_claim_annotations), OWNERS};
static const struct field volume_meta[] = {PLAIN_META, LABELS_OF(keys_zone_labels)};
static const struct field lease_meta[] = {PLAIN_META, ANNOTATIONS_OF(keys_lease_annotations)};

const struct schema wire_meta_schema = SCHEMA("ObjectMeta", struct wire_meta, plain_meta);
const struct schema wire_marked_meta_schema = SCHEMA("ObjectMeta", struct wire_meta, marked_meta);
const struct schema wire_labelled_meta_schema =
	SCHEMA("ObjectMeta", struct wire_meta, labelled_meta);
const struct schema wire_described_meta_schema =
	SCHEMA("ObjectMeta", struct wire_meta, described_meta);
const struct schema wire_owned_meta_schema = SCHEMA("ObjectMeta", struct wire_meta, owned_meta);
const struct schema wire_bound_meta_schema = SCHEMA("ObjectMeta", struct wire_meta, bound_meta);
const struct schema wire_pod_meta_schema = SCHEMA("ObjectMeta", struct wire_meta, pod_meta);
const struct schema wire_claim_meta_schema = SCHEMA("ObjectMeta", struct wire_meta, claim_meta);
const struct schema wire_volume_claim_meta_schema =
	SCHEMA("ObjectMeta", struct wire_meta, volume_claim_meta);
const struct schema wire_volume_meta_schema = SCHEMA("ObjectMeta", struct wire_meta, volume_meta);
const struct schema wire_lease_meta_schema = SCHEMA("ObjectMeta", struct wire_meta, lease_meta);

static const struct field outline_fields[] = {
	FIELD_SUB(struct wire_object, meta, "metadata", 1, FIELD_MESSAGE, &wire_meta_schema),
};
const struct schema wire_outline_schema = SCHEMA("object", struct wire_object, outline_fields);

static const struct field list_meta[] = {
	FIELD(struct wire_list_meta, resource_version, "resourceVersion", 2, FIELD_STRING),
	FIELD(struct wire_list_meta, continue_token, "continue", 3, FIELD_STRING),
};
const struct schema wire_list_meta_schema = SCHEMA("ListMeta", struct wire_list_meta, list_meta);

/* --- LabelSelector */

static const struct field requirement_fields[] = {
	FIELD(struct wire_requirement, key, "key", 1, FIELD_STRING),
	FIELD(struct wire_requirement, op, "operator", 2, FIELD_STRING),
	FIELD(struct wire_requirement, values, "values", 3, FIELD_STRINGS),
};
const struct schema wire_requirement_schema =
	SCHEMA("LabelSelectorRequirement", struct wire_requirement, requirement_fields);

static const struct field selector_fields[] = {
	FIELD(struct wire_selector, labels, "matchLabels", 1, FIELD_MAP),
	FIELD_SUB(struct wire_selector, requirements, "matchExpressions", 2, FIELD_MESSAGES,
		  &wire_requirement_schema),
};
const struct schema wire_selector_schema =
	SCHEMA("LabelSelector", struct wire_selector, selector_fields);

/* --- Status */

static const struct field cause_fields[] = {
	FIELD(struct wire_cause, reason, "reason", 1, FIELD_STRING),
};
static const struct schema cause_schema = SCHEMA("StatusCause", struct wire_cause, cause_fields);

static const struct field status_details_fields[] = {
	FIELD_SUB(struct wire_status_details, causes, "causes", 4, FIELD_MESSAGES, &cause_schema),
	FIELD(struct wire_status_details, retry_after_s, "retryAfterSeconds", 5, FIELD_INT32),
};
static const struct schema status_details_schema =
	SCHEMA("StatusDetails", struct wire_status_details, status_details_fields);

static const struct field status_fields[] = {
	FIELD(struct wire_status, status, "status", 2, FIELD_STRING),
	FIELD(struct wire_status, message, "message", 3, FIELD_STRING),
	FIELD(struct wire_status, reason, "reason", 4, FIELD_STRING),
	FIELD_SUB(struct wire_status, details, "details", 5, FIELD_MESSAGE, &status_details_schema),
	FIELD(struct wire_status, code, "code", 6, FIELD_INT32),
};
const struct schema wire_status_schema = SCHEMA("Status", struct wire_status, status_fields);

/* Field 1, of type bytes: no JSON value begins so. */
#define RAW_KEY '\x0a'

struct str wire_raw(struct str raw)
{
	struct pb_cursor cursor = {raw};
	struct pb_value value;

	if (str_empty(raw) || *raw.data != RAW_KEY)
		return raw;
	if (pb_next(&cursor, &value, NULL) <= 0)
		return STR_NONE;
	return value.bytes;
}
