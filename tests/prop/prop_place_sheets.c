/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories of all that placement reads: nodes, what agents tell and whether they live,
 * pods and what kubelet tells of them, assumptions, room that is held by receipts, TenantQoS,
 * quotas, claims, slices and classes. After each of them a memory that lives as long as the cluster
 * answers as one that is new does, and rooms that were kept up to date are what they are when they
 * are worked out anew.
 *
 * GPUQOS_SEED=n repeats one history, GPUQOS_SOAK=1 runs many more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "cluster/internal.h"
#include "cluster/nodes/agents.h"
#include "cluster/nodes/gpunodes.h"
#include "cluster/placing/assume.h"
#include "cluster/placing/reserve.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "lib/layouts.h"
#include "lib/team.h"
#include "place/place.h"

#define HISTORIES      120
#define SOAK_HISTORIES 5000
#define STEPS          160
#define ASKED_A_STEP   2
#define START_US       (1000000 * USEC_PER_SEC)

enum { NODES = 3, CARDS = 6, PODS = 10, SPACES = 3, TENANTS = 2, SLICES = 2, CLAIMS = 2 };

static const char *const resources[] = {"nvidia.com/gpu", "nvidia.com/mig-1g.10gb",
					"deviceclass.resource.kubernetes.io/class-0",
					"nvidia.com/gpumem-percentage"};
static const char *const products[] = {"", "H100", "A100"};

struct world {
	struct random random;
	uint64_t seed, step, version;
	int64_t now_us;
	struct cluster *cluster;
	struct machine machines[NODES];
	struct place_memory memory, fresh;
	struct placement_weights weights;
	struct arena arena;
};

static struct world world;
static size_t fitted, refused;

static uint32_t below(struct world *w, uint32_t bound)
{
	return (uint32_t)random_below(&w->random, bound);
}

static bool chance(struct world *w, uint32_t one_in)
{
	return below(w, one_in) == 0;
}

struct name {
	char text[64];
};

static struct name name_of(const char *kind, uint32_t number)
{
	struct name name;

	snprintf(name.text, sizeof(name.text), "%s-%u", kind, number);
	return name;
}

static void drop(struct world *w, enum cluster_kind kind, struct str namespace, struct str name)
{
	cluster_delete(w->cluster, kind, namespace, name);
}

/* --- nodes, and what agents tell */

static void change_node(struct world *w)
{
	uint32_t n = below(w, NODES);
	struct name name = name_of("node", n);
	struct machine *machine = &w->machines[n];
	int64_t cards;
	struct device_offer offers[2] = {{.resource = str_from(resources[0]),
					  .product = str_from(products[1 + below(w, 2)]),
					  .unit_memory = 80 * GIB,
					  .sharing = DEVICE_WHOLE},
					 {.resource = str_from(resources[chance(w, 2) ? 1 : 3]),
					  .product = STR("A100"),
					  .unit_memory = 10 * GIB,
					  .count = 7,
					  .allocatable = 7,
					  .sharing = DEVICE_MIG}};
	struct node_facts facts = {.name = str_from(name.text),
				   .uid = str_from(name.text),
				   .resource_version = ++w->version,
				   .ready = (enum node_ready)below(w, 2),
				   .reconfiguring = chance(w, 8),
				   .reserved_cpus = below(w, 2),
				   .offers = offers,
				   .n_offers = below(w, 3),
				   .layout_state = LAYOUT_IS_ABSENT};

	if (chance(w, 8)) {
		drop(w, CLUSTER_NODES, STR_NONE, str_from(name.text));
		return;
	}
	if (chance(w, 3))
		machine_random(machine, &w->random, CARDS);
	machine->layout.writer = chance(w, 2) ? STR("gpuqos-agent/1") : STR("else");
	cards = (int64_t)machine->layout.n_gpus + (chance(w, 6) ? 1 : 0);
	offers[0].count = cards;
	offers[0].allocatable = cards - (chance(w, 4) && cards > 0 ? 1 : 0);
	if (str_equal(offers[1].resource, str_from(resources[3])))
		offers[1].sharing = DEVICE_FRACTION;
	if (!chance(w, 5)) {
		facts.layout = &machine->layout;
		facts.layout_state = LAYOUT_IS_KNOWN;
	}
	assert_int_equal(cluster_apply_node(w->cluster, &facts, NULL), 0);
}

static void change_agent(struct world *w)
{
	struct name lease = name_of("gpuqos-agent-node", below(w, NODES));
	int64_t next_us;
	struct agent_facts facts = {.name = str_from(lease.text),
				    .holder = str_from(chance(w, 4) ? "else" : lease.text + 13),
				    .resource_version = ++w->version,
				    .renew_us = w->now_us,
				    .duration_us = 40 * USEC_PER_SEC};

	if (chance(w, 5))
		cluster_expire_agents(w->cluster, w->now_us, &next_us);
	else if (chance(w, 8))
		drop(w, CLUSTER_AGENTS, STR_NONE, str_from(lease.text));
	else
		assert_int_equal(cluster_apply_agent(w->cluster, &facts, w->now_us, NULL), 0);
}

static void change_gpu_node(struct world *w)
{
	uint32_t n = below(w, NODES);
	struct name name = name_of("node", n), names[2], spaces[2], uids[2];
	const struct machine *machine = &w->machines[n];
	struct str cards[2][2];
	struct cpu_range cpus[2];
	struct gpu_node_pod pods[2];
	struct gpu_node_use uses[2];
	struct gpu_node_facts facts = {.name = str_from(name.text),
				       .resource_version = ++w->version,
				       .pods = pods,
				       .n_pods = below(w, 3),
				       .uses = uses,
				       .n_uses = below(w, 3),
				       .cpus = cpus,
				       .n_cpus = below(w, 3)};

	if (chance(w, 8)) {
		drop(w, CLUSTER_GPU_NODES, STR_NONE, str_from(name.text));
		return;
	}
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t p = below(w, PODS);

		names[i] = name_of("pod", p);
		spaces[i] = name_of("space", p % SPACES);
		uids[i] = name_of("uid", p);
		for (uint32_t k = 0; k < 2; k++)
			cards[i][k] =
				machine->layout.n_gpus > 0
					? machine->gpus[below(w, (uint32_t)machine->layout.n_gpus)]
						  .pci
					: STR("0000:ff:00.0");
		cpus[i].first = (uint16_t)(i * 16 + below(w, 8));
		cpus[i].last = (uint16_t)(cpus[i].first + below(w, 8));
		pods[i] = (struct gpu_node_pod){.namespace = str_from(spaces[i].text),
						.name = str_from(names[i].text),
						.cards = cards[i],
						.n_cards = below(w, 3),
						.others = chance(w, 6),
						.cpus = &cpus[i],
						.n_cpus = i < facts.n_cpus};
		uses[i] = (struct gpu_node_use){
			.card = cards[i][0],
			.uid = chance(w, 4) ? STR_NONE : str_from(uids[i].text),
			.memory = GIB,
			.pcie = chance(w, 4) ? AMOUNT_UNKNOWN : below(w, 64) * 1000000000LL,
			.sm_percent = 50};
	}
	assert_int_equal(cluster_apply_gpu_node(w->cluster, &facts, w->now_us, NULL), 0);
}

/* --- pods */

static size_t fill_asks(struct world *w, struct device_ask *asks)
{
	size_t n = 0;

	for (size_t r = 0; r < ARRAY_SIZE(resources); r++)
		if (r == 0 ? !chance(w, 4) : chance(w, 5))
			asks[n++] = device_ask_units(str_from(resources[r]), 1 + below(w, 3));
	return n;
}

static void change_pod(struct world *w)
{
	uint32_t p = below(w, PODS), n = below(w, NODES);
	struct name name = name_of("pod", p), space = name_of("space", p % SPACES);
	struct name uid = name_of("uid", chance(w, 4) ? p + PODS : p), node = name_of("node", n);
	struct name claim = name_of("claim", below(w, CLAIMS));
	struct str named = str_from(claim.text), id = STR("no-card");
	struct device_ask asks[ARRAY_SIZE(resources)];
	struct container_facts container = {CONTAINER_NORMAL, asks, fill_asks(w, asks)};
	struct pod_facts facts = {.namespace = str_from(space.text),
				  .name = str_from(name.text),
				  .uid = str_from(uid.text),
				  .resource_version = ++w->version,
				  .node = chance(w, 2) ? str_from(node.text) : STR_NONE,
				  .product = str_from(products[chance(w, 4) ? 1 + below(w, 2) : 0]),
				  .phase = chance(w, 8) ? POD_FAILED : POD_RUNNING,
				  .terminating = chance(w, 6),
				  .created_us = w->now_us,
				  .owner_kind = STR("Job"),
				  .owner_name = STR("work"),
				  .extended_claim = chance(w, 6) ? named : STR_NONE,
				  .containers = &container,
				  .n_containers = 1,
				  .claims = &named,
				  .n_claims = chance(w, 4),
				  .alignment = {.guaranteed = !chance(w, 3),
						.whole_cpus = !chance(w, 3),
						.cpus = below(w, 6),
						.cpus_together = chance(w, 2),
						.takes_over = chance(w, 8),
						.wished = chance(w, 2),
						.policy = (enum topology_policy)below(w, 3),
						.scoped = chance(w, 2),
						.scope = (enum layout_scope)below(w, 3)},
				  .pcie = chance(w, 3) ? below(w, 64) * 1000000000LL : 0,
				  .device_ids = &id,
				  .n_device_ids = chance(w, 3)};

	if (chance(w, 6)) {
		drop(w, CLUSTER_PODS, str_from(space.text), str_from(name.text));
		return;
	}
	if (w->machines[n].layout.n_gpus > 0)
		id = w->machines[n].gpus[below(w, (uint32_t)w->machines[n].layout.n_gpus)].uuid;
	assert_int_equal(cluster_apply_pod(w->cluster, &facts, NULL), 0);
}

static uint32_t pod_handle(const struct world *w, uint32_t p)
{
	struct name name = name_of("pod", p), space = name_of("space", p % SPACES);

	return pod_find(w->cluster, str_from(space.text), str_from(name.text));
}

static void change_assumption(struct world *w)
{
	uint32_t pod = pod_handle(w, below(w, PODS));
	struct name name = name_of("node", below(w, NODES));
	uint32_t node = cluster_node_find(w->cluster, str_from(name.text));
	int64_t next_us;

	if (chance(w, 3))
		cluster_expire_assumptions(w->cluster, w->now_us, &next_us);
	if (pod == TABLE_NONE || node == TABLE_NONE)
		return;
	if (chance(w, 3))
		cluster_unassume(w->cluster, pod);
	else
		cluster_assume(w->cluster, pod, node, below(w, 1U << CARDS),
			       w->now_us + 20 * USEC_PER_SEC);
}

/* --- namespaces, quotas, tenants, holds */

static void change_space(struct world *w)
{
	uint32_t s = below(w, SPACES);
	struct name name = name_of("space", s), tenant = name_of("tenant", below(w, TENANTS));
	struct label label = {STR("team"), str_from(tenant.text)};
	struct namespace_facts facts = {.name = str_from(name.text),
					.uid = str_from(name.text),
					.resource_version = ++w->version,
					.labels = &label,
					.n_labels = !chance(w, 4)};
	struct quota_facts quota = {
		.namespace = str_from(name.text),
		.name = STR("q"),
		.uid = STR("q"),
		.resource_version = ++w->version,
		.spec = {.gpu_memory = below(w, 12) * 80 * GIB,
			 .gpus = chance(w, 2) ? AMOUNT_NONE : (int64_t)below(w, 9),
			 .pod_gpu_memory = AMOUNT_NONE,
			 .pod_gpus = AMOUNT_NONE},
		.has_status = true,
		.status = {.granted = 1000 * GIB,
			   .effective = 1000 * GIB,
			   .granted_gpus = 100,
			   .effective_gpus = 100,
			   .tenant = str_from(tenant.text)}};

	if (chance(w, 6)) {
		drop(w, CLUSTER_QUOTAS, facts.name, STR("q"));
		return;
	}
	assert_int_equal(cluster_apply_namespace(w->cluster, &facts, NULL), 0);
	assert_int_equal(cluster_apply_quota(w->cluster, &quota, NULL), 0);
}

static void change_tenant(struct world *w)
{
	struct name name = name_of("tenant", below(w, TENANTS)), node;
	struct name pod = name_of("pod", below(w, PODS)), uid = name_of("uid", below(w, PODS));
	struct name space = name_of("space", below(w, SPACES));
	struct str value = str_from(name.text);
	struct label_requirement requirement = {STR("team"), LABEL_IN, &value, 1};
	struct receipt receipt;
	struct tenant_facts facts = {
		.name = value,
		.uid = value,
		.resource_version = ++w->version,
		.spec = {.namespaces = {&requirement, 1},
			 .tier = (enum tenant_tier)below(w, 3),
			 .ceiling = chance(w, 2) ? AMOUNT_NONE : below(w, 12) * 80 * GIB,
			 .ceiling_gpus = AMOUNT_NONE,
			 .topology = {(enum topology_policy)below(w, 3),
				      (enum layout_scope)below(w, 3), MISMATCH_MIGRATE}},
		.has_status = true,
		.status = {.receipts = &receipt, .n_receipts = below(w, 2)}};

	node = name_of("node", below(w, NODES));
	receipt = (struct receipt){.id = STR("r"),
				   .cause = (enum receipt_cause)below(w, RECEIPT_CAUSE_COUNT),
				   .outcome = chance(w, 4) ? RECEIPT_HELPED : RECEIPT_ISSUED,
				   .at_us = chance(w, 8) ? INT64_MAX : w->now_us,
				   .beneficiary = {.namespace = str_from(space.text),
						   .name = str_from(pod.text),
						   .uid = str_from(uid.text),
						   .owner = STR("Job/work")},
				   .node = str_from(node.text),
				   .cards = below(w, 1U << CARDS),
				   .held_until_us = chance(w, 6) ? INT64_MAX
								 : w->now_us + 60 * USEC_PER_SEC};
	if (chance(w, 8))
		drop(w, CLUSTER_TENANTS, STR_NONE, value);
	else
		assert_int_equal(cluster_apply_tenant(w->cluster, &facts, NULL), 0);
}

static void expire_holds(struct world *w)
{
	int64_t next_us;

	cluster_expire_holds(w->cluster, w->now_us, &next_us);
	if (next_us != TIME_NEVER && next_us > w->now_us + RECEIPT_AHEAD_US + RECEIPT_OPEN_MOST_US)
		fail_msg("seed %llu, step %llu: room is held for ever", (unsigned long long)w->seed,
			 (unsigned long long)w->step);
}

/* --- devices of ResourceClaims */

static void change_slice(struct world *w)
{
	uint32_t s = below(w, SLICES), n = below(w, NODES);
	struct name name = name_of("slice", s), node = name_of("node", n);
	struct str owner = chance(w, 4) ? STR_NONE : str_from(node.text);
	struct slice_device devices[2];
	struct slice_facts facts = {.name = str_from(name.text),
				    .uid = str_from(name.text),
				    .resource_version = ++w->version,
				    .driver = STR("gpu.a"),
				    .pool = str_from(name.text),
				    .generation = 1,
				    .slice_count = 1,
				    .node = owner,
				    .devices = devices,
				    .n_devices = below(w, 3)};

	if (chance(w, 5)) {
		drop(w, CLUSTER_SLICES, STR_NONE, str_from(name.text));
		return;
	}
	for (uint32_t i = 0; i < 2; i++)
		devices[i] = (struct slice_device){
			.name = i ? STR("device-1") : STR("device-0"),
			.type = STR("gpu"),
			.product = str_from(products[below(w, 3)]),
			.node = owner,
			.memory = chance(w, 4) ? AMOUNT_UNKNOWN : 80 * GIB,
			.address = w->machines[n].layout.n_gpus > i ? w->machines[n].gpus[i].pci
								    : STR_NONE};
	assert_int_equal(cluster_apply_slice(w->cluster, &facts, NULL), 0);
}

static void change_class(struct world *w)
{
	struct class_facts facts = {.name = STR("class-0"),
				    .uid = STR("class-0"),
				    .resource_version = ++w->version,
				    .extended_resource =
					    chance(w, 3) ? str_from(resources[0]) : STR_NONE,
				    .driver = chance(w, 2) ? STR("gpu.a") : STR_NONE,
				    .type_domain = STR("gpu.a"),
				    .type = chance(w, 3) ? STR("mig") : STR("gpu")};

	if (chance(w, 4))
		drop(w, CLUSTER_CLASSES, STR_NONE, facts.name);
	else
		assert_int_equal(cluster_apply_class(w->cluster, &facts, NULL), 0);
}

static void change_claim(struct world *w)
{
	struct name name = name_of("claim", below(w, CLAIMS)), pool = name_of("slice", below(w, 2));
	struct name space = name_of("space", below(w, SPACES)),
		    owner = name_of("pod", below(w, PODS));
	struct name uid = name_of("uid", below(w, PODS));
	struct claim_choice choice = {STR("class-0"), 1};
	struct claim_request request = {&choice, 1, false};
	struct claim_device device = {.driver = STR("gpu.a"),
				      .pool = str_from(pool.text),
				      .device = chance(w, 2) ? STR("device-0") : STR("device-1"),
				      .class = STR("class-0"),
				      .consumed_memory = AMOUNT_NONE};
	bool owned = chance(w, 2);
	struct claim_facts facts = {.namespace = str_from(space.text),
				    .name = str_from(name.text),
				    .uid = str_from(name.text),
				    .resource_version = ++w->version,
				    .owner_kind = owned ? STR("Pod") : STR_NONE,
				    .owner_name = owned ? str_from(owner.text) : STR_NONE,
				    .owner_uid = owned ? str_from(uid.text) : STR_NONE,
				    .says_extended = owned,
				    .requests = &request,
				    .n_requests = 1,
				    .numa_together = chance(w, 3),
				    .allocated = !chance(w, 3),
				    .devices = &device,
				    .n_devices = 1};

	if (chance(w, 5))
		drop(w, CLUSTER_CLAIMS, facts.namespace, facts.name);
	else
		assert_int_equal(cluster_apply_claim(w->cluster, &facts, NULL), 0);
}

/* --- asking */

static void add_room(const struct world *w, uint32_t node, struct buf *buf)
{
	struct cluster_room room = cluster_room(w->cluster, node);

	buf_printf(buf, "; held: %llx %llx %llx, CPUs %u %u %u", (unsigned long long)room.seen,
		   (unsigned long long)room.assumed, (unsigned long long)room.leaving,
		   room.pinned_somewhere, room.pinned[0], room.pinned[1]);
}

/* All that is said of a node to a pod, as text, and what it is said by. */
static void answer(struct world *w, struct place_memory *memory, uint32_t pod, uint32_t node,
		   struct buf *buf)
{
	struct place_tools tools = {w->cluster, &w->weights, memory, &w->arena, NULL};
	struct cluster_ask ask;
	struct place place;
	struct place_answer found;
	struct place_score score;

	cluster_ask_of_pod(w->cluster, pod, &ask);
	place_begin(&place, &tools, &ask);
	found = place_fit(&place, node);
	buf_printf(buf, "%s: ", place_reason(found.verdict));
	place_describe(&place, found, buf);
	found = place_allows(&place, node);
	buf_printf(buf, "; allowed: %s", place_reason(found.verdict));
	add_room(w, node, buf);
	if (!cluster_node_exists(w->cluster, node))
		return;
	score = place_score(&place, node);
	buf_printf(buf, "; %lld = %lld %lld %lld %lld, cards %llx", (long long)score.total,
		   (long long)score.alignment, (long long)score.nvlink, (long long)score.pcie,
		   (long long)score.fragmentation, (unsigned long long)place_cards(&place, node));
}

static void check_same(const struct world *w, const struct buf *a, const struct buf *b,
		       const char *what)
{
	if (!str_equal(buf_str(a), buf_str(b)))
		fail_msg("seed %llu, step %llu: %s:\n  %.*s\n  %.*s", (unsigned long long)w->seed,
			 (unsigned long long)w->step, what, STR_ARGS(buf_str(a)),
			 STR_ARGS(buf_str(b)));
}

static void ask_one(struct world *w, uint32_t pod, uint32_t node, bool anew)
{
	struct buf said CLEANUP(buf_clear) = {0}, fresh CLEANUP(buf_clear) = {0};

	buf_init(&said, 1 << 16);
	buf_init(&fresh, 1 << 16);
	arena_reset(&w->arena);
	answer(w, &w->memory, pod, node, &said);
	answer(w, &w->fresh, pod, node, &fresh);
	check_same(w, &said, &fresh, "what is remembered is not so any more");
	fitted += str_starts_with(buf_str(&said), STR("Fits"));
	refused += !str_starts_with(buf_str(&said), STR("Fits"));
	if (!anew)
		return;
	room_refresh(w->cluster, node);
	place_memory_clear(&w->fresh);
	buf_reset(&fresh);
	answer(w, &w->fresh, pod, node, &fresh);
	check_same(w, &said, &fresh, "the room is another when worked out anew");
}

static void ask_some(struct world *w)
{
	place_memory_clear(&w->fresh);
	for (int i = 0; i < ASKED_A_STEP; i++) {
		uint32_t pod = pod_handle(w, below(w, PODS));

		for (uint32_t n = 0; n < NODES && pod != TABLE_NONE; n++) {
			struct name name = name_of("node", n);
			uint32_t node = cluster_node_find(w->cluster, str_from(name.text));

			if (node != TABLE_NONE)
				ask_one(w, pod, node, chance(w, 6));
		}
	}
}

static void (*const changes[])(struct world *) = {
	change_node,       change_agent, change_gpu_node, change_gpu_node,
	change_pod,        change_pod,   change_pod,      change_pod,
	change_assumption, change_space, change_tenant,   change_tenant,
	expire_holds,      change_slice, change_class,    change_claim};

static void play(struct world *w, uint64_t seed)
{
	const struct hash_key key = {seed, 7};

	w->seed = seed;
	random_init(&w->random, seed);
	w->cluster = cluster_new(&key);
	w->now_us = START_US;
	w->weights = PLACEMENT_WEIGHTS_DEFAULT;
	for (int n = 0; n < NODES; n++)
		machine_random(&w->machines[n], &w->random, CARDS);
	for (w->step = 0; w->step < STEPS; w->step++) {
		w->now_us += below(w, 10) * USEC_PER_SEC;
		changes[below(w, ARRAY_SIZE(changes))](w);
		team_refresh(w->cluster);
		ask_some(w);
	}
	cluster_free(w->cluster);
	place_memory_clear(&w->memory);
	place_memory_clear(&w->fresh);
}

static void what_is_remembered_is_what_is_so(void **state)
{
	const char *seed = getenv("GPUQOS_SEED");
	uint64_t n = getenv("GPUQOS_SOAK") ? SOAK_HISTORIES : HISTORIES;

	(void)state;
	arena_init(&world.arena, 16 << 20);
	if (seed)
		play(&world, strtoull(seed, NULL, 10));
	for (uint64_t i = 1; i <= n && !seed; i++)
		play(&world, i);
	arena_clear(&world.arena);
	if (!seed && (fitted < 100 || refused < 100))
		fail_msg("%zu fitted, %zu did not: nothing was looked at", fitted, refused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_remembered_is_what_is_so)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
