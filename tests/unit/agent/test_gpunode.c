/* SPDX-License-Identifier: Apache-2.0 */
/* Which card a device is of, and what of a node is written down. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "agent/gpunode.h"

#define S(literal)                           \
	{                                    \
		literal, sizeof(literal) - 1 \
	}

static const struct layout_gpu gpus[] = {
	{.pci = S("0000:01:00.0"), .uuid = S("GPU-a")},
	{.pci = S("0000:02:00.0"), .uuid = S("GPU-b")},
	{.pci = S("0000:03:00.0")},
};
static const struct layout layout = {.gpus = gpus, .n_gpus = 3};
static const struct partition_facts parts[] = {{.uuid = S("MIG-1")}, {.uuid = S("MIG-2")}};
static const struct card_facts cards[] = {
	{.pci = S("0000:09:00.0")},
	{.pci = S("0000:02:00.0"), .partitions = parts, .n_partitions = 2},
};
static const struct machine_facts facts = {.cards = cards, .n_cards = 2};

static const struct {
	struct str id;
	uint32_t card;
} devices[] = {
	{S("GPU-a"), 0},         {S("GPU-b::0"), 1},        {S("GPU-b::12"), 1},
	{S("MIG-2"), 1},         {S("MIG-2::3"), 1},        {S("MIG-GPU-a/7/0"), 0},
	{S("0000:03:00.0"), 2},  {S("GPU-c"), LAYOUT_NONE}, {S("MIG-3"), LAYOUT_NONE},
	{S("::1"), LAYOUT_NONE}, {S(""), LAYOUT_NONE},
};

static void a_device_is_of_the_card_that_its_id_tells(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
		assert_int_equal(gpunode_card(&layout, &facts, devices[i].id), devices[i].card);
}

static void what_is_known_is_written_and_rounded(void **state)
{
	static const struct str ids[] = {S("MIG-1"), S("MIG-2")};
	static const uint32_t numas[] = {1};
	static const struct held_devices held_devices = {S("nvidia.com/mig-1g.10gb"), ids, 2, numas,
							 1};
	static const struct held_claim claim = {S("n"), S("k"), S("d"), S("p"), S("x")};
	static const struct held_container containers[] = {
		{.namespace = S("n"),
		 .pod = S("p"),
		 .name = S("a"),
		 .cpus = S("2-3"),
		 .devices = &held_devices,
		 .n_devices = 1},
		{.namespace = S("n"),
		 .pod = S("p"),
		 .name = S("b"),
		 .claims = &claim,
		 .n_claims = 1},
		{.namespace = S("m"),
		 .pod = S("p"),
		 .name = S("a"),
		 .claims = &claim,
		 .n_claims = 1},
	};
	static const struct held held = {
		.containers = containers, .n_containers = 3, .other_cpus = S("4-5,9")};
	static const struct usage_row rows[] = {
		{1, "5c3e0f1a-0000-4000-8000-00000000000a", 2, GIB + 1, 44},
		{2, "", 1, AMOUNT_UNKNOWN, -1},
	};
	static const struct usage usage = {rows, 2};
	struct buf body;

	(void)state;
	buf_init(&body, 4096);
	gpunode_body(&body, &(struct gpunode_view){STR("node"), STR("uid"), STR("w/1"), &layout,
						   &facts, &held, &usage});
	assert_string_equal(
		body.data,
		"{\"apiVersion\":\"gpuqos.io/v1alpha1\",\"kind\":\"GpuNode\",\"metadata\":{\"name\":"
		"\"node\",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"node\","
		"\"uid\":\"uid\"}]},\"status\":{\"writer\":\"w/1\",\"gpus\":3,\"pods\":["
		"{\"namespace\":\"n\",\"name\":\"p\",\"containers\":[{\"name\":\"a\",\"cpus\":\"2-3\","
		"\"devices\":[{\"resource\":\"nvidia.com/mig-1g.10gb\",\"ids\":[\"MIG-1\",\"MIG-2\"],"
		"\"cards\":[\"0000:02:00.0\"],\"numa\":[1]}]},{\"name\":\"b\",\"claims\":[{\"namespace\":"
		"\"n\",\"name\":\"k\",\"driver\":\"d\",\"pool\":\"p\",\"device\":\"x\"}]}]},"
		"{\"namespace\":\"m\",\"name\":\"p\",\"containers\":[{\"name\":\"a\",\"claims\":["
		"{\"namespace\":\"n\",\"name\":\"k\",\"driver\":\"d\",\"pool\":\"p\",\"device\":\"x\"}]}]}],"
		"\"podCount\":2,\"otherCpus\":\"4-5,9\",\"users\":[{\"card\":\"0000:02:00.0\",\"podUID\":"
		"\"5c3e0f1a-0000-4000-8000-00000000000a\",\"memory\":\"1088Mi\",\"smPercent\":40,"
		"\"processes\":2},{\"card\":\"0000:03:00.0\",\"processes\":1}],\"unaccountedCount\":1,"
		"\"allocatable\":[]}}");
	buf_clear(&body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_is_of_the_card_that_its_id_tells),
		cmocka_unit_test(what_is_known_is_written_and_rounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
