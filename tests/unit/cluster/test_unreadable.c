/* SPDX-License-Identifier: Apache-2.0 */
/* Pods of which no more is known than that they are there, or not all that they ask for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/macros.h"
#include "pod_world.h"

static struct pod_facts outline(const char *uid)
{
	static const struct device_ask unreadable = {
		.resource = {DEVICE_UNREADABLE, sizeof(DEVICE_UNREADABLE) - 1}, .count = 1};
	struct pod_facts pod = pod_facts();

	pod.uid = str_from(uid);
	pod.containers = NULL;
	pod.n_containers = 0;
	pod.own = &unreadable;
	pod.n_own = 1;
	pod.unreadable = true;
	return pod;
}

static void test_a_pod_that_cannot_be_read_holds_what_it_held(void **state)
{
	struct cluster *c = *state;
	struct pod_facts pod = outline(POD_UID);

	apply_node(c, node_facts());
	apply_pod(c, pod_facts());
	apply_pod(c, pod);
	assert_int_equal(view_of(c, "a").used, 80 * GIB);
	assert_int_equal(view_of(c, "a").unpriced, 0);
	pod.phase = POD_FAILED;
	apply_pod(c, pod);
	assert_int_equal(view_of(c, "a").used, 0);
	assert_int_equal(view_of(c, "a").pods, 0);
}

static void test_a_pod_that_never_could_be_read_is_unpriced(void **state)
{
	struct cluster *c = *state;

	apply_node(c, node_facts());
	apply_pod(c, outline(POD_UID));
	assert_int_equal(view_of(c, "a").pods, 1);
	assert_int_equal(view_of(c, "a").used, 0);
	assert_int_equal(view_of(c, "a").unpriced, 1);
	apply_pod(c, pod_facts());
	assert_int_equal(view_of(c, "a").used, 80 * GIB);
	assert_int_equal(view_of(c, "a").unpriced, 0);
	apply_pod(c, outline("another of that name"));
	assert_int_equal(view_of(c, "a").used, 0);
	assert_int_equal(view_of(c, "a").unpriced, 1);
	cluster_delete(c, CLUSTER_PODS, STR("a"), STR("p"));
	assert_int_equal(view_of(c, "a").pods, 0);
}

static void test_names_beyond_all_room_are_unpriced(void **state)
{
	static char names[LIMIT_RESOURCES_PER_POD + 6][32];
	struct device_ask many[ARRAY_SIZE(names)];
	struct container_facts container = {CONTAINER_NORMAL, many, ARRAY_SIZE(many)};
	struct cluster *c = *state;
	struct pod_facts pod = pod_facts();

	many[0] = one_gpu;
	for (size_t i = 1; i < ARRAY_SIZE(many); i++) {
		int len = snprintf(names[i], sizeof(names[i]), "nvidia.com/mig-%dg", (int)i);

		many[i] = device_ask_units((struct str){names[i], (size_t)len}, 1);
	}
	pod.containers = &container;
	apply_node(c, node_facts());
	apply_pod(c, pod);
	assert_int_equal(view_of(c, "a").used, 80 * GIB);
	assert_int_equal(view_of(c, "a").unpriced, ARRAY_SIZE(many) - 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, cluster_setup, cluster_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_pod_that_cannot_be_read_holds_what_it_held),
		TEST(test_a_pod_that_never_could_be_read_is_unpriced),
		TEST(test_names_beyond_all_room_are_unpriced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
