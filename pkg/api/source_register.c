/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists of devices that HAMi's and Volcano's plugins write on their nodes. The first three
 * fields of a CSV device are the same in all of them: UUID, units it is split into, MiB. In JSON
 * what is 0 or false is left out.
 */
#include "api/source_common.h"
#include "base/checked.h"
#include "base/macros.h"
#include "codec/json.h"
#include "codec/json_pull.h"

struct wire_device {
	uint64_t present;
	int64_t count, memory;
};

static const struct field device_fields[] = {
	FIELD(struct wire_device, count, "count", 0, FIELD_INT64),
	FIELD(struct wire_device, memory, "devmem", 0, FIELD_INT64),
};
static const struct schema device_schema = SCHEMA("device", struct wire_device, device_fields);

static bool add_device(struct source_register *reg, int64_t count, int64_t mib)
{
	if (count < 0 || mib < 0 || mib > INT64_MAX / MIB)
		return false;
	reg->cards++;
	reg->split = saturating_add(reg->split, count);
	reg->largest = MAX(reg->largest, mib * MIB);
	reg->memory = saturating_add(reg->memory, mib * MIB);
	return true;
}

static bool read_json(struct str text, struct arena *arena, struct source_register *reg)
{
	struct json_pull pull;
	int more;

	json_pull_init(&pull, text, arena);
	if (json_pull_array(&pull, NULL) < 0)
		return false;
	while ((more = json_pull_element(&pull, NULL)) > 0) {
		struct wire_device device;
		struct str element;

		if (json_pull_skip(&pull, &element, NULL) < 0 ||
		    json_decode(&device_schema, element, arena, &device, NULL) < 0 ||
		    !add_device(reg, device.count, device.memory))
			return false;
	}
	return more == 0 && json_pull_end(&pull, NULL) == 0;
}

static bool read_csv(struct str text, struct source_register *reg)
{
	while (!str_empty(text)) {
		struct str device, id, count, mib;
		int64_t n, memory;

		str_split(text, ':', &device, &text);
		if (!str_split(device, ',', &id, &device) ||
		    !str_split(device, ',', &count, &device) ||
		    !str_split(device, ',', &mib, &device) ||
		    !str_to_int64(count, 0, INT64_MAX, &n) ||
		    !str_to_int64(mib, 0, INT64_MAX, &memory) || !add_device(reg, n, memory))
			return false;
	}
	return true;
}

bool source_read_register(const struct source_node *node, struct str key,
			  struct source_register *ret_register)
{
	struct source_register reg = {0};
	struct str text;
	bool read;

	if (!wire_map_get(node->annotations, key, &text) || str_empty(text))
		return false;
	read = text.data[0] == '[' ? read_json(text, node->pack->arena, &reg)
				   : read_csv(text, &reg);
	if (!read || reg.largest == 0)
		return false;
	*ret_register = reg;
	return true;
}
