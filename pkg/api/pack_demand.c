/* SPDX-License-Identifier: Apache-2.0 */
/* CPU, memory and ephemeral storage: of containers, of the pod as a whole, of nodes. */
#include "api/pack_demand.h"

#include "api/quantity.h"
#include "base/macros.h"

/* Most words are none of these: their length tells. */
static int amount_of(struct str key)
{
	static const struct str names[] = {
		[DEMAND_CPU] = {"cpu", 3},
		[DEMAND_MEMORY] = {"memory", 6},
		[DEMAND_STORAGE] = {"ephemeral-storage", 17},
	};

	for (int i = 0; i < DEMAND_COUNT; i++)
		if (str_equal(key, names[i]))
			return i;
	return -1;
}

static bool parse_milli(struct str text, int64_t *ret_value)
{
	int64_t value;

	if (quantity_parse_millionths(text, &value)) {
		*ret_value = value / 1000 + (value % 1000 > 0);
		return true;
	}
	if (!quantity_parse(text, &value))
		return false;
	*ret_value = MIN(value, DEMAND_MOST / 1000) * 1000;
	return true;
}

static int64_t read_amount(int amount, struct str text)
{
	int64_t value;
	bool read = amount == DEMAND_CPU ? parse_milli(text, &value) : quantity_parse(text, &value);

	return read ? MIN(MAX(value, 0), DEMAND_MOST) : DEMAND_MOST;
}

/* Those that @pairs name and @named does not yet; a bit for each in what is given back. */
static unsigned int read_amounts(const struct wire_list *pairs, unsigned int named,
				 struct demand *demand)
{
	wire_for_each(const struct wire_pair, pair, *pairs) {
		int amount = amount_of(pair->key);

		if (amount < 0 || named >> amount & 1)
			continue;
		demand->of[amount] = read_amount(amount, pair->value);
		named |= 1u << amount;
	}
	return named;
}

static struct demand demand_of(const struct wire_resources *resources)
{
	struct demand demand = {0};

	read_amounts(&resources->limits, read_amounts(&resources->requests, 0, &demand), &demand);
	return demand;
}

/* Sidecars stay beside the init containers that come after them, and beside the others. */
static struct demand demand_of_containers(const struct wire_pod_spec *spec)
{
	struct demand sum = {0}, sidecars = {0}, most = {0};

	wire_for_each(const struct wire_container, container, spec->containers) {
		struct demand one = demand_of(&container->resources);

		demand_add(&sum, &one);
	}
	wire_for_each(const struct wire_container, container, spec->init_containers) {
		struct demand one = demand_of(&container->resources);

		if (str_equal(container->restart_policy, STR("Always"))) {
			demand_add(&sum, &one);
			demand_add(&sidecars, &one);
			one = sidecars;
		} else {
			demand_add(&one, &sidecars);
		}
		demand_raise(&most, &one);
	}
	demand_raise(&sum, &most);
	return sum;
}

struct demand pack_demand(const struct wire_pod_spec *spec)
{
	struct demand demand = demand_of_containers(spec), overhead = {0};

	/* Of the pod as a whole: what is said there counts, whatever its containers say. */
	read_amounts(&spec->resources.requests, 0, &demand);
	read_amounts(&spec->overhead, 0, &overhead);
	demand_add(&demand, &overhead);
	return demand;
}

struct host_facts pack_host(const struct wire_node *wire)
{
	struct host_facts host = {.cordoned = wire->spec.unschedulable};
	struct str pods;

	read_amounts(&wire->status.allocatable, 0, &host.allocatable);
	if (wire_map_get(&wire->status.allocatable, STR("pods"), &pods) &&
	    !quantity_parse(pods, &host.pods))
		host.pods = 0;
	return host;
}
