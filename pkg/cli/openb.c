/* SPDX-License-Identifier: Apache-2.0 */
/* A line is cut into fields; columns are found once, by the first line, and then by position. */
#include "cli/openb.h"

#include <inttypes.h>

#define MEBIBYTE INT64_C(1048576)
#define ABSENT   OPENB_FIELDS

struct reader {
	const char *origin;
	struct str rest;
	unsigned int line;
	struct str fields[OPENB_FIELDS];
	size_t n_fields;
};

/* 1: a line was read; 0: there is none; empty lines are passed over. */
static int next_line(struct reader *r, struct error *err)
{
	struct str line;

	do {
		if (str_empty(r->rest))
			return 0;
		(void)str_split(r->rest, '\n', &line, &r->rest);
		r->line++;
		if (str_ends_with(line, STR("\r")))
			line.len--;
	} while (str_empty(line));
	r->n_fields = 0;
	for (bool more = true; more;) {
		if (r->n_fields == OPENB_FIELDS)
			return error_set(err, ERROR_LIMIT, "%s:%u: more than %d fields", r->origin,
					 r->line, OPENB_FIELDS);
		more = str_split(line, ',', &r->fields[r->n_fields++], &line);
	}
	return 1;
}

static int begin(struct reader *r, struct str text, const char *origin, struct error *err)
{
	int lines;

	*r = (struct reader){.origin = origin, .rest = text};
	lines = next_line(r, err);
	return lines == 0 ? error_set(err, ERROR_INVALID, "%s: empty", origin) : lines;
}

static size_t find_column(const struct reader *r, const char *name)
{
	for (size_t i = 0; i < r->n_fields; i++)
		if (str_equal(r->fields[i], str_from(name)))
			return i;
	return ABSENT;
}

/* A column of numbers. */
struct column {
	const char *name;
	int64_t max;
	size_t at;
};

static int find_needed(const struct reader *r, struct column *column, struct error *err)
{
	column->at = find_column(r, column->name);
	if (column->at == ABSENT)
		return error_set(err, ERROR_INVALID, "%s:1: no column %s", r->origin, column->name);
	return 0;
}

static int read_number(const struct reader *r, const struct column *column, int64_t *ret_number,
		       struct error *err)
{
	struct str field = column->at < r->n_fields ? r->fields[column->at] : STR("");

	if (!str_to_int64(field, 0, column->max, ret_number))
		return error_set(err, ERROR_INVALID,
				 "%s:%u: %s is \"%.*s\", not a number up to %" PRId64, r->origin,
				 r->line, column->name, STR_ARGS(field), column->max);
	return 0;
}

static int read_memory(const struct reader *r, const struct column *column, int64_t *ret_bytes,
		       struct error *err)
{
	int64_t mebibytes = 0;

	if (column->at != ABSENT && read_number(r, column, &mebibytes, err) < 0)
		return -1;
	*ret_bytes = mebibytes * MEBIBYTE;
	return 0;
}

static struct str text_of(const struct reader *r, size_t column)
{
	return column < r->n_fields ? r->fields[column] : STR("");
}

/* --- nodes */

struct node_columns {
	struct column cpu, cards, memory;
	size_t name, model;
};

static int add_node(const struct reader *r, const struct node_columns *c, struct sim_input *input,
		    struct error *err)
{
	struct frag_node gpu = {0};
	int64_t cards, memory;

	if (read_number(r, &c->cpu, &gpu.cpu_milli, err) < 0 ||
	    read_number(r, &c->cards, &cards, err) < 0 ||
	    read_memory(r, &c->memory, &memory, err) < 0 ||
	    sim_input_product(input, text_of(r, c->model), &gpu.product, err) < 0)
		return -1;
	gpu.cards = (uint32_t)cards;
	for (uint32_t i = 0; i < gpu.cards; i++)
		gpu.left[i] = FRAG_WHOLE;
	return sim_input_add_node(input, text_of(r, c->name), &gpu, memory, err);
}

int openb_add_nodes(struct sim_input *input, struct str text, const char *origin, struct error *err)
{
	struct node_columns c = {
		.cpu = {.name = "cpu_milli", .max = OPENB_AMOUNT},
		.cards = {.name = "gpu", .max = LIMIT_LAYOUT_GPUS},
		.memory = {.name = "memory_mib", .max = OPENB_AMOUNT},
	};
	struct reader r;
	int more;

	if (begin(&r, text, origin, err) < 0 || find_needed(&r, &c.cpu, err) < 0 ||
	    find_needed(&r, &c.cards, err) < 0)
		return -1;
	c.memory.at = find_column(&r, "memory_mib");
	c.name = find_column(&r, "sn");
	c.model = find_column(&r, "model");
	while ((more = next_line(&r, err)) > 0)
		if (add_node(&r, &c, input, err) < 0)
			return -1;
	return more;
}

/* --- pods */

struct pod_columns {
	struct column cpu, cards, milli, memory;
	size_t models;
};

static int read_models(const struct reader *r, size_t column, struct sim_input *input,
		       uint64_t *ret_products, struct error *err)
{
	struct str rest = text_of(r, column), name;
	uint64_t bit;

	*ret_products = 0;
	while (!str_empty(rest)) {
		(void)str_split(rest, '|', &name, &rest);
		if (sim_input_product(input, name, &bit, err) < 0)
			return -1;
		*ret_products |= bit;
	}
	return 0;
}

static int add_pod(const struct reader *r, const struct pod_columns *c, struct sim_input *input,
		   struct error *err)
{
	struct frag_ask ask = {0};
	int64_t cards, milli, memory;

	if (read_number(r, &c->cpu, &ask.cpu_milli, err) < 0 ||
	    read_number(r, &c->cards, &cards, err) < 0 ||
	    read_number(r, &c->milli, &milli, err) < 0 ||
	    read_memory(r, &c->memory, &memory, err) < 0)
		return -1;
	if (cards > 0 && milli == 0)
		return error_set(err, ERROR_INVALID,
				 "%s:%u: GPUs are asked for, and gpu_milli is 0", r->origin,
				 r->line);
	if (cards > 0) {
		ask.gpus = (uint32_t)cards;
		ask.gpu_milli = (uint32_t)milli;
		if (read_models(r, c->models, input, &ask.products, err) < 0)
			return -1;
	}
	return sim_input_add_pod(input, &ask, memory, err);
}

int openb_add_pods(struct sim_input *input, struct str text, const char *origin, struct error *err)
{
	struct pod_columns c = {
		.cpu = {.name = "cpu_milli", .max = OPENB_AMOUNT},
		.cards = {.name = "num_gpu", .max = LIMIT_LAYOUT_GPUS},
		.milli = {.name = "gpu_milli", .max = FRAG_WHOLE},
		.memory = {.name = "memory_mib", .max = OPENB_AMOUNT},
	};
	struct reader r;
	int more;

	if (begin(&r, text, origin, err) < 0 || find_needed(&r, &c.cpu, err) < 0 ||
	    find_needed(&r, &c.cards, err) < 0 || find_needed(&r, &c.milli, err) < 0)
		return -1;
	c.memory.at = find_column(&r, "memory_mib");
	c.models = find_column(&r, "gpu_spec");
	while ((more = next_line(&r, err)) > 0)
		if (add_pod(&r, &c, input, err) < 0)
			return -1;
	return more;
}
