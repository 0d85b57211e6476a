/* SPDX-License-Identifier: Apache-2.0 */
/* GpuNode: containers are put together to pods, lists of CPUs to sets. */
#include "api/pack.h"
#include "api/pack_common.h"
#include "api/quantity.h"
#include "base/macros.h"
#include "model/claim.h"

struct reader {
	struct pack pack;
	struct cpu_set all; /* CPUs that some container has for itself */
	size_t n_containers;
};

static int too_many(const struct reader *r, const char *what, size_t most)
{
	return error_set(r->pack.err, ERROR_LIMIT, "more than %zu %s", most, what);
}

static bool is_text(struct str text, size_t most)
{
	return text.len > 0 && text.len <= most;
}

/* --- CPUs */

static int add_cpus(const struct reader *r, struct str list, struct cpu_set *set)
{
	if (cpu_set_add(set, list))
		return 0;
	return error_set(r->pack.err, ERROR_INVALID, "cpus: no list of CPUs below %d",
			 LIMIT_LAYOUT_CPUS);
}

static int write_cpus(const struct reader *r, const struct cpu_set *set,
		      const struct cpu_range **ret_ranges, size_t *ret_n)
{
	size_t n = cpu_set_ranges(set, NULL, 0);
	struct cpu_range *ranges = arena_alloc(r->pack.arena, n * sizeof(*ranges));

	if (!ranges)
		return pack_no_memory(&r->pack);
	*ret_n = cpu_set_ranges(set, ranges, n);
	*ret_ranges = ranges;
	return 0;
}

/* --- a pod */

static int add_card(const struct reader *r, struct str card, struct str *cards, size_t *n)
{
	if (!is_text(card, LIMIT_LAYOUT_TEXT))
		return error_set(r->pack.err, ERROR_INVALID, "a card without an address");
	for (size_t i = 0; i < *n; i++)
		if (str_equal(cards[i], card))
			return 0;
	if (*n == LIMIT_LAYOUT_GPUS)
		return too_many(r, "cards of a pod", LIMIT_LAYOUT_GPUS);
	cards[(*n)++] = card;
	return 0;
}

static bool has_gpu(const struct wire_gpu_container *wire)
{
	if (wire->devices.len > 0)
		return true;
	wire_for_each(const struct wire_gpu_claim, claim, wire->claims) {
		if (device_driver_is_gpu(claim->driver))
			return true;
	}
	return false;
}

/* @cards: room for LIMIT_LAYOUT_GPUS. */
static int pack_container(struct reader *r, const struct wire_gpu_container *wire,
			  struct gpu_node_pod *pod, struct str *cards)
{
	wire_for_each(const struct wire_gpu_devices, devices, wire->devices) {
		if (devices->cards.len == 0)
			pod->others += (uint32_t)MIN(devices->ids.len, (size_t)UINT16_MAX);
		wire_for_each(const struct str, card, devices->cards) {
			if (add_card(r, *card, cards, &pod->n_cards) < 0)
				return -1;
		}
	}
	return add_cpus(r, wire->cpus, &r->all);
}

static int pack_containers(struct reader *r, const struct wire_list *containers,
			   struct gpu_node_pod *pod)
{
	struct str *cards = arena_alloc(r->pack.arena, LIMIT_LAYOUT_GPUS * sizeof(*cards));
	struct cpu_set own = {0};

	if (!cards)
		return pack_no_memory(&r->pack);
	pod->cards = cards;
	r->n_containers += containers->len;
	if (r->n_containers > LIMIT_HELD_CONTAINERS)
		return too_many(r, "containers", LIMIT_HELD_CONTAINERS);
	wire_for_each(const struct wire_gpu_container, container, *containers) {
		if (pack_container(r, container, pod, cards) < 0 ||
		    (has_gpu(container) && add_cpus(r, container->cpus, &own) < 0))
			return -1;
	}
	return write_cpus(r, &own, &pod->cpus, &pod->n_cpus);
}

static int pack_pods(struct reader *r, const struct wire_list *wire, struct gpu_node_facts *facts)
{
	struct gpu_node_pod *pods;

	if (wire->len > LIMIT_HELD_CONTAINERS)
		return too_many(r, "pods", LIMIT_HELD_CONTAINERS);
	pods = arena_alloc(r->pack.arena, wire->len * sizeof(*pods));
	if (!pods)
		return pack_no_memory(&r->pack);
	facts->pods = pods;
	wire_for_each(const struct wire_gpu_pod, pod, *wire) {
		struct gpu_node_pod *to = &pods[facts->n_pods++];

		*to = (struct gpu_node_pod){.namespace = pod->namespace, .name = pod->name};
		if (!is_text(pod->namespace, LIMIT_NAME) || !is_text(pod->name, LIMIT_NAME))
			return error_set(r->pack.err, ERROR_INVALID, "a pod without a name");
		if (pack_containers(r, &pod->containers, to) < 0)
			return -1;
	}
	return 0;
}

/* --- what is measured */

static int64_t amount_of(struct str text)
{
	int64_t amount;

	return quantity_parse(text, &amount) && amount >= 0 && amount <= LIMIT_LAYOUT_AMOUNT
		       ? amount
		       : AMOUNT_UNKNOWN;
}

static int32_t percent_of(const struct wire_gpu_user *wire)
{
	return wire_has(wire, WIRE_GPU_USER_SM) && wire->sm_percent >= 0 && wire->sm_percent <= 100
		       ? (int32_t)wire->sm_percent
		       : -1;
}

static int pack_users(struct reader *r, const struct wire_list *wire, struct gpu_node_facts *facts)
{
	struct gpu_node_use *uses;

	if (wire->len > LIMIT_GPUNODE_USERS)
		return too_many(r, "users", LIMIT_GPUNODE_USERS);
	uses = arena_alloc(r->pack.arena, wire->len * sizeof(*uses));
	if (!uses)
		return pack_no_memory(&r->pack);
	facts->uses = uses;
	wire_for_each(const struct wire_gpu_user, user, *wire) {
		if (!is_text(user->card, LIMIT_LAYOUT_TEXT) || user->uid.len > LIMIT_NAME)
			return error_set(r->pack.err, ERROR_INVALID, "a user of no card");
		uses[facts->n_uses++] = (struct gpu_node_use){
			.card = user->card,
			.uid = user->uid,
			.memory = amount_of(user->memory),
			.pcie = amount_of(user->pcie),
			.sm_percent = percent_of(user),
			.pcie_estimated = user->estimated,
			.shared = user->shared,
		};
	}
	return 0;
}

int api_pack_gpu_node(const struct wire_gpu_node *wire, struct arena *arena,
		      struct gpu_node_facts *ret_facts, struct error *err)
{
	struct reader r = {.pack = {arena, err}};
	struct gpu_node_facts facts = {
		.name = wire->meta.name,
		.resource_version = api_version_number(wire->meta.resource_version),
	};

	if (pack_check_meta(&wire->meta, err) < 0 ||
	    pack_pods(&r, &wire->status.pods, &facts) < 0 ||
	    pack_users(&r, &wire->status.users, &facts) < 0 ||
	    add_cpus(&r, wire->status.other_cpus, &r.all) < 0 ||
	    write_cpus(&r, &r.all, &facts.cpus, &facts.n_cpus) < 0)
		return pack_locate(err, "GpuNode", &wire->meta);
	*ret_facts = facts;
	return 0;
}
