/* SPDX-License-Identifier: Apache-2.0 */
/* Every draw counts: one more or less, and nothing that was published comes out. */
#include "sim/arrivals.h"

#include <string.h>

#include "base/mem.h"

#define DRAWN_BEFORE     1  /* for its log */
#define DRAWN_BY_WATCHES 10 /* their time-outs have jitter */

struct draw {
	struct sim_arrivals *arrivals;
	const struct sim_input *input;
	size_t capacity;
	int64_t demand, wanted; /* millicards */
};

static const struct frag_ask *ask_of(const struct draw *d, uint32_t pod)
{
	return &d->input->asks[d->input->pods[pod].ask];
}

static void append(struct draw *d, uint32_t pod)
{
	struct sim_arrivals *a = d->arrivals;

	mem_grow((void **)&a->pods, &d->capacity, a->n_pods + 1, sizeof(a->pods[0]));
	a->pods[a->n_pods++] = pod;
	d->demand += sim_ask_milli(ask_of(d, pod));
}

/* That one card, not all that a pod asks for, is held against what is wanted is the protocol's. */
static void add_pods(struct draw *d)
{
	struct sim_arrivals *a = d->arrivals;

	while (a->n_pods < SIM_ARRIVALS) {
		uint32_t pod = gorand_below(&a->rand, (uint32_t)d->input->n_pods);

		if (d->demand + (int64_t)ask_of(d, pod)->gpu_milli > d->wanted)
			return;
		append(d, pod);
	}
}

static void take_pods_out(struct draw *d)
{
	struct sim_arrivals *a = d->arrivals;

	while (d->demand > d->wanted) {
		uint32_t at = gorand_below(&a->rand, (uint32_t)a->n_pods);

		d->demand -= sim_ask_milli(ask_of(d, a->pods[at]));
		a->n_pods--;
		memmove(&a->pods[at], &a->pods[at + 1], (a->n_pods - at) * sizeof(a->pods[0]));
	}
}

static void draw_pods(struct draw *d)
{
	for (uint32_t pod = 0; pod < d->input->n_pods; pod++)
		append(d, pod);
	gorand_shuffle(&d->arrivals->rand, d->arrivals->pods, (uint32_t)d->arrivals->n_pods);
	/* A list of pods without GPUs never comes to any demand. */
	if (d->demand == 0)
		return;
	if (d->demand > d->wanted)
		take_pods_out(d);
	else if (d->demand < d->wanted)
		add_pods(d);
}

static void skip(struct gorand *rand, int numbers)
{
	for (int i = 0; i < numbers; i++)
		(void)gorand_int63(rand);
}

void sim_arrivals_draw(struct sim_arrivals *arrivals, const struct gorand_table *table,
		       const struct sim_input *input, int64_t seed)
{
	struct draw d = {.arrivals = arrivals, .input = input};

	*arrivals = (struct sim_arrivals){0};
	gorand_init(&arrivals->rand, table, seed);
	d.wanted = sim_input_cards(input) * FRAG_WHOLE * SIM_ARRIVALS_PERCENT / 100;
	skip(&arrivals->rand, DRAWN_BEFORE);
	draw_pods(&d);
	skip(&arrivals->rand, DRAWN_BY_WATCHES);
	arrivals->ranks = mem_alloc_array(input->n_nodes, sizeof(arrivals->ranks[0]));
	gorand_permute(&arrivals->rand, arrivals->ranks, (uint32_t)input->n_nodes);
}

void sim_arrivals_clear(struct sim_arrivals *arrivals)
{
	mem_free(arrivals->pods);
	mem_free(arrivals->ranks);
	*arrivals = (struct sim_arrivals){0};
}
