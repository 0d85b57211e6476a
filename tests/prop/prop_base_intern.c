/* SPDX-License-Identifier: Apache-2.0 */
/* Random references against an array that counts them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/intern.h"
#include "base/limits.h"
#include "base/random.h"

#define STRINGS 1500

struct model {
	char text[STRINGS][80];
	size_t len[STRINGS];
	uint32_t refs[STRINGS], handle[STRINGS];
};

static struct model model;

static struct str text_of(size_t i)
{
	return (struct str){model.text[i], model.len[i]};
}

/* Distinct texts of mixed lengths and any bytes: the first two number them. */
static void make_texts(struct random *random)
{
	for (size_t i = 0; i < STRINGS; i++) {
		model.len[i] = 2 + (size_t)random_below(random, 78);
		for (size_t j = 0; j < model.len[i]; j++)
			model.text[i][j] = (char)random_below(random, 256);
		model.text[i][0] = (char)(i & 255);
		model.text[i][1] = (char)(i >> 8);
		model.refs[i] = 0;
	}
}

/* Held strings are found under the handle they always had, with their bytes; others are not found.
 */
static void assert_sane(const struct intern *intern)
{
	uint32_t count = 0;
	size_t content = 0;

	for (size_t i = 0; i < STRINGS; i++) {
		uint32_t found = intern_find(intern, text_of(i));

		if (model.refs[i] == 0) {
			assert_int_equal(found, UINT32_MAX);
			continue;
		}
		count++;
		content += model.len[i];
		assert_int_equal(found, model.handle[i]);
		assert_true(str_equal(intern_str(intern, found), text_of(i)));
		assert_int_equal(intern_str(intern, found).data[model.len[i]], '\0');
	}
	assert_int_equal(intern_count(intern), count);
	assert_true(intern_bytes(intern) >= content + count * 5);
}

static void step(struct intern *intern, struct random *random, uint64_t bias)
{
	size_t i = (size_t)random_below(random, STRINGS);

	if (random_below(random, 10) < bias) {
		uint32_t handle = model.refs[i] > 0 && random_below(random, 2) == 0
					  ? intern_ref_handle(intern, model.handle[i])
					  : intern_ref(intern, text_of(i));

		if (model.refs[i]++ > 0)
			assert_int_equal(handle, model.handle[i]);
		model.handle[i] = handle;
	} else if (model.refs[i] > 0) {
		intern_unref(intern, model.handle[i]);
		model.refs[i]--;
	}
}

static void run(uint64_t seed)
{
	struct hash_key key = {seed, ~seed};
	CLEANUP(intern_free) struct intern *intern = intern_new(&key);
	struct random random;

	random_init(&random, seed);
	make_texts(&random);
	for (int turn = 0; turn < 12; turn++) {
		uint64_t bias = turn % 2 == 0 ? 9 : 1 + random_below(&random, 5);

		for (int i = 0; i < 4000; i++)
			step(intern, &random, bias);
		assert_sane(intern);
	}
	for (size_t i = 0; i < STRINGS; i++)
		for (; model.refs[i] > 0; model.refs[i]--)
			intern_unref(intern, model.handle[i]);
	assert_sane(intern);
	assert_int_equal(intern_count(intern), 0);
}

static void interning_counts_references(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 8; seed++)
		run(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interning_counts_references),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
