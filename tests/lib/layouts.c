/* SPDX-License-Identifier: Apache-2.0 */
/* Machines are put together from the root down: NUMA nodes, ports and switches, cards, links. */
#include "layouts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define GEN4_X16 31500000000LL
#define NVLINK2  25000000000LL  /* one lane of a V100, in one direction */
#define NVSWITCH 150000000000LL /* of a DGX-2 */
#define NVLINK4  450000000000LL /* of an H100 */

static void start(struct machine *m, uint32_t n_numas)
{
	static const struct str cpus[MACHINE_NUMAS] = {
		{"0-7", 3},   {"8-15", 4},  {"16-23", 5}, {"24-31", 5},
		{"32-39", 5}, {"40-47", 5}, {"48-55", 5}, {"56-63", 5},
	};

	memset(m, 0, sizeof(*m));
	m->layout.writer = STR("test");
	m->layout.n_numas = n_numas;
	for (uint32_t i = 0; i < n_numas; i++) {
		m->numas[i] = (struct layout_numa){i, cpus[i], 8, 256 * GIB};
		for (uint32_t j = 0; j < n_numas; j++)
			m->distances[i * n_numas + j] = i == j ? 10 : 21;
	}
	m->layout.numas = m->numas;
	m->layout.distances = n_numas > 0 ? m->distances : NULL;
	m->layout.bridges = m->bridges;
	m->layout.gpus = m->gpus;
	m->layout.links = m->links;
}

/* Each thing has a bus of its own. */
static struct str address(struct machine *m)
{
	size_t bus = m->layout.n_bridges + m->layout.n_gpus;
	int len = snprintf(m->addresses[bus], sizeof(m->addresses[bus]), "0000:%02zx:00.0", bus);

	return (struct str){m->addresses[bus], (size_t)len};
}

static uint32_t add_bridge(struct machine *m, uint32_t parent)
{
	m->bridges[m->layout.n_bridges] = (struct layout_bridge){parent, address(m), GEN4_X16};
	return (uint32_t)m->layout.n_bridges++;
}

static void add_card(struct machine *m, uint32_t numa, uint32_t bridge)
{
	size_t i = m->layout.n_gpus;
	int len = snprintf(m->uuids[i], sizeof(m->uuids[i]), "GPU-%zu", i);

	m->gpus[i] = (struct layout_gpu){
		.uuid = {m->uuids[i], (size_t)len},
		.pci = address(m),
		.product = STR("NVIDIA-H100-80GB-HBM3"),
		.index = (uint32_t)i,
		.numa = numa,
		.bridge = bridge,
		.speed = GEN4_X16,
		.memory = 80 * GIB,
		.sharing = DEVICE_WHOLE,
		.health = LAYOUT_HEALTH_OK,
	};
	m->layout.n_gpus++;
}

static void add_link(struct machine *m, uint32_t a, uint32_t b, int64_t bandwidth)
{
	m->links[m->layout.n_links++] = (struct layout_link){a, b, bandwidth};
}

static void link_all(struct machine *m, int64_t bandwidth)
{
	for (uint32_t a = 0; a < m->layout.n_gpus; a++)
		for (uint32_t b = a + 1; b < m->layout.n_gpus; b++)
			add_link(m, a, b, bandwidth);
}

/* A root port, the switch below it, and @n cards. */
static void add_switch(struct machine *m, uint32_t numa, size_t n)
{
	uint32_t upstream = add_bridge(m, add_bridge(m, LAYOUT_NONE));

	for (size_t i = 0; i < n; i++)
		add_card(m, numa, add_bridge(m, upstream));
}

void machine_dgx2(struct machine *m)
{
	start(m, 2);
	for (uint32_t port = 0; port < 4; port++) {
		uint32_t upper = add_bridge(m, add_bridge(m, LAYOUT_NONE));

		for (uint32_t i = 0; i < 2; i++) {
			uint32_t leaf = add_bridge(m, upper);

			add_card(m, port / 2, leaf);
			add_card(m, port / 2, leaf);
		}
	}
	link_all(m, NVSWITCH);
}

void machine_dgx_h100(struct machine *m)
{
	start(m, 2);
	for (uint32_t i = 0; i < 8; i++)
		add_switch(m, i / 4, 1);
	link_all(m, NVLINK4);
}

void machine_pcie_box(struct machine *m)
{
	start(m, 2);
	for (uint32_t i = 0; i < 4; i++)
		add_switch(m, i / 2, 2);
}

void machine_dgx1(struct machine *m)
{
	static const struct {
		uint32_t a, b, lanes;
	} links[] = {
		{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1},
		{1, 5, 2}, {2, 3, 2}, {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1},
		{4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2},
	};

	start(m, 2);
	for (uint32_t i = 0; i < 4; i++)
		add_switch(m, i / 2, 2);
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		add_link(m, links[i].a, links[i].b, links[i].lanes * NVLINK2);
}

void machine_unknown(struct machine *m, size_t n)
{
	start(m, 0);
	for (size_t i = 0; i < n; i++)
		add_card(m, LAYOUT_NONE, LAYOUT_NONE);
	for (size_t i = 0; i < n; i++) {
		m->gpus[i].health = LAYOUT_HEALTH_UNKNOWN;
		m->gpus[i].memory = m->gpus[i].speed = AMOUNT_UNKNOWN;
		m->gpus[i].uuid = m->gpus[i].product = STR_NONE;
		m->gpus[i].index = LAYOUT_NONE;
		m->gpus[i].sharing = DEVICE_OTHER;
	}
}

/* --- random machines */

static uint32_t below(struct random *random, size_t bound)
{
	return (uint32_t)random_below(random, bound);
}

/* Something of @n, or nothing once in so many times. */
static uint32_t some(struct random *random, size_t n, size_t rarity)
{
	return n == 0 || below(random, rarity) == 0 ? LAYOUT_NONE : below(random, n);
}

static void random_links(struct machine *m, struct random *random)
{
	static const int64_t lanes[] = {NVLINK2, NVLINK2, 2 * NVLINK2, 1};
	uint32_t rarity = below(random, 4);

	for (uint32_t a = 0; rarity > 0 && a < m->layout.n_gpus; a++)
		for (uint32_t b = a + 1; b < m->layout.n_gpus; b++)
			if (below(random, rarity) == 0)
				add_link(m, a, b, lanes[below(random, 4)]);
}

static void random_distances(struct machine *m, struct random *random)
{
	static const uint32_t distances[] = {10, 12, 21, 255};
	size_t n = m->layout.n_numas;

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			m->distances[i * n + j] = m->distances[j * n + i] =
				distances[below(random, 4)];
	if (below(random, 8) == 0)
		m->layout.distances = NULL;
}

void machine_random(struct machine *m, struct random *random, size_t n)
{
	uint32_t rarity = 2 + below(random, 30);
	size_t n_gpus = 1 + below(random, n), n_bridges = below(random, 24);

	start(m, below(random, 5));
	random_distances(m, random);
	for (size_t i = 0; i < n_bridges; i++)
		add_bridge(m, some(random, i, 3));
	for (size_t i = 0; i < n_gpus; i++) {
		add_card(m, some(random, m->layout.n_numas, rarity),
			 some(random, n_bridges, rarity));
		if (below(random, 10) == 0)
			m->gpus[i].health = LAYOUT_HEALTH_FAILED;
	}
	random_links(m, random);
	m->layout.kubelet = (struct layout_kubelet){
		(enum layout_policy)below(random, LAYOUT_POLICY_SINGLE_NUMA + 1),
		below(random, 2) == 0, below(random, 3) > 0};
}

/* --- comparison */

static bool same_numas(const struct layout *a, const struct layout *b)
{
	if (a->n_numas != b->n_numas || !a->distances != !b->distances)
		return false;
	for (size_t i = 0; i < a->n_numas; i++) {
		const struct layout_numa *x = &a->numas[i], *y = &b->numas[i];

		if (x->id != y->id || !str_equal(x->cpus, y->cpus) || x->n_cpus != y->n_cpus ||
		    x->memory != y->memory)
			return false;
	}
	return !a->distances || a->n_numas == 0 ||
	       memcmp(a->distances, b->distances,
		      a->n_numas * a->n_numas * sizeof(*a->distances)) == 0;
}

static bool same_bridges(const struct layout *a, const struct layout *b)
{
	if (a->n_bridges != b->n_bridges)
		return false;
	for (size_t i = 0; i < a->n_bridges; i++) {
		const struct layout_bridge *x = &a->bridges[i], *y = &b->bridges[i];

		if (x->parent != y->parent || !str_equal(x->pci, y->pci) || x->speed != y->speed)
			return false;
	}
	return true;
}

static bool same_migs(const struct layout_gpu *a, const struct layout_gpu *b)
{
	if (a->n_migs != b->n_migs)
		return false;
	for (size_t i = 0; i < a->n_migs; i++)
		if (!str_equal(a->migs[i].profile, b->migs[i].profile) ||
		    a->migs[i].count != b->migs[i].count || a->migs[i].memory != b->migs[i].memory)
			return false;
	return true;
}

static bool same_gpu(const struct layout_gpu *a, const struct layout_gpu *b)
{
	if (!str_equal(a->uuid, b->uuid) || !str_equal(a->pci, b->pci) ||
	    !str_equal(a->product, b->product) || a->index != b->index || a->numa != b->numa ||
	    a->bridge != b->bridge || a->speed != b->speed || a->memory != b->memory)
		return false;
	return a->sharing == b->sharing && a->health == b->health && same_migs(a, b);
}

static bool same_links(const struct layout *a, const struct layout *b)
{
	if (a->n_links != b->n_links)
		return false;
	for (size_t i = 0; i < a->n_links; i++)
		if (a->links[i].a != b->links[i].a || a->links[i].b != b->links[i].b ||
		    a->links[i].bandwidth != b->links[i].bandwidth)
			return false;
	return true;
}

bool layouts_equal(const struct layout *a, const struct layout *b)
{
	if (!str_equal(a->writer, b->writer) || a->generation != b->generation ||
	    a->kubelet.policy != b->kubelet.policy ||
	    a->kubelet.pod_scope != b->kubelet.pod_scope ||
	    a->kubelet.static_cpu != b->kubelet.static_cpu || a->n_gpus != b->n_gpus)
		return false;
	for (size_t i = 0; i < a->n_gpus; i++)
		if (!same_gpu(&a->gpus[i], &b->gpus[i]))
			return false;
	return same_numas(a, b) && same_bridges(a, b) && same_links(a, b);
}
