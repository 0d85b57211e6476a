/* SPDX-License-Identifier: Apache-2.0 */
/* How many pods were refused in the last minute, as Events count them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "cluster/read.h"
#include "cluster/tenants/refusals.h"
#include "pod_world.h"

#define NOW_US (1700000000 * USEC_PER_SEC)

struct told {
	const char *event;
	int64_t count, ago_s; /* before NOW_US */
};

static void tell(struct cluster *c, const char *namespace, const struct told *told)
{
	const struct refusal_facts facts = {
		.namespace = str_from(namespace),
		.uid = str_from(told->event),
		.ours = true,
		.count = told->count,
		.last_us = NOW_US - told->ago_s * USEC_PER_SEC,
	};

	cluster_apply_refusal(c, &facts, NOW_US);
}

static int64_t count(struct cluster *c, int64_t later_s)
{
	return cluster_refusals(c, cluster_namespace_find(c, STR("a")),
				NOW_US + later_s * USEC_PER_SEC);
}

static void test_an_event_counts_by_how_much_it_grew(void **state)
{
	static const struct {
		const char *what;
		struct told told[5];
		int64_t sum;
	} cases[] = {
		{"one", {{"e", 1, 0}}, 1},
		{"one that was not seen before may be of long ago", {{"e", 500, 0}}, 1},
		{"it grows", {{"e", 10, 5}, {"e", 17, 3}, {"e", 41, 0}}, 32},
		{"the same once more", {{"e", 3, 5}, {"e", 3, 5}, {"e", 3, 5}}, 1},
		{"it began anew", {{"e", 30, 5}, {"e", 2, 0}}, 2},
		{"several", {{"e", 1, 5}, {"f", 1, 5}, {"g", 1, 1}, {"f", 4, 0}}, 6},
		{"of long ago, and what came since", {{"e", 40, 300}, {"e", 44, 0}}, 4},
		{"of the future", {{"e", 1, 5}, {"e", 9, -3600}}, 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cluster *c;

		cluster_teardown(state);
		cluster_setup(state);
		c = *state;
		apply_pod(c, pod_facts());
		for (size_t k = 0; k < 5 && cases[i].told[k].event; k++)
			tell(c, "a", &cases[i].told[k]);
		if (count(c, 0) != cases[i].sum)
			fail_msg("%s: %lld", cases[i].what, (long long)count(c, 0));
	}
}

static void test_a_minute_later_they_are_over(void **state)
{
	struct cluster *c = *state;

	apply_pod(c, pod_facts());
	tell(c, "a", &(struct told){"e", 1, 0});
	tell(c, "a", &(struct told){"e", 31, 0});
	assert_int_equal(count(c, 0), 31);
	assert_int_equal(count(c, 49), 31);
	assert_int_equal(count(c, 60), 0);
}

static void test_whose_namespace_is_not_known_does_not_count(void **state)
{
	const struct refusal_facts others = {
		.namespace = STR("a"), .uid = STR("o"), .count = 1, .last_us = NOW_US};
	struct cluster *c = *state;

	tell(c, "nobody", &(struct told){"e", 1, 0});
	apply_pod(c, pod_facts());
	cluster_apply_refusal(c, &others, NOW_US); /* not because of us */
	assert_int_equal(count(c, 0), 0);
}

/* However many Events another namespace has. */
static void test_a_busy_namespace_does_not_displace_another_s(void **state)
{
	struct cluster *c = *state;
	struct pod_facts other = pod_facts();

	apply_pod(c, pod_facts());
	other.namespace = STR("busy");
	other.uid = STR("other");
	apply_pod(c, other);
	tell(c, "a", &(struct told){"e", 10, 5});
	for (int i = 0; i < 20000; i++) {
		char event[24];

		snprintf(event, sizeof(event), "busy-%d", i);
		tell(c, "busy", &(struct told){event, 1, 3});
	}
	tell(c, "a", &(struct told){"e", 50, 0});
	assert_int_equal(count(c, 0), 41);
}

static size_t bytes(const struct cluster *c)
{
	struct cluster_stats stats;

	cluster_stats(c, &stats);
	return stats.bytes[CLUSTER_NAMESPACES];
}

static void test_what_is_remembered_is_counted_as_memory(void **state)
{
	struct cluster *c = *state;
	size_t before;

	apply_pod(c, pod_facts());
	before = bytes(c);
	tell(c, "a", &(struct told){"e", 1, 0});
	assert_true(bytes(c) >= before + CLUSTER_REFUSAL_EVENTS * 16);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, cluster_setup, cluster_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_an_event_counts_by_how_much_it_grew),
		TEST(test_a_minute_later_they_are_over),
		TEST(test_a_busy_namespace_does_not_displace_another_s),
		TEST(test_whose_namespace_is_not_known_does_not_count),
		TEST(test_what_is_remembered_is_counted_as_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
