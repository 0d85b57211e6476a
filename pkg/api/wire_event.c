/* SPDX-License-Identifier: Apache-2.0 */
/* The field tables of Events; about tables see wire.c. */
#include "api/wire_event.h"

#include "base/macros.h"

static const struct field source_fields[] = {
	FIELD(struct wire_event_source, component, "component", 1, FIELD_STRING),
};
static const struct schema source_schema =
	SCHEMA("EventSource", struct wire_event_source, source_fields);

static const struct field series_fields[] = {
	FIELD(struct wire_event_series, count, "count", 1, FIELD_INT32),
	FIELD(struct wire_event_series, last_us, "lastObservedTime", 2, FIELD_TIME),
};
static const struct schema series_schema =
	SCHEMA("EventSeries", struct wire_event_series, series_fields);

static const struct field event_fields[] = {
	FIELD_SUB(struct wire_event, meta, "metadata", 1, FIELD_MESSAGE, &wire_meta_schema),
	FIELD(struct wire_event, reason, "reason", 3, FIELD_STRING),
	FIELD(struct wire_event, message, "message", 4, FIELD_STRING),
	FIELD_SUB(struct wire_event, source, "source", 5, FIELD_MESSAGE, &source_schema),
	FIELD(struct wire_event, last_us, "lastTimestamp", 7, FIELD_TIME),
	FIELD(struct wire_event, count, "count", 8, FIELD_INT32),
	FIELD(struct wire_event, event_us, "eventTime", 10, FIELD_TIME),
	FIELD_SUB(struct wire_event, series, "series", 11, FIELD_MESSAGE, &series_schema),
	FIELD(struct wire_event, reporter, "reportingComponent", 14, FIELD_STRING),
};
const struct schema wire_event_schema = SCHEMA("Event", struct wire_event, event_fields);
