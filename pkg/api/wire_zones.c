/* SPDX-License-Identifier: Apache-2.0 */
/* The field tables of NodeResourceTopology; about tables see wire.c. */
#include "api/wire_zones.h"

#include "base/macros.h"

#define JSON(type, member, key, kind)          FIELD(type, member, key, 0, kind)
#define JSON_SUB(type, member, key, kind, sub) FIELD_SUB(type, member, key, 0, kind, sub)

static const struct field amount_fields[] = {
	JSON(struct wire_zone_amount, name, "name", FIELD_STRING),
	JSON(struct wire_zone_amount, capacity, "capacity", FIELD_QUANTITY),
	JSON(struct wire_zone_amount, allocatable, "allocatable", FIELD_QUANTITY),
};
static const struct schema amount_schema =
	SCHEMA("resource", struct wire_zone_amount, amount_fields);

static const struct field cost_fields[] = {
	JSON(struct wire_zone_cost, name, "name", FIELD_STRING),
	JSON(struct wire_zone_cost, value, "value", FIELD_INT64),
};
static const struct schema cost_schema = SCHEMA("cost", struct wire_zone_cost, cost_fields);

static const struct field zone_fields[] = {
	JSON(struct wire_zone, name, "name", FIELD_STRING),
	JSON(struct wire_zone, type, "type", FIELD_STRING),
	JSON_SUB(struct wire_zone, costs, "costs", FIELD_MESSAGES, &cost_schema),
	JSON_SUB(struct wire_zone, amounts, "resources", FIELD_MESSAGES, &amount_schema),
};
static const struct schema zone_schema = SCHEMA("zone", struct wire_zone, zone_fields);

static const struct field attribute_fields[] = {
	JSON(struct wire_zone_attribute, name, "name", FIELD_STRING),
	JSON(struct wire_zone_attribute, value, "value", FIELD_STRING),
};
static const struct schema attribute_schema =
	SCHEMA("attribute", struct wire_zone_attribute, attribute_fields);

static const struct field topology_fields[] = {
	JSON_SUB(struct wire_node_topology, meta, "metadata", FIELD_MESSAGE, &wire_meta_schema),
	JSON_SUB(struct wire_node_topology, zones, "zones", FIELD_MESSAGES, &zone_schema),
	JSON_SUB(struct wire_node_topology, attributes, "attributes", FIELD_MESSAGES,
		 &attribute_schema),
	JSON(struct wire_node_topology, policies, "topologyPolicies", FIELD_STRINGS),
};
const struct schema wire_node_topology_schema =
	SCHEMA("NodeResourceTopology", struct wire_node_topology, topology_fields);
