/* SPDX-License-Identifier: Apache-2.0 */
/* Random operations on a table and its clones against a plain array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/random.h"
#include "base/table.h"

#define HANDLES 512

struct record {
	uint64_t value;
	char padding[13]; /* an odd size */
};

struct model {
	bool live[HANDLES];
	uint64_t value[HANDLES];
	uint32_t freed[HANDLES]; /* newest last */
	uint32_t n_freed, end;
};

/* The free list has exactly what the model freed, newest first; records are as written. */
static void assert_sane(const struct table *table, const struct model *model)
{
	uint32_t free_handle = table->first_free, count = 0, walked = 0;

	assert_int_equal(table->end, model->end);
	assert_true(table->end <= table->capacity);
	for (uint32_t i = model->n_freed; i > 0; i--) {
		assert_int_equal(free_handle, model->freed[i - 1]);
		free_handle = table->next_free[free_handle];
	}
	assert_int_equal(free_handle, TABLE_NONE);
	for (uint32_t i = 0; i < HANDLES; i++) {
		assert_int_equal(table_has(table, i), model->live[i]);
		if (!model->live[i])
			continue;
		count++;
		assert_true(((const struct record *)table_at(table, i))->value == model->value[i]);
	}
	assert_int_equal(table->count, count);
	for (uint32_t h = table_next(table, 0); h != TABLE_NONE; h = table_next(table, h + 1))
		walked++;
	assert_int_equal(walked, count);
}

static void add(struct table *table, struct model *model, uint64_t value)
{
	static const struct record zeroed = {0};
	uint32_t handle = table_add(table);
	uint32_t expected = model->n_freed > 0 ? model->freed[--model->n_freed] : model->end++;
	struct record *record = table_at(table, handle);

	assert_int_equal(handle, expected);
	assert_memory_equal(record, &zeroed, sizeof(zeroed));
	memset(record, 0xa5, sizeof(*record));
	record->value = value;
	model->live[handle] = true;
	model->value[handle] = value;
}

static void step(struct table *table, struct model *model, struct random *random)
{
	uint32_t handle = (uint32_t)random_below(random, HANDLES);

	if (model->live[handle]) {
		table_remove(table, handle);
		model->live[handle] = false;
		model->freed[model->n_freed++] = handle;
	} else if (table->count < HANDLES) {
		add(table, model, random_u64(random));
	}
}

static void run(uint64_t seed)
{
	CLEANUP(table_clear) struct table table;
	CLEANUP(table_clear) struct table copy = {0};
	struct model model = {0}, copy_model;
	struct random random;

	random_init(&random, seed);
	table_init(&table, sizeof(struct record));
	for (int i = 0; i < 40; i++) {
		table_clone(&table, &copy);
		copy_model = model;
		assert_sane(&copy, &copy_model);
		for (int j = 0; j < 50; j++)
			step(&copy, &copy_model, &random);
		assert_sane(&copy, &copy_model);
		assert_sane(&table, &model); /* the trial did not touch it */
		for (int j = 0; j < 30; j++)
			step(&table, &model, &random);
		assert_sane(&table, &model);
	}
}

static void a_table_and_its_clones_are_arrays(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 50; seed++)
		run(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_and_its_clones_are_arrays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
