/* SPDX-License-Identifier: Apache-2.0 */
/* Opens watch events; see the header for their shape. */
#include "api/watch_event.h"

#include "api/keys.h"
#include "api/wire.h"
#include "codec/json.h"
#include "codec/pb.h"

struct wire_event {
	uint64_t present;
	struct str type, object; /* object: see wire_raw() */
};

static const struct field event_fields[] = {
	FIELD(struct wire_event, type, "type", 1, FIELD_STRING),
	FIELD(struct wire_event, object, "object", 2, FIELD_RAW),
};
static const struct schema wire_event_schema =
	SCHEMA("WatchEvent", struct wire_event, event_fields);

struct any_meta {
	uint64_t present;
	struct str name, namespace, resource_version;
	struct wire_list annotations;
};

struct any_object {
	uint64_t present;
	struct any_meta meta;
};

/* One struct, of which each reader has the table of what it asks for: no more is decoded. */
#define ANY_OBJECT(meta_schema) \
	FIELD_SUB(struct any_object, meta, "metadata", 1, FIELD_MESSAGE, &(meta_schema))
#define NAME      FIELD(struct any_meta, name, "name", 1, FIELD_STRING)
#define NAMESPACE FIELD(struct any_meta, namespace, "namespace", 3, FIELD_STRING)
#define VERSION   FIELD(struct any_meta, resource_version, "resourceVersion", 6, FIELD_STRING)

static const struct field identity_meta_fields[] = {NAME, NAMESPACE};
static const struct schema identity_meta_schema =
	SCHEMA("ObjectMeta", struct any_meta, identity_meta_fields);
static const struct field identity_fields[] = {ANY_OBJECT(identity_meta_schema)};
static const struct schema identity_schema = SCHEMA("object", struct any_object, identity_fields);

static const struct field bookmark_meta_fields[] = {
	VERSION,
	FIELD_MAP_OF(struct any_meta, annotations, "annotations", 12, &keys_bookmark_annotations),
};
static const struct schema bookmark_meta_schema =
	SCHEMA("ObjectMeta", struct any_meta, bookmark_meta_fields);
static const struct field bookmark_fields[] = {ANY_OBJECT(bookmark_meta_schema)};
static const struct schema bookmark_schema = SCHEMA("object", struct any_object, bookmark_fields);

/* What is asked of every event of a busy watch. */
static const struct field version_meta_fields[] = {VERSION};
static const struct schema version_meta_schema =
	SCHEMA("ObjectMeta", struct any_meta, version_meta_fields);
static const struct field version_fields[] = {ANY_OBJECT(version_meta_schema)};
static const struct schema version_schema = SCHEMA("object", struct any_object, version_fields);

static int event_type(struct str text, enum api_event_type *ret_type, struct error *err)
{
	static const char *const names[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (str_equal(text, str_from(names[i]))) {
			*ret_type = (enum api_event_type)i;
			return 0;
		}
	}
	return error_set(err, ERROR_INVALID, "watch event of unknown type \"%.*s\"",
			 STR_ARGS(text));
}

/* The event itself is a bare message; the object in it has an envelope. */
static int open_protobuf(struct str bytes, struct arena *arena, struct wire_event *wire,
			 struct str *object, struct error *err)
{
	struct pb_envelope envelope;

	if (pb_decode(&wire_event_schema, bytes, arena, wire, err) < 0 ||
	    pb_open_envelope(wire_raw(wire->object), &envelope, err) < 0)
		return -1;
	*object = envelope.raw;
	return 0;
}

static int open_json(struct str text, struct arena *arena, struct wire_event *wire,
		     struct str *object, struct error *err)
{
	if (json_decode(&wire_event_schema, text, arena, wire, err) < 0)
		return -1;
	*object = wire->object;
	return 0;
}

int api_event_open(struct api_bytes bytes, struct arena *arena, struct api_event *ret_event,
		   struct error *err)
{
	struct wire_event wire = {0};
	struct api_event event = {.object.protobuf = bytes.protobuf};
	int r = (bytes.protobuf ? open_protobuf : open_json)(bytes.text, arena, &wire,
							     &event.object.text, err);

	if (r < 0 || event_type(wire.type, &event.type, err) < 0)
		return error_wrap(err, "watch event");
	*ret_event = event;
	return 0;
}

int api_object_version(struct api_bytes object, struct arena *arena, struct str *ret_version,
		       struct error *err)
{
	struct any_object any;

	if (api_decode(&version_schema, object, arena, &any, err) < 0)
		return -1;
	*ret_version = any.meta.resource_version;
	return 0;
}

int api_identity_read(struct api_bytes object, struct arena *arena,
		      struct api_identity *ret_identity, struct error *err)
{
	struct any_object any;

	if (api_decode(&identity_schema, object, arena, &any, err) < 0)
		return -1;
	*ret_identity = (struct api_identity){any.meta.namespace, any.meta.name};
	return 0;
}

int api_bookmark_read(struct api_bytes object, struct arena *arena,
		      struct api_bookmark *ret_bookmark, struct error *err)
{
	struct str initial_events_end = STR_NONE;
	struct any_object any;

	if (api_decode(&bookmark_schema, object, arena, &any, err) < 0)
		return -1;
	struct api_bookmark bookmark = {any.meta.resource_version, false};

	wire_map_get(&any.meta.annotations, STR(KEY_INITIAL_EVENTS_END), &initial_events_end);
	bookmark.initial_events_end = str_equal(initial_events_end, STR("true"));
	*ret_bookmark = bookmark;
	return 0;
}
