/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The usual asks, learned from the pods that there are: a mix for each of the resources that most
 * of them ask for. Made anew where a thirty-second of the pods changed, so that what that costs is
 * shared by many pods.
 */
#include <stdlib.h>

#include "base/macros.h"
#include "base/mem.h"
#include "cluster/ledger/wants.h"
#include "place/internal.h"

#define WANTS_READ 8192 /* distinct requests; of more, the first that the cluster tells of */
#define RESOURCES  64   /* of these that are counted, likewise */
#define STALE_PART 32

/* How many pods ask for a resource. */
struct tally {
	uint32_t resource;
	uint64_t pods;
};

struct tallies {
	struct tally all[RESOURCES];
	size_t n;
	uint64_t pods;
};

static void count(struct tallies *tallies, uint32_t resource, uint32_t pods)
{
	size_t i = 0;

	while (i < tallies->n && tallies->all[i].resource != resource)
		i++;
	if (i == RESOURCES)
		return;
	if (i == tallies->n)
		tallies->all[tallies->n++] = (struct tally){resource, 0};
	tallies->all[i].pods += pods;
}

static int most_wanted_first(const void *pa, const void *pb)
{
	const struct tally *a = pa, *b = pb;

	if (a->pods != b->pods)
		return a->pods > b->pods ? -1 : 1;
	return a->resource < b->resource ? -1 : a->resource > b->resource;
}

static size_t count_all(const struct cluster *cluster, struct tallies *ret_tallies)
{
	size_t n = 0;

	*ret_tallies = (struct tallies){.n = 0};
	for (uint32_t at = cluster_want_next(cluster, 0); at != TABLE_NONE && n < WANTS_READ;
	     at = cluster_want_next(cluster, at + 1)) {
		struct cluster_want want;

		cluster_want(cluster, at, &want);
		for (size_t i = 0; i < want.n; i++)
			count(ret_tallies, want.cells[i]->resource, want.pods);
		ret_tallies->pods += want.pods;
		n++;
	}
	qsort(ret_tallies->all, ret_tallies->n, sizeof(ret_tallies->all[0]), most_wanted_first);
	return n;
}

/* --- one mix */

bool place_usual_ask(int64_t parts, int64_t units, int64_t devices, struct frag_ask *ret_ask)
{
	int64_t cards = parts == 1 ? units : MAX(devices, 1), milli = FRAG_WHOLE;

	if (parts < 1 || cards > LIMIT_LAYOUT_GPUS)
		return false;
	if (parts > 1) /* rounded up: what is left has to be enough */
		milli = units / cards >= parts
				? FRAG_WHOLE
				: (units * FRAG_WHOLE + cards * parts - 1) / (cards * parts);
	*ret_ask = (struct frag_ask){
		.cpu_milli = AMOUNT_UNKNOWN,
		.gpu_milli = (uint32_t)MAX(MIN(milli, (int64_t)FRAG_WHOLE), 1),
		.gpus = (uint32_t)cards,
	};
	return true;
}

uint64_t place_product_bit(const struct place_mix *mix, uint32_t product)
{
	for (uint32_t i = 0; i < mix->n_products; i++)
		if (mix->products[i] == product)
			return UINT64_C(1) << i;
	return 0;
}

/* The products that the resource is offered of, and how many units of each. */
static void set_products(struct place_mix *mix, const struct cluster_pool *pools, size_t n,
			 int64_t *ret_units)
{
	mix->n_products = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t bit = place_product_bit(mix, pools[i].product);

		if (pools[i].resource != mix->resource)
			continue;
		if (bit == 0 && mix->n_products < FRAG_PRODUCTS) {
			bit = UINT64_C(1) << mix->n_products;
			mix->products[mix->n_products++] = pools[i].product;
		}
		if (bit != 0)
			ret_units[__builtin_ctzll(bit)] += pools[i].units;
	}
}

/* False: of such a pod nothing can be said, or it wants a product that nobody offers. */
static bool ask_of(const struct place_mix *mix, const struct cluster_want *want,
		   const struct vector_cell *cell, struct frag_ask *ret_ask)
{
	if (cell->resource != mix->resource ||
	    !place_usual_ask(mix->parts, cell->count, cell->devices, ret_ask))
		return false;
	ret_ask->weight = want->pods;
	if (want->product != INTERN_EMPTY)
		ret_ask->products = place_product_bit(mix, want->product);
	return want->product == INTERN_EMPTY || ret_ask->products != 0;
}

/* What all nodes offer. */
struct pools {
	struct cluster_pool all[CLUSTER_POOLS];
	size_t n;
};

static void set_mix(struct place_mix *mix, const struct cluster *cluster, size_t n_wants,
		    const struct pools *pools)
{
	struct frag_ask *asks CLEANUP(mem_free) = mem_alloc_array(n_wants, sizeof(*asks));
	int64_t units[FRAG_PRODUCTS] = {0};
	uint32_t at = cluster_want_next(cluster, 0);
	size_t n = 0;

	mix->parts = cluster_card_parts(cluster, mix->resource);
	set_products(mix, pools->all, pools->n, units);
	for (size_t i = 0; i < n_wants; i++, at = cluster_want_next(cluster, at + 1)) {
		struct cluster_want want;
		bool found = false;

		cluster_want(cluster, at, &want);
		/* a resource may be there twice, as parts of other devices: one is enough */
		for (size_t k = 0; k < want.n && !found; k++)
			found = ask_of(mix, &want, want.cells[k], &asks[n]);
		n += found;
	}
	frag_mix_set(&mix->mix, asks, n);
	frag_mix_press(&mix->mix, units);
}

/* --- all of them */

static bool is_stale(const struct place_usual *usual, const struct cluster *cluster)
{
	return usual->made == 0 || usual->resources != cluster_resources_changed(cluster) ||
	       cluster_wants_changed(cluster) - usual->wants > usual->pods / STALE_PART;
}

void place_usual_refresh(struct place_usual *usual, const struct cluster *cluster)
{
	struct tallies tallies;
	struct pools pools;
	size_t n_wants;

	if (!is_stale(usual, cluster))
		return;
	n_wants = count_all(cluster, &tallies);
	pools.n = cluster_pools(cluster, pools.all, ARRAY_SIZE(pools.all));
	usual->n = (uint32_t)MIN(tallies.n, (size_t)PLACE_MIXES);
	for (uint32_t i = 0; i < usual->n; i++) {
		usual->mixes[i].resource = tallies.all[i].resource;
		set_mix(&usual->mixes[i], cluster, n_wants, &pools);
	}
	usual->pods = tallies.pods;
	usual->wants = cluster_wants_changed(cluster);
	usual->resources = cluster_resources_changed(cluster);
	usual->made++;
}

const struct place_mix *place_usual_of(const struct place_usual *usual, uint32_t resource)
{
	for (uint32_t i = 0; i < usual->n; i++)
		if (usual->mixes[i].resource == resource)
			return &usual->mixes[i];
	return NULL;
}
