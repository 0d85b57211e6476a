/* SPDX-License-Identifier: Apache-2.0 */
/* The field tables of Koordinator's Device; about tables see wire.c. */
#include "api/wire_koordinator.h"

#include "base/macros.h"

#define JSON(type, member, key, kind)          FIELD(type, member, key, 0, kind)
#define JSON_SUB(type, member, key, kind, sub) FIELD_SUB(type, member, key, 0, kind, sub)

static const struct field topology_fields[] = {
	JSON(struct wire_koordinator_topology, node, "nodeID", FIELD_INT64),
	JSON(struct wire_koordinator_topology, bus, "busID", FIELD_STRING),
};
static const struct schema topology_schema =
	SCHEMA("topology", struct wire_koordinator_topology, topology_fields);

static const struct field card_fields[] = {
	JSON(struct wire_koordinator_card, type, "type", FIELD_STRING),
	JSON(struct wire_koordinator_card, id, "id", FIELD_STRING),
	[WIRE_KOORDINATOR_MINOR] = JSON(struct wire_koordinator_card, minor, "minor", FIELD_INT64),
	JSON(struct wire_koordinator_card, health, "health", FIELD_BOOL),
	JSON_SUB(struct wire_koordinator_card, topology, "topology", FIELD_MESSAGE,
		 &topology_schema),
};
static const struct schema card_schema =
	SCHEMA("device", struct wire_koordinator_card, card_fields);

static const struct field spec_fields[] = {
	JSON_SUB(struct wire_koordinator_spec, devices, "devices", FIELD_MESSAGES, &card_schema),
};
static const struct schema spec_schema = SCHEMA("spec", struct wire_koordinator_spec, spec_fields);

static const struct field device_fields[] = {
	JSON_SUB(struct wire_koordinator_device, meta, "metadata", FIELD_MESSAGE,
		 &wire_meta_schema),
	JSON_SUB(struct wire_koordinator_device, spec, "spec", FIELD_MESSAGE, &spec_schema),
};
const struct schema wire_koordinator_device_schema =
	SCHEMA("Device", struct wire_koordinator_device, device_fields);
