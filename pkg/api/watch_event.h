/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_WATCH_EVENT_H
#define GPUQOS_API_WATCH_EVENT_H

#include "api/decode.h"

/*
 * One event of a watch (k8s.io/apimachinery, metav1.WatchEvent), opened without decoding its
 * object.
 *
 * In protobuf an event is a bare WatchEvent { type = 1, object = 2 { raw = 1 } }, whose raw is an
 * envelope (codec/pb.h) around the object.
 */
enum api_event_type {
	API_EVENT_ADDED,
	API_EVENT_MODIFIED,
	API_EVENT_DELETED,
	API_EVENT_BOOKMARK,
	API_EVENT_ERROR
};

struct api_event {
	enum api_event_type type;
	struct api_bytes object; /* borrowed from the event's bytes */
};

/*
 * @bytes: as codec/frame.h cuts it out of the stream. INVALID when it is no event, or of a type not
 * known.
 */
int api_event_open(struct api_bytes bytes, struct arena *arena, struct api_event *ret_event,
		   struct error *err);

/* What the object of a BOOKMARK says. */
struct api_bookmark {
	struct str resource_version;
	bool initial_events_end; /* annotation k8s.io/initial-events-end: "true" */
};

int api_bookmark_read(struct api_bytes object, struct arena *arena,
		      struct api_bookmark *ret_bookmark, struct error *err);

/* What names an object among those of its kind. */
struct api_identity {
	struct str namespace, name; /* namespace: empty for kinds without */
};

/* Of an object of any kind, and nothing else of it. */
int api_identity_read(struct api_bytes object, struct arena *arena,
		      struct api_identity *ret_identity, struct error *err);

/* The resourceVersion of an object of any kind, and nothing else of it; empty where it has none. */
int api_object_version(struct api_bytes object, struct arena *arena, struct str *ret_version,
		       struct error *err);

#endif
