/* SPDX-License-Identifier: Apache-2.0 */
/* A pod's request against Kubernetes' formula. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/macros.h"
#include "quota/charge.h"

#define GPU "nvidia.com/gpu"
#define MIG "nvidia.com/mig-1g.10gb"

enum { N = CONTAINER_NORMAL, I = CONTAINER_INIT, S = CONTAINER_SIDECAR };

/* One container: kind, whole GPUs, MIG slices. */
struct container {
	int kind;
	int64_t gpus, migs;
};

static const struct {
	const char *sentence;
	struct container containers[5];
	size_t n;
	struct container overhead;
	int64_t gpus, migs; /* wanted */
} cases[] = {
	{"a pod without containers holds nothing", {{0}}, 0, {0}, 0, 0},
	{"a container that asks for 0 holds nothing", {{N, 0, 0}}, 1, {0}, 0, 0},
	{"normal containers add up", {{N, 1, 0}, {N, 2, 3}}, 2, {0}, 3, 3},
	{"an init container that needs less is covered", {{I, 1, 0}, {N, 2, 0}}, 2, {0}, 2, 0},
	{"an init container that needs more sets the peak", {{I, 4, 0}, {N, 2, 0}}, 2, {0}, 4, 0},
	{"init containers run one after the other",
	 {{I, 3, 0}, {I, 4, 0}, {N, 1, 0}},
	 3,
	 {0},
	 4,
	 0},
	{"a sidecar runs beside the normal ones", {{S, 1, 0}, {N, 2, 0}}, 2, {0}, 3, 0},
	{"a sidecar before an init container runs beside it",
	 {{S, 2, 0}, {I, 4, 0}, {N, 1, 0}},
	 3,
	 {0},
	 6,
	 0},
	{"a sidecar after an init container does not",
	 {{I, 4, 0}, {S, 2, 0}, {N, 1, 0}},
	 3,
	 {0},
	 4,
	 0},
	{"only the sidecars before count for each init container",
	 {{S, 1, 0}, {I, 3, 0}, {S, 2, 0}, {I, 3, 0}, {N, 2, 0}},
	 5,
	 {0},
	 6,
	 0},
	{"sidecars and normal ones win over a small init peak",
	 {{S, 1, 0}, {I, 1, 0}, {S, 2, 0}, {N, 2, 0}},
	 4,
	 {0},
	 5,
	 0},
	{"resources peak apart", {{I, 4, 1}, {N, 1, 7}}, 2, {0}, 4, 7},
	{"overhead comes on top of the peak", {{I, 4, 0}, {N, 2, 0}}, 2, {0, 1, 2}, 5, 2},
	{"an init container alone holds what it asks", {{I, 2, 0}}, 1, {0}, 2, 0},
	{"sums saturate", {{N, INT64_MAX, 0}, {N, INT64_MAX, 0}}, 2, {0, 1, 0}, INT64_MAX, 0},
	{"negative amounts are not credit", {{N, 2, 0}, {N, -1, 0}}, 2, {0, -5, 0}, 2, 0},
};

static int64_t count_of(const struct device_ask *rows, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (str_equal(rows[i].resource, str_from(name)))
			return rows[i].count;
	return 0;
}

static void amounts_of(struct container c, struct device_ask ret_amounts[2])
{
	ret_amounts[0] = device_ask_units(STR(MIG), c.migs);
	ret_amounts[1] = device_ask_units(STR(GPU), c.gpus);
}

static void test_the_formula(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct device_ask amounts[5][2], overhead[2];
		struct device_ask rows[LIMIT_RESOURCES_PER_POD];
		struct container_facts containers[5];
		struct pod_facts pod = {.containers = containers, .n_containers = cases[i].n};
		size_t n = 99;

		for (size_t k = 0; k < cases[i].n; k++) {
			amounts_of(cases[i].containers[k], amounts[k]);
			containers[k] = (struct container_facts){
				(enum container_kind)cases[i].containers[k].kind, amounts[k], 2};
		}
		amounts_of(cases[i].overhead, overhead);
		pod.own = overhead;
		pod.n_own = 2;
		n = quota_pod_request(&pod, rows, ARRAY_SIZE(rows));
		if (count_of(rows, n, GPU) != cases[i].gpus ||
		    count_of(rows, n, MIG) != cases[i].migs)
			fail_msg("%s", cases[i].sentence);
		assert_int_equal(n, (cases[i].gpus > 0) + (cases[i].migs > 0));
		if (n == 2)
			assert_true(device_ask_compare(&rows[0], &rows[1]) < 0);
	}
}

static void parts_of_cards_are_summed_by_their_device(void **state)
{
	const struct device_ask init = {STR("mem"), 900, STR("card"), 1, 0};
	const struct device_ask other = {STR("mem"), 5, STR("board"), 1, 0};
	const struct device_ask normal[] = {
		{STR("mem"), 300, STR("card"), 3, 0},
		{STR("mem"), 7, STR("board"), 1, 0},
		device_ask_units(STR("card"), 2),
	};
	const struct container_facts containers[] = {
		{CONTAINER_INIT, &init, 1},
		{CONTAINER_NORMAL, &other, 1},
		{CONTAINER_NORMAL, normal, 3},
	};
	const struct pod_facts pod = {
		.containers = containers, .n_containers = 3, .own = &other, .n_own = 1};
	struct device_ask rows[LIMIT_RESOURCES_PER_POD];
	size_t n = 0;

	(void)state;
	n = quota_pod_request(&pod, rows, ARRAY_SIZE(rows));
	assert_int_equal(n, 3);
	assert_true(str_equal(rows[0].resource, STR("card")) && str_empty(rows[0].device));
	assert_int_equal(rows[0].count, 2);
	assert_true(str_equal(rows[1].device, STR("board")));
	assert_int_equal(rows[1].count, 17);
	assert_int_equal(rows[1].devices, 3);
	assert_true(str_equal(rows[2].device, STR("card")));
	assert_int_equal(rows[2].count, 900);
	assert_int_equal(rows[2].devices, 3);
}

/* A pod of one container that asks for 1 of each of @n resources, and of as many cards. */
static size_t request_of(size_t n, size_t max, struct device_ask *rows)
{
	static char names[LIMIT_RESOURCES_PER_POD + 3];
	struct device_ask amounts[LIMIT_RESOURCES_PER_POD + 3];
	struct container_facts container = {CONTAINER_NORMAL, amounts, n};
	struct pod_facts pod = {.containers = &container, .n_containers = 1};

	for (size_t i = 0; i < n; i++) {
		names[i] = (char)('A' + i);
		amounts[i] = (struct device_ask){{&names[i], 1}, 1, STR("card"), 2, 0};
	}
	return quota_pod_request(&pod, rows, max);
}

static void test_what_has_no_room_counts_as_one_that_cannot_be_read(void **state)
{
	const char *unreadable = DEVICE_UNREADABLE;
	struct device_ask rows[LIMIT_RESOURCES_PER_POD + 1];
	size_t n;

	(void)state;
	assert_int_equal(request_of(5, 2, rows), 2);
	assert_true(str_equal(rows[0].resource, STR("A")));
	assert_int_equal(rows[0].devices, 2);
	assert_int_equal(count_of(rows, 2, unreadable), 4);
	assert_true(str_empty(rows[1].device));
	assert_int_equal(rows[1].devices, 0);

	n = request_of(LIMIT_RESOURCES_PER_POD, 100, rows);
	assert_int_equal(n, LIMIT_RESOURCES_PER_POD);
	assert_int_equal(count_of(rows, n, unreadable), 0);
	n = request_of(LIMIT_RESOURCES_PER_POD + 3, 100, rows);
	assert_int_equal(n, LIMIT_RESOURCES_PER_POD);
	assert_int_equal(count_of(rows, n, unreadable), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_formula),
		cmocka_unit_test(parts_of_cards_are_summed_by_their_device),
		cmocka_unit_test(test_what_has_no_room_counts_as_one_that_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
