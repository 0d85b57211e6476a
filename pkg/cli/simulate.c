/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one after another, and the mean of what came out. */
#include "cli/simulate.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "codec/json_out.h"

#define STEP 256 /* arrivals between two looks at the progress */

/* What the table shows: the capacity that has arrived. */
static const unsigned int columns[] = {100, SIM_ARRIVALS_PERCENT};

struct teller {
	simulate_progress_fn *tell;
	void *data;
	double runs, done;
};

static void run(struct sim *sim, struct teller *teller, struct sim_result *ret_result)
{
	while (sim_step(sim, STEP))
		if (teller->tell)
			teller->tell(teller->data,
				     (teller->done + sim_progress(sim)) / teller->runs);
	teller->done++;
	if (teller->tell)
		teller->tell(teller->data, teller->done / teller->runs);
	sim_result(sim, ret_result);
}

void simulate(struct simulation *simulation, const struct simulate_plan *plan,
	      simulate_progress_fn *progress, void *data)
{
	struct teller teller = {progress, data, (double)plan->n_policies * plan->n_seeds, 0};
	struct gorand_table *table CLEANUP(mem_free) = mem_alloc(sizeof(*table));

	gorand_table_init(table);
	*simulation = (struct simulation){.plan = plan};
	simulation->results =
		mem_alloc_array(plan->n_policies * plan->n_seeds, sizeof(struct sim_result));
	for (size_t p = 0; p < plan->n_policies; p++) {
		for (uint32_t s = 0; s < plan->n_seeds; s++) {
			bool first = plan->picture && p == 0 && s == 0;
			struct sim *sim = sim_new(plan->input, table, plan->policies[p],
						  plan->first_seed + s, first);

			run(sim, &teller, &simulation->results[p * plan->n_seeds + s]);
			if (first)
				simulation->first = sim;
			else
				sim_free(sim);
		}
	}
}

void simulation_clear(struct simulation *simulation)
{
	mem_free(simulation->results);
	sim_free(simulation->first);
	*simulation = (struct simulation){0};
}

/* --- the table */

struct mean {
	double allocation, fragmentation;
	uint32_t n;
};

static struct mean mean_at(const struct simulation *s, size_t policy, unsigned int percent)
{
	struct mean mean = {0};

	for (uint32_t seed = 0; seed < s->plan->n_seeds; seed++) {
		const struct sim_point *point = &simulation_at(s, policy, seed)->points[percent];

		if (!point->seen)
			continue;
		mean.allocation += point->allocation;
		mean.fragmentation += point->fragmentation;
		mean.n++;
	}
	if (mean.n > 0) {
		mean.allocation /= mean.n;
		mean.fragmentation /= mean.n;
	}
	return mean;
}

static void print_number(struct buf *out, const struct mean *mean, double value)
{
	if (mean->n == 0)
		buf_printf(out, " %8s", "-");
	else
		buf_printf(out, " %8.2f", value);
}

static void print_policy(const struct simulation *s, size_t policy, struct buf *out)
{
	struct mean means[ARRAY_SIZE(columns)];
	double refused = 0, milli = 0;

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		means[i] = mean_at(s, policy, columns[i]);
	for (uint32_t seed = 0; seed < s->plan->n_seeds; seed++) {
		refused += simulation_at(s, policy, seed)->refused;
		milli += (double)simulation_at(s, policy, seed)->refused_milli;
	}
	buf_printf(out, "%-11s", sim_policy_name(s->plan->policies[policy]));
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		print_number(out, &means[i], means[i].allocation);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		print_number(out, &means[i], means[i].fragmentation);
	buf_printf(out, " %8.1f %8.1f\n", refused / s->plan->n_seeds,
		   milli / s->plan->n_seeds / FRAG_WHOLE);
}

void simulation_print(const struct simulation *s, struct buf *out)
{
	const struct sim_input *input = s->plan->input;

	buf_printf(out,
		   "%zu nodes with %" PRId64
		   " GPUs; a list of %zu pods of %zu kinds; seeds %" PRId64 " to %" PRId64 "\n\n",
		   input->n_nodes, sim_input_cards(input), input->n_pods, input->n_asks,
		   s->plan->first_seed, s->plan->first_seed + s->plan->n_seeds - 1);
	buf_printf(out, "%-11s %17s %17s %17s\n", "means", "allocated, %", "fragmented, %",
		   "refused");
	buf_printf(out, "%-11s", "POLICY");
	for (int twice = 0; twice < 2; twice++)
		for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
			buf_printf(out, "   at %3u", columns[i]);
	buf_printf(out, " %8s %8s\n", "pods", "GPUs");
	for (size_t policy = 0; policy < s->plan->n_policies; policy++)
		print_policy(s, policy, out);
	buf_add_cstr(out, "\nat: GPU capacity that had been asked for, in percent of the cards; "
			  "fragmented: of what is free\n");
}

/* --- JSON */

/* JSON numbers with two digits: the writer has integers alone. */
static void json_hundredths(struct json_out *json, double value)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "%.2f", value);

	json_out_raw(json, NULL, (struct str){text, (size_t)len});
}

static void json_run(const struct simulation *s, size_t policy, uint32_t seed,
		     struct json_out *json)
{
	const struct sim_result *result = simulation_at(s, policy, seed);

	json_out_object(json, NULL);
	json_out_cstring(json, "policy", sim_policy_name(s->plan->policies[policy]));
	json_out_int(json, "seed", s->plan->first_seed + seed);
	json_out_int(json, "placed", result->placed);
	json_out_int(json, "refused", result->refused);
	json_out_int(json, "placedMilli", result->placed_milli);
	json_out_int(json, "refusedMilli", result->refused_milli);
	json_out_array(json, "allocation");
	for (int i = 0; i < SIM_POINTS; i++) {
		if (result->points[i].seen)
			json_hundredths(json, result->points[i].allocation);
		else
			json_out_null(json, NULL);
	}
	json_out_end_array(json);
	json_out_array(json, "fragmentation");
	for (int i = 0; i < SIM_POINTS; i++) {
		if (result->points[i].seen)
			json_hundredths(json, result->points[i].fragmentation);
		else
			json_out_null(json, NULL);
	}
	json_out_end_array(json);
	json_out_end(json);
}

void simulation_json(const struct simulation *s, struct buf *out)
{
	struct json_out json;

	json_out_init(&json, out);
	json_out_object(&json, NULL);
	json_out_int(&json, "nodes", (int64_t)s->plan->input->n_nodes);
	json_out_int(&json, "gpus", sim_input_cards(s->plan->input));
	json_out_int(&json, "pods", (int64_t)s->plan->input->n_pods);
	json_out_array(&json, "runs");
	for (size_t policy = 0; policy < s->plan->n_policies; policy++)
		for (uint32_t seed = 0; seed < s->plan->n_seeds; seed++)
			json_run(s, policy, seed, &json);
	json_out_end_array(&json);
	json_out_end(&json);
	buf_add_char(out, '\n');
}
