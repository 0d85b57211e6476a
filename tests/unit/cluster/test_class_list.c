/* SPDX-License-Identifier: Apache-2.0 */
/* What status.deviceClasses says of which class: never a lower price than the truth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/macros.h"
#include "cluster/read.h"

#define GPU     "nvidia.com/gpu"
#define NETWORK "dra.net"

struct fixture {
	struct cluster *cluster;
	struct arena arena;
	uint64_t version;
};

static int setup(void **state)
{
	static const struct hash_key key = {1, 2};
	static struct fixture fixture;
	struct quota_facts quota = {.namespace = STR("a"),
				    .name = STR("q"),
				    .uid = STR("uid-q"),
				    .spec = {.gpu_memory = 320 * GIB, .gpus = AMOUNT_NONE}};

	fixture = (struct fixture){.cluster = cluster_new(&key)};
	arena_init(&fixture.arena, LIMIT_DECODE_ARENA);
	assert_int_equal(cluster_apply_quota(fixture.cluster, &quota, NULL), 0);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	arena_clear(&f->arena);
	cluster_free(f->cluster);
	return 0;
}

static void apply_class(struct fixture *f, struct class_facts facts)
{
	facts.uid = facts.name;
	facts.resource_version = ++f->version;
	assert_int_equal(cluster_apply_class(f->cluster, &facts, NULL), 0);
}

/* The driver's slice @name of @count, with one device; AMOUNT_NONE: no memory. */
static void apply_slice(struct fixture *f, const char *driver, const char *name, int64_t memory,
			int64_t count)
{
	struct slice_device device = {.name = STR("d"), .node = STR("n"), .memory = memory};
	struct slice_facts facts = {
		.name = str_from(name),
		.uid = str_from(name),
		.resource_version = ++f->version,
		.driver = str_from(driver),
		.pool = str_from(name),
		.slice_count = count,
		.devices = &device,
		.n_devices = 1,
	};

	assert_int_equal(cluster_apply_slice(f->cluster, &facts, NULL), 0);
}

static void delete_slice(struct fixture *f, const char *name)
{
	cluster_delete(f->cluster, CLUSTER_SLICES, STR_NONE, str_from(name));
}

/* By a device plugin. */
static void offer(struct fixture *f, const char *resource)
{
	struct device_offer one = {.resource = str_from(resource),
				   .unit_memory = 16 * GIB,
				   .count = 4,
				   .sharing = DEVICE_WHOLE};
	struct node_facts node = {.name = STR("m"), .offers = &one, .n_offers = 1};

	assert_int_equal(cluster_apply_node(f->cluster, &node, NULL), 0);
}

static bool take_all(struct fixture *f)
{
	uint32_t namespace;
	bool any = false;

	while (cluster_take_dirty(f->cluster, &namespace))
		any = true;
	return any;
}

static struct quota_classes classes_of(struct fixture *f)
{
	uint32_t namespace = cluster_namespace_find(f->cluster, STR("a"));
	struct quota_lookup lookup;

	take_all(f);
	arena_reset(&f->arena);
	cluster_refresh(f->cluster, namespace);
	assert_int_equal(cluster_quota_view(f->cluster, cluster_quota_nth(f->cluster, namespace, 0),
					    &f->arena, &lookup, NULL),
			 0);
	return lookup.view.classes;
}

/* "a=nvidia.com/gpu b=" */
static void assert_classes(struct fixture *f, const char *expected)
{
	struct quota_classes classes = classes_of(f);
	char text[1024] = "";
	size_t len = 0;

	for (size_t i = 0; i < classes.n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.*s=%.*s",
					i > 0 ? " " : "", STR_ARGS(classes.list[i].name),
					STR_ARGS(classes.list[i].resource));
	assert_string_equal(text, expected);
}

static void a_class_with_a_row_of_its_own_is_not_listed(void **state)
{
	struct fixture *f = *state;

	apply_class(f, (struct class_facts){.name = STR("card"), .driver = STR("gpu.nvidia.com")});
	apply_class(f, (struct class_facts){.name = STR("any")});
	apply_slice(f, "gpu.nvidia.com", "s", 80 * GIB, 1);
	assert_classes(f, "");
}

static void a_class_of_gpus_has_the_row_of_what_it_stands_for(void **state)
{
	static const struct {
		const char *name;
		struct class_facts class;
		int64_t memory; /* that its driver publishes; AMOUNT_NONE: it has published nothing
				 */
		const char *expected;
	} cases[] = {
		{"its name is that of a GPU",
		 {.extended_resource = {GPU, sizeof(GPU) - 1}, .driver = {NETWORK, 7}},
		 AMOUNT_NONE,
		 "c=" GPU},
		{"its driver is that of GPUs",
		 {.extended_resource = {"example.com/x", 13}, .driver = {"gpu.example.com", 15}},
		 AMOUNT_NONE,
		 "c=example.com/x"},
		{"its driver has published memory",
		 {.extended_resource = {"example.com/x", 13}, .driver = {NETWORK, 7}},
		 GIB,
		 "c=example.com/x"},
		{"the table prices it",
		 {.extended_resource = {"example.com/x", 13},
		  .driver = {NETWORK, 7},
		  .in_table = true},
		 AMOUNT_NONE,
		 "c=example.com/x"},
		{"nobody knows what it gives",
		 {.extended_resource = {"example.com/y", 13}},
		 AMOUNT_NONE,
		 ""},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct class_facts class = cases[i].class;

		class.name = STR("c");
		cluster_delete(f->cluster, CLUSTER_CLASSES, STR_NONE, class.name);
		apply_class(f, class);
		if (cases[i].memory != AMOUNT_NONE)
			apply_slice(f, NETWORK, "s", cases[i].memory, 1);
		print_message("%s\n", cases[i].name);
		assert_classes(f, cases[i].expected);
		delete_slice(f, "s");
	}
}

static void a_class_is_free_while_all_that_its_driver_published_is_no_gpu(void **state)
{
	struct fixture *f = *state;

	apply_class(f, (struct class_facts){.name = STR("nic"), .driver = STR(NETWORK)});
	apply_class(f, (struct class_facts){.name = STR("fast"),
					    .driver = STR(NETWORK),
					    .extended_resource = STR("example.com/nic")});
	assert_classes(f, "");
	apply_slice(f, NETWORK, "s0", AMOUNT_NONE, 1);
	assert_classes(f, "fast= nic=");
	/* a pool that is not complete offers nothing, and what it has is known all the same */
	apply_slice(f, NETWORK, "s1", GIB, 2);
	assert_classes(f, "fast=example.com/nic");
	apply_slice(f, NETWORK, "s1", GIB, 1);
	assert_classes(f, "fast=example.com/nic");
	/* what gave a GPU once may give one again, until it is another class */
	delete_slice(f, "s1");
	assert_classes(f, "fast=example.com/nic");
	apply_class(f, (struct class_facts){.name = STR("fast"),
					    .driver = STR(NETWORK),
					    .extended_resource = STR("example.com/fast")});
	assert_classes(f, "fast=");
	cluster_delete(f->cluster, CLUSTER_CLASSES, STR_NONE, STR("nic"));
	apply_class(f, (struct class_facts){.name = STR("nic"), .driver = STR(NETWORK)});
	assert_classes(f, "fast= nic=");
	delete_slice(f, "s0");
	assert_classes(f, "");
}

static void what_device_plugins_priced_once_is_a_gpu(void **state)
{
	struct fixture *f = *state;

	apply_class(f, (struct class_facts){.name = STR("fast"),
					    .driver = STR(NETWORK),
					    .extended_resource = STR("example.com/nic")});
	apply_slice(f, NETWORK, "s0", AMOUNT_NONE, 1);
	assert_classes(f, "fast=");
	offer(f, "example.com/nic");
	assert_classes(f, "fast=example.com/nic");
	cluster_delete(f->cluster, CLUSTER_NODES, STR_NONE, STR("m"));
	assert_classes(f, "fast=example.com/nic");
}

static void a_driver_of_gpus_has_no_free_class(void **state)
{
	struct fixture *f = *state;

	apply_class(f, (struct class_facts){.name = STR("card"), .driver = STR("gpu.x")});
	apply_class(f, (struct class_facts){.name = STR("any")});
	apply_slice(f, "gpu.x", "s", AMOUNT_NONE, 1);
	assert_classes(f, "");
}

static void another_list_marks_namespaces_and_the_same_does_not(void **state)
{
	struct class_facts nic = {.name = STR("nic"), .driver = STR(NETWORK)};
	struct fixture *f = *state;

	apply_class(f, nic);
	take_all(f);
	apply_slice(f, NETWORK, "s0", AMOUNT_NONE, 1);
	assert_true(take_all(f));
	/* prices are none of these, and the list is the same */
	apply_slice(f, NETWORK, "s1", AMOUNT_NONE, 1);
	delete_slice(f, "s0");
	apply_class(f, nic);
	assert_false(take_all(f));
	delete_slice(f, "s1");
	assert_true(take_all(f));
	apply_slice(f, NETWORK, "s0", AMOUNT_NONE, 1);
	take_all(f);
	cluster_delete(f->cluster, CLUSTER_CLASSES, STR_NONE, STR("nic"));
	assert_true(take_all(f));
	assert_classes(f, "");
}

static void what_stands_for_gpus_comes_before_what_is_free(void **state)
{
	struct quota_classes classes;
	struct fixture *f = *state;
	char name[16];

	apply_slice(f, NETWORK, "s", AMOUNT_NONE, 1);
	for (int i = 0; i < LIMIT_STATUS_CLASSES + 3; i++) {
		snprintf(name, sizeof(name), "nic-%03d", i);
		apply_class(f,
			    (struct class_facts){.name = str_from(name), .driver = STR(NETWORK)});
	}
	apply_class(f, (struct class_facts){.name = STR("zz"), .extended_resource = STR(GPU)});
	classes = classes_of(f);
	assert_int_equal(classes.n, LIMIT_STATUS_CLASSES);
	assert_int_equal(classes.left_out, 4);
	assert_true(str_equal(classes.list[0].name, STR("nic-000")));
	assert_true(str_equal(classes.list[LIMIT_STATUS_CLASSES - 1].name, STR("zz")));
	for (size_t i = 1; i < classes.n; i++)
		assert_true(str_compare(classes.list[i - 1].name, classes.list[i].name) < 0);
	cluster_delete(f->cluster, CLUSTER_CLASSES, STR_NONE, STR("nic-066"));
	classes = classes_of(f);
	assert_int_equal(classes.left_out, 3);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_class_with_a_row_of_its_own_is_not_listed),
		TEST(a_class_of_gpus_has_the_row_of_what_it_stands_for),
		TEST(a_class_is_free_while_all_that_its_driver_published_is_no_gpu),
		TEST(what_device_plugins_priced_once_is_a_gpu),
		TEST(a_driver_of_gpus_has_no_free_class),
		TEST(another_list_marks_namespaces_and_the_same_does_not),
		TEST(what_stands_for_gpus_comes_before_what_is_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
