/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes and quotas that change. */
#include "lib/place_history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "cluster/cluster.h"

static bool is_in_use(const struct history *h, int n)
{
	for (int p = 0; p < PODS; p++) {
		const struct history_pod *pod = &h->pods[p];

		if (pod->exists && ((pod->node == n && !pod->finished) ||
				    history_view_node(pod) == n || pod->told_node == n))
			return true;
	}
	return false;
}

static void build_machine(struct history *h, struct history_node *node)
{
	switch (history_below(h, 6)) {
	case 0:
		machine_dgx2(&node->machine);
		break;
	case 1:
		machine_dgx_h100(&node->machine);
		break;
	case 2:
		machine_dgx1(&node->machine);
		break;
	case 3:
		machine_pcie_box(&node->machine);
		break;
	case 4:
		machine_unknown(&node->machine, 4);
		break;
	default:
		machine_random(&node->machine, &h->random, 10);
		break;
	}
}

static void register_units(struct history *h, struct history_node *node)
{
	struct kubelet_resource *cards = &node->kubelet.resources[KUBELET_CARDS];
	struct kubelet_resource *parts = &node->kubelet.resources[KUBELET_PARTS];
	uint64_t all = history_cards_below(node->machine.layout.n_gpus);
	uint32_t unit = 0;

	node->cut = history_chance(h, 4)
			    ? all & random_u64(&h->random) & random_u64(&h->random) & 0x5555
			    : 0;
	*cards = *parts = (struct kubelet_resource){0};
	cards->registered = all & ~node->cut;
	for (uint32_t card = 0; card < node->machine.layout.n_gpus; card++) {
		cards->numa[card] = node->machine.gpus[card].numa;
		for (int i = 0; node->cut >> card & 1 && i < PARTS_OF_CARD; i++) {
			parts->registered |= UINT64_C(1) << unit;
			parts->numa[unit++] = node->machine.gpus[card].numa;
		}
	}
	parts->healthy = UINT64_MAX;
}

/* What of the failed cards the device plugin withdraws. */
static void withdraw(struct history_node *node)
{
	struct kubelet_resource *cards = &node->kubelet.resources[KUBELET_CARDS];

	cards->healthy = UINT64_MAX;
	for (uint32_t card = 0; card < node->machine.layout.n_gpus; card++)
		if (node->withdraws && node->machine.gpus[card].health == LAYOUT_HEALTH_FAILED)
			cards->healthy &= ~(UINT64_C(1) << card);
}

static void set_kubelet(struct history *h, struct history_node *node)
{
	node->kubelet.settings = (struct layout_kubelet){
		(enum layout_policy)(LAYOUT_POLICY_NONE + history_below(h, 4)),
		history_chance(h, 2), !history_chance(h, 3)};
	if (history_chance(h, 2))
		node->kubelet.settings.policy = LAYOUT_POLICY_SINGLE_NUMA;
	node->policy_told = !history_chance(h, 8);
}

/* Plenty, or so few that they run out before the cards do. */
static void add_cpus(struct history *h, struct history_node *node)
{
	struct kubelet_model *kubelet = &node->kubelet;
	uint32_t each = history_chance(h, 2) ? 64 : 4 + history_below(h, 6);

	kubelet->n_numas = (uint32_t)MAX(node->machine.layout.n_numas, 1u);
	node->reserved_cpus = history_chance(h, 2) ? history_below(h, 3) : 0;
	for (uint32_t numa = 0; numa < kubelet->n_numas; numa++) {
		if (numa < node->machine.layout.n_numas && node->machine.numas[numa].n_cpus > 0)
			node->machine.numas[numa].n_cpus = each;
		kubelet->cpus[numa] = kubelet->free_cpus[numa] =
			numa < node->machine.layout.n_numas ? node->machine.numas[numa].n_cpus
							    : each;
	}
	for (uint32_t i = 0; i < node->reserved_cpus; i++)
		kubelet->free_cpus[history_below(h, kubelet->n_numas)]--;
}

void history_new_machine(struct history *h, struct history_node *node)
{
	build_machine(h, node);
	add_cpus(h, node);
	node->withdraws = !history_chance(h, 3);
	node->card_bytes = history_chance(h, 3) ? 40 * GIB : 80 * GIB;
	node->published = !history_chance(h, 5);
	register_units(h, node);
	set_kubelet(h, node);
	withdraw(node);
}

static void fail_or_mend(struct history *h, struct history_node *node)
{
	struct layout_gpu *gpu =
		&node->machine.gpus[history_below(h, (uint32_t)node->machine.layout.n_gpus)];

	gpu->health = gpu->health == LAYOUT_HEALTH_FAILED || history_chance(h, 2)
			      ? LAYOUT_HEALTH_OK
			      : LAYOUT_HEALTH_FAILED;
	withdraw(node);
}

void history_change_node(struct history *h)
{
	int n = (int)history_below(h, NODES);
	struct history_node *node = &h->nodes[n];
	struct history_name name = history_name_of("node", n);

	if (node->exists && history_chance(h, 6)) {
		node->exists = false;
		cluster_delete(h->cluster, CLUSTER_NODES, STR_NONE, str_from(name.text));
		return;
	}
	node->exists = true;
	if (!is_in_use(h, n) && history_chance(h, 3))
		history_new_machine(h, node);
	else if (history_chance(h, 3))
		node->published = !node->published;
	else if (node->n_queue == 0 && history_chance(h, 2))
		fail_or_mend(h, node);
	else if (node->n_queue == 0)
		set_kubelet(h, node);
	history_tell_node(h, h->cluster, n);
}

/* --- quotas */

void history_set_space(struct history *h, int s)
{
	struct history_space *space = &h->spaces[s];

	space->tenant = s < 2 ? -1 : s % TENANTS;
	space->has_quota = s > 0;
	space->bytes = (1 + history_below(h, 30)) * 40 * GIB;
	space->gpus = history_chance(h, 2) ? AMOUNT_NONE : 1 + history_below(h, 16);
}

void history_set_tenant(struct history *h, int t)
{
	h->tenants[t] = (struct history_tenant){
		.bytes = history_chance(h, 3) ? AMOUNT_NONE : (1 + history_below(h, 40)) * 40 * GIB,
		.gpus = history_chance(h, 2) ? AMOUNT_NONE : 1 + history_below(h, 20),
		.topology = {(enum topology_policy)history_below(h, 3),
			     (enum layout_scope)history_below(h, 3), MISMATCH_ALERT},
	};
}

void history_change_quota(struct history *h)
{
	int s = (int)history_below(h, SPACES), t = (int)history_below(h, TENANTS);

	history_set_space(h, s);
	history_tell_space(h, h->cluster, s);
	if (!history_chance(h, 3))
		return;
	history_set_tenant(h, t);
	history_tell_tenant(h, h->cluster, t);
}
