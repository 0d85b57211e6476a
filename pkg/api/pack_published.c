/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of others that tell of a node's cards. */
#include "api/pack.h"
#include "api/publisher.h"
#include "api/wire_koordinator.h"
#include "api/zones.h"

int api_pack_koordinator_device(const struct wire_koordinator_device *wire, struct arena *arena,
				struct published_facts *ret_facts, struct error *err)
{
	const struct pack pack = {arena, err};
	const struct publisher_input input = {.koordinator = &wire->spec.devices};
	struct published_facts facts = {
		.node = wire->meta.name,
		.resource_version = api_version_number(wire->meta.resource_version),
	};

	if (pack_check_meta(&wire->meta, err) < 0 ||
	    publishers_read(&input, &pack, &facts.layout) < 0)
		return pack_locate(err, "Device", &wire->meta);
	*ret_facts = facts;
	return 0;
}

int api_pack_node_topology(const struct wire_node_topology *wire, struct arena *arena,
			   struct published_facts *ret_facts, struct error *err)
{
	const struct pack pack = {arena, err};
	struct published_facts facts = {
		.node = wire->meta.name,
		.resource_version = api_version_number(wire->meta.resource_version),
	};

	if (pack_check_meta(&wire->meta, err) < 0 || zones_read(wire, &pack, &facts.layout) < 0)
		return pack_locate(err, "NodeResourceTopology", &wire->meta);
	*ret_facts = facts;
	return 0;
}
