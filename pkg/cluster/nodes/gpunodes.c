/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GpuNodes. Pods and cards are kept as hashes and looked up when a room is worked out: pods,
 * layouts and GpuNodes come in any order.
 */
#include "cluster/nodes/gpunodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/limits.h"
#include "base/mem.h"
#include "cluster/nodes/gpunodes_internal.h"
#include "cluster/nodes/links.h"
#include "cluster/nodes/series_internal.h"
#include "topo/set.h"

uint32_t gpu_node_find(const struct cluster *cluster, struct str name)
{
	return name_find(cluster, CLUSTER_GPU_NODES, name);
}

/* --- what is kept */

static void seen_free(struct seen_pods *seen)
{
	if (!seen)
		return;
	mem_free(seen->pods);
	mem_free(seen->cards);
	mem_free(seen->pod_cpus);
	mem_free(seen->cpus);
	mem_free(seen->uses);
	mem_free(seen);
}

static uint64_t pod_key(const struct cluster *cluster, struct str namespace, struct str name)
{
	return hash_u64_pair(&cluster->key, device_id(cluster, namespace),
			     device_id(cluster, name));
}

static int compare_pods(const void *a, const void *b)
{
	const struct seen_pod *left = a, *right = b;

	return (left->key > right->key) - (left->key < right->key);
}

static int compare_uids(struct uid a, struct uid b)
{
	if (a.high != b.high)
		return a.high < b.high ? -1 : 1;
	return (a.low > b.low) - (a.low < b.low);
}

static int compare_uses(const void *a, const void *b)
{
	const struct seen_use *left = a, *right = b;
	int order = compare_uids(left->uid, right->uid);

	return order != 0 ? order : (left->card > right->card) - (left->card < right->card);
}

static struct cpu_range *copy_cpus(const struct cpu_range *ranges, size_t n)
{
	struct cpu_range *copy = mem_alloc_array(n, sizeof(*copy));

	if (n > 0)
		memcpy(copy, ranges, n * sizeof(*copy));
	return copy;
}

static void keep_pod(const struct cluster *cluster, struct seen_pods *seen,
		     const struct gpu_node_pod *pod)
{
	seen->pods[seen->n_pods++] = (struct seen_pod){
		.key = pod_key(cluster, pod->namespace, pod->name),
		.first_card = (uint32_t)seen->n_cards,
		.n_cards = (uint32_t)pod->n_cards,
		.first_cpu = (uint32_t)seen->n_pod_cpus,
		.n_cpus = (uint32_t)pod->n_cpus,
		.others = pod->others,
	};
	for (size_t i = 0; i < pod->n_cards; i++)
		seen->cards[seen->n_cards++] = device_id(cluster, pod->cards[i]);
	for (size_t i = 0; i < pod->n_cpus; i++)
		seen->pod_cpus[seen->n_pod_cpus++] = pod->cpus[i];
}

static int compare_ids(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static bool is_twice(const uint64_t *sorted, size_t n, uint64_t id)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sorted[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low + 1 < n && sorted[low] == id && sorted[low + 1] == id;
}

/*
 * Whether others use a card follows from who is on it, said or not: two pods have it, or parts of
 * it, or processes of two do something there. Each pod has a card once, and a row for it.
 */
static void find_shared(struct seen_pods *seen)
{
	uint64_t *had = mem_alloc_array(seen->n_cards, sizeof(*had));
	uint64_t *used = mem_alloc_array(seen->n_uses, sizeof(*used));

	if (seen->n_cards > 0)
		memcpy(had, seen->cards, seen->n_cards * sizeof(*had));
	for (size_t i = 0; i < seen->n_uses; i++)
		used[i] = seen->uses[i].card;
	qsort(had, seen->n_cards, sizeof(*had), compare_ids);
	qsort(used, seen->n_uses, sizeof(*used), compare_ids);
	for (size_t i = 0; i < seen->n_uses; i++)
		seen->uses[i].shared = seen->uses[i].shared ||
				       is_twice(had, seen->n_cards, seen->uses[i].card) ||
				       is_twice(used, seen->n_uses, seen->uses[i].card);
	mem_free(had);
	mem_free(used);
}

static void keep_uses(const struct cluster *cluster, struct seen_pods *seen,
		      const struct gpu_node_facts *facts)
{
	seen->uses = mem_alloc_array(facts->n_uses, sizeof(*seen->uses));
	seen->n_uses = facts->n_uses;
	for (size_t i = 0; i < facts->n_uses; i++) {
		const struct gpu_node_use *use = &facts->uses[i];

		seen->uses[i] = (struct seen_use){
			.card = device_id(cluster, use->card),
			.memory = use->memory,
			.pcie = use->pcie,
			.sm_percent = use->sm_percent,
			.pcie_estimated = use->pcie_estimated,
			.shared = use->shared,
		};
		if (!str_empty(use->uid))
			seen->uses[i].uid = uid_from(&cluster->key, use->uid);
	}
	qsort(seen->uses, seen->n_uses, sizeof(*seen->uses), compare_uses);
	find_shared(seen);
}

#define IDLE_PCIE (1000 * 1000) /* bytes per second: what a heartbeat may move */

static bool is_idle(const struct seen_use *use)
{
	return use->sm_percent == 0 && (use->pcie < IDLE_PCIE || use->pcie_estimated);
}

/* Those that were idle before are since then. */
static void note_idle(struct seen_pods *seen, const struct seen_pods *before, int64_t now_us)
{
	for (size_t i = 0; i < seen->n_uses; i++) {
		struct seen_use *use = &seen->uses[i];
		const struct seen_use *was = before && before->n_uses > 0
						     ? bsearch(use, before->uses, before->n_uses,
							       sizeof(*use), compare_uses)
						     : NULL;

		if (is_idle(use))
			use->idle_us = was && was->idle_us > 0 ? was->idle_us : now_us;
	}
}

void seen_forget_idle(struct cluster *cluster, uint32_t gpu_node, int64_t now_us)
{
	struct seen_pods *seen = gpu_node_at(cluster, gpu_node)->seen;

	for (size_t i = 0; seen && i < seen->n_uses; i++)
		if (seen->uses[i].idle_us > 0)
			seen->uses[i].idle_us = now_us;
}

static struct seen_pods *keep(const struct cluster *cluster, const struct gpu_node_facts *facts)
{
	struct seen_pods *seen = mem_alloc(sizeof(*seen));
	size_t cards = 0, cpus = 0;

	for (size_t i = 0; i < facts->n_pods; i++) {
		cards += facts->pods[i].n_cards;
		cpus += facts->pods[i].n_cpus;
	}
	seen->pods = mem_alloc_array(facts->n_pods, sizeof(*seen->pods));
	seen->cards = mem_alloc_array(cards, sizeof(*seen->cards));
	seen->pod_cpus = mem_alloc_array(cpus, sizeof(*seen->pod_cpus));
	for (size_t i = 0; i < facts->n_pods; i++)
		keep_pod(cluster, seen, &facts->pods[i]);
	qsort(seen->pods, seen->n_pods, sizeof(*seen->pods), compare_pods);
	seen->cpus = copy_cpus(facts->cpus, facts->n_cpus);
	seen->n_cpus = facts->n_cpus;
	keep_uses(cluster, seen, facts);
	return seen;
}

static bool list_is(const void *a, size_t n, const void *b, size_t m, size_t size)
{
	return n == m && (n == 0 || memcmp(a, b, n * size) == 0);
}

/* All but what is measured. */
static bool holds_the_same(const struct seen_pods *a, const struct seen_pods *b)
{
	return a && list_is(a->pods, a->n_pods, b->pods, b->n_pods, sizeof(*a->pods)) &&
	       list_is(a->cards, a->n_cards, b->cards, b->n_cards, sizeof(*a->cards)) &&
	       list_is(a->pod_cpus, a->n_pod_cpus, b->pod_cpus, b->n_pod_cpus,
		       sizeof(*a->pod_cpus)) &&
	       list_is(a->cpus, a->n_cpus, b->cpus, b->n_cpus, sizeof(*a->cpus));
}

/* --- coming and going */

static uint32_t add(struct cluster *cluster, struct str name)
{
	uint32_t gpu_node = table_add(&cluster->gpu_nodes), node;

	gpu_node_at(cluster, gpu_node)->name = intern_ref(cluster->intern, name);
	name_insert(cluster, CLUSTER_GPU_NODES, gpu_node);
	node = node_find(cluster, name);
	if (node != TABLE_NONE)
		node_at(cluster, node)->gpu_node = gpu_node;
	return gpu_node;
}

static void update(struct cluster *cluster, uint32_t gpu_node, const struct gpu_node_facts *facts,
		   int64_t now_us)
{
	struct gpu_node_record *record = gpu_node_at(cluster, gpu_node);
	struct seen_pods *seen = keep(cluster, facts), *before = record->seen;
	bool same = holds_the_same(before, seen);
	uint32_t node = node_find(cluster, facts->name);

	note_idle(seen, before, now_us);
	record->seen = seen;
	record->seen_us = now_us;
	record->resource_version = facts->resource_version;
	seen_free(before);
	if (!same)
		room_refresh(cluster, node);
	else if (node != TABLE_NONE && links_refresh(cluster, node))
		room_changed(cluster, node);
}

int cluster_apply_gpu_node(struct cluster *cluster, const struct gpu_node_facts *facts,
			   int64_t now_us, struct error *err)
{
	uint32_t gpu_node;

	if (check_names(STR_NONE, facts->name, err) < 0)
		return refuse(cluster, CLUSTER_GPU_NODES, STR_NONE, facts->name, err);
	gpu_node = gpu_node_find(cluster, facts->name);
	if (gpu_node == TABLE_NONE)
		gpu_node = add(cluster, facts->name);
	gpu_node_at(cluster, gpu_node)->epoch = cluster->epochs[CLUSTER_GPU_NODES];
	if (!is_older(facts->resource_version, gpu_node_at(cluster, gpu_node)->resource_version))
		update(cluster, gpu_node, facts, now_us);
	return 0;
}

void gpu_node_remove(struct cluster *cluster, uint32_t gpu_node)
{
	struct gpu_node_record *record = gpu_node_at(cluster, gpu_node);
	uint32_t node = node_find(cluster, intern_str(cluster->intern, record->name));

	name_remove(cluster, CLUSTER_GPU_NODES, gpu_node);
	intern_unref(cluster->intern, record->name);
	seen_free(record->seen);
	table_remove(&cluster->gpu_nodes, gpu_node);
	if (node == TABLE_NONE)
		return;
	node_at(cluster, node)->gpu_node = TABLE_NONE;
	room_refresh(cluster, node);
}

void gpu_nodes_clear(struct cluster *cluster)
{
	for (uint32_t h = table_next(&cluster->gpu_nodes, 0); h != TABLE_NONE;
	     h = table_next(&cluster->gpu_nodes, h + 1))
		seen_free(gpu_node_at(cluster, h)->seen);
}

size_t gpu_nodes_bytes(const struct cluster *cluster)
{
	size_t bytes = table_bytes(&cluster->gpu_nodes) + map_bytes(&cluster->gpu_nodes_by_name);

	for (uint32_t h = table_next(&cluster->gpu_nodes, 0); h != TABLE_NONE;
	     h = table_next(&cluster->gpu_nodes, h + 1)) {
		const struct seen_pods *seen = gpu_node_at(cluster, h)->seen;

		bytes += sizeof(*seen) + seen->n_pods * sizeof(*seen->pods) +
			 seen->n_cards * sizeof(*seen->cards) +
			 (seen->n_pod_cpus + seen->n_cpus) * sizeof(*seen->cpus) +
			 seen->n_uses * sizeof(*seen->uses);
	}
	return bytes;
}

/* --- reading */

/* Nobody vouches any more for what an agent told that is gone. */
static const struct seen_pods *seen_on(const struct cluster *cluster,
				       const struct node_record *node)
{
	return node->gpu_node != TABLE_NONE && node->agent_lives
		       ? gpu_node_at(cluster, node->gpu_node)->seen
		       : NULL;
}

const struct seen_pod *seen_pod_of(const struct cluster *cluster, const struct node_record *node,
				   const struct pod_record *pod)
{
	const struct seen_pods *seen = seen_on(cluster, node);
	struct seen_pod wanted = {0};

	if (!seen || seen->n_pods == 0)
		return NULL;
	wanted.key = pod_key(
		cluster, intern_str(cluster->intern, namespace_at(cluster, pod->namespace)->name),
		intern_str(cluster->intern, pod->name));
	return bsearch(&wanted, seen->pods, seen->n_pods, sizeof(wanted), compare_pods);
}

/* The card of a layout, or LIMIT_LAYOUT_GPUS. */
static uint32_t card_of(struct str addresses, uint64_t id)
{
	for (uint32_t i = 0; i < addresses.len / sizeof(id); i++)
		if (memcmp(&addresses.data[i * sizeof(id)], &id, sizeof(id)) == 0)
			return i;
	return LIMIT_LAYOUT_GPUS;
}

uint64_t seen_cards(const struct cluster *cluster, const struct node_record *node,
		    const struct seen_pod *pod, uint32_t *ret_others)
{
	const struct seen_pods *seen = seen_on(cluster, node);
	struct str addresses = intern_str(cluster->intern, node->wires.addresses);
	uint64_t set = 0;

	*ret_others = pod->others;
	for (uint32_t i = 0; i < pod->n_cards; i++) {
		uint32_t card = card_of(addresses, seen->cards[pod->first_card + i]);

		if (card < LIMIT_LAYOUT_GPUS)
			set |= topo_set_of(card);
		else
			(*ret_others)++;
	}
	return set;
}

static const struct layout_record *layout_of(const struct cluster *cluster,
					     const struct node_record *node)
{
	return node->wires.layout == TABLE_NONE ? NULL : layout_at(cluster, node->wires.layout);
}

/* CPUs that are of both. */
static uint32_t overlap(struct cpu_range a, struct cpu_range b)
{
	uint32_t first = MAX(a.first, b.first), last = MIN(a.last, b.last);

	return last >= first ? last - first + 1 : 0;
}

uint64_t seen_numas(const struct cluster *cluster, const struct node_record *node,
		    const struct seen_pod *pod)
{
	const struct seen_pods *seen = seen_on(cluster, node);
	const struct layout_record *layout = layout_of(cluster, node);
	uint64_t numas = 0;

	for (uint32_t i = 0; layout && i < pod->n_cpus; i++)
		for (size_t k = 0; k < layout->n_cpus; k++)
			if (overlap(seen->pod_cpus[pod->first_cpu + i], layout->cpus[k].range) > 0)
				numas |= UINT64_C(1) << layout->cpus[k].numa;
	return numas;
}

/* Adds the CPUs of a range to what is pinned, or with @sign -1 takes them off. */
static void pin_range(const struct layout_record *layout, struct cpu_range range, int sign,
		      struct node_record *node)
{
	uint32_t left = overlap(range, range);

	for (size_t k = 0; layout && k < layout->n_cpus; k++) {
		uint32_t n = overlap(range, layout->cpus[k].range);

		if (layout->cpus[k].numa >= LIMIT_POLICY_NUMAS)
			continue;
		node->pinned[layout->cpus[k].numa] += n * (uint32_t)sign;
		left -= n;
	}
	node->pinned_somewhere += left * (uint32_t)sign;
}

void seen_pin(const struct cluster *cluster, struct node_record *node)
{
	const struct seen_pods *seen = seen_on(cluster, node);

	for (size_t i = 0; seen && i < seen->n_cpus; i++)
		pin_range(layout_of(cluster, node), seen->cpus[i], 1, node);
}

void seen_unpin(const struct cluster *cluster, struct node_record *node, const struct seen_pod *pod)
{
	const struct seen_pods *seen = seen_on(cluster, node);

	for (uint32_t i = 0; i < pod->n_cpus; i++)
		pin_range(layout_of(cluster, node), seen->pod_cpus[pod->first_cpu + i], -1, node);
}

/* The first of a pod; the others follow it. */
static const struct seen_use *uses_of(const struct seen_pods *seen, struct uid uid)
{
	size_t low = 0, high = seen->n_uses;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_uids(seen->uses[middle].uid, uid) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return &seen->uses[low];
}

uint32_t seen_card_of(const struct cluster *cluster, const struct node_record *node, uint64_t id)
{
	return card_of(intern_str(cluster->intern, node->wires.addresses), id);
}

const struct seen_use *seen_uses(const struct cluster *cluster, const struct node_record *node,
				 size_t *ret_n)
{
	const struct seen_pods *seen = seen_on(cluster, node);

	*ret_n = seen ? seen->n_uses : 0;
	return seen ? seen->uses : NULL;
}

const struct seen_use *seen_use_of(const struct cluster *cluster, const struct node_record *node,
				   struct uid uid, uint32_t card)
{
	const struct seen_pods *seen = seen_on(cluster, node);
	const struct seen_use *use = seen ? uses_of(seen, uid) : NULL;

	for (; use && use < seen->uses + seen->n_uses && uid_equal(use->uid, uid); use++)
		if (seen_card_of(cluster, node, use->card) == card)
			return use;
	return NULL;
}

static int64_t amounts_add(int64_t a, int64_t b)
{
	return a == AMOUNT_UNKNOWN || b == AMOUNT_UNKNOWN ? AMOUNT_UNKNOWN : saturating_add(a, b);
}

static int64_t sampled_us(const struct cluster *cluster, const struct node_record *node)
{
	return MAX(gpu_node_at(cluster, node->gpu_node)->seen_us,
		   agent_told_us(cluster, intern_str(cluster->intern, node->name)));
}

/* A card of its own where no process of it is proves nothing. */
static int64_t idle_since(const struct seen_pods *seen, const struct seen_pod *told, struct uid uid,
			  uint32_t cards)
{
	const struct seen_use *use = uses_of(seen, uid);
	int64_t since_us = 0;

	if (!told || told->others > 0 || told->n_cards != cards)
		return 0;
	for (uint32_t i = 0; i < cards; i++) {
		if (use[i].idle_us == 0)
			return 0;
		since_us = MAX(since_us, use[i].idle_us);
	}
	return since_us;
}

struct cluster_usage cluster_pod_usage(const struct cluster *cluster, uint32_t pod)
{
	const struct pod_record *record = pod_at(cluster, pod);
	const struct seen_pods *seen = NULL;
	struct cluster_usage usage = {0};

	if (record->node != TABLE_NONE)
		seen = seen_on(cluster, node_at(cluster, record->node));
	for (const struct seen_use *use = seen ? uses_of(seen, record->uid) : NULL;
	     use && use < seen->uses + seen->n_uses && uid_equal(use->uid, record->uid); use++) {
		usage.cards++;
		usage.memory = amounts_add(usage.memory, use->memory);
		usage.pcie = amounts_add(usage.pcie, use->pcie);
		usage.sm_percent = usage.sm_percent < 0 || use->sm_percent < 0
					   ? -1
					   : usage.sm_percent + use->sm_percent;
		usage.pcie_estimated |= use->pcie_estimated;
		usage.shared |= use->shared;
	}
	if (usage.cards == 0)
		return series_usage(cluster, record);
	usage.source = USAGE_AGENT;
	usage.idle_since_us =
		idle_since(seen, seen_pod_of(cluster, node_at(cluster, record->node), record),
			   record->uid, usage.cards);
	usage.sampled_us = sampled_us(cluster, node_at(cluster, record->node));
	return usage;
}

const char *usage_source_text(enum usage_source source)
{
	static const char *const texts[] = {
		[USAGE_UNTOLD] = "nobody",        [USAGE_AGENT] = "its node's agent",
		[USAGE_DCGM] = "DCGM's exporter", [USAGE_HAMI] = "HAMi's monitor",
		[USAGE_AMD] = "AMD's exporter",
	};

	return texts[source];
}
