/* SPDX-License-Identifier: Apache-2.0 */
/* Random deadlines against a search through all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/heap.h"
#include "base/random.h"

#define ENTRIES 200

/* Every entry knows its place, and none is due before its parent. */
static void assert_sane(const struct heap *heap)
{
	for (size_t i = 0; i < heap->len; i++) {
		const struct heap_entry *entry = heap->entries[i];
		const struct heap_entry *parent = heap->entries[i > 0 ? (i - 1) / 2 : 0];

		assert_int_equal(entry->place, i + 1);
		assert_true(parent->due_us <= entry->due_us);
		if (i > 0 && parent->due_us == entry->due_us)
			assert_true(parent->sequence < entry->sequence);
	}
}

struct model {
	struct heap_entry entries[ENTRIES];
	bool in[ENTRIES];
	int64_t due[ENTRIES];
	int set_at[ENTRIES];
};

static const struct heap_entry *first_of(const struct model *model)
{
	const struct heap_entry *first = NULL;
	size_t best = 0;

	for (size_t i = 0; i < ENTRIES; i++) {
		if (!model->in[i])
			continue;
		if (!first || model->due[i] < model->due[best] ||
		    (model->due[i] == model->due[best] && model->set_at[i] < model->set_at[best])) {
			first = &model->entries[i];
			best = i;
		}
	}
	return first;
}

static void run(uint64_t seed, uint64_t deadlines)
{
	struct model model = {0}; /* outlives the heap, which unlinks the entries */
	CLEANUP(heap_clear) struct heap heap = {0};
	struct random random;

	random_init(&random, seed);
	for (int step = 0; step < 2000; step++) {
		size_t i = (size_t)random_below(&random, ENTRIES);
		struct heap_entry *first = heap_first(&heap);

		switch (random_below(&random, 4)) {
		case 0:
			heap_remove(&heap, &model.entries[i]);
			model.in[i] = false;
			break;
		case 1:
			if (!first)
				break;
			model.in[first - model.entries] = false;
			heap_remove(&heap, first);
			break;
		default:
			model.due[i] = (int64_t)random_below(&random, deadlines);
			model.set_at[i] = step;
			model.in[i] = true;
			heap_set(&heap, &model.entries[i], model.due[i]);
			break;
		}
		assert_sane(&heap);
		assert_ptr_equal(heap_first(&heap), first_of(&model));
		assert_int_equal(heap_contains(&model.entries[i]), model.in[i]);
	}
}

static void the_first_is_the_earliest(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 10; seed++) {
		run(seed, 5);
		run(seed, 1000000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_is_the_earliest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
