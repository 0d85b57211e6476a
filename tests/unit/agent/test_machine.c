/* SPDX-License-Identifier: Apache-2.0 */
/* What is read of real machines, and of the same ones with something missing or amiss. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/layout.h"
#include "exports.h"
#include "lib/layouts.h"

#define MEMORY (4 * 1024 * 1024)

#define DGX2   "nvidia-dgx2"
#define POWER8 "power8-p100"
#define POWER9 "power9-gpu-memory"
#define HP     "proliant-sl390s"

#define assert_str(s, text) assert_true(str_equal(s, str_from(text)))

static const char *const exports[] = {DGX2, POWER8, POWER9, HP};

struct place {
	struct arena arena;
	struct layout layout;
};

static int set_up(void **state)
{
	static struct place place;

	arena_init(&place.arena, MEMORY);
	*state = &place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	arena_clear(&place->arena);
	return 0;
}

static const struct layout *read_edited(void **state, const char *name, const char *const *edits)
{
	struct place *place = *state;

	export_read_edited(name, edits, &place->arena, &place->layout);
	return &place->layout;
}

static const struct layout *read_export(void **state, const char *name)
{
	struct place *place = *state;

	export_read(name, &place->arena, &place->layout);
	return &place->layout;
}

/* The addresses from the root to the card: "0000:2b:00.0 0000:2c:00.0 0000:34:00.0". */
static const char *path_of(const struct layout *layout, const struct layout_gpu *gpu)
{
	static char text[512];
	uint32_t path[16] = {0};
	size_t n = 0, len = 0;

	for (uint32_t b = gpu->bridge; b != LAYOUT_NONE; b = layout->bridges[b].parent)
		path[n++] = b;
	while (n-- > 0)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%.*s ",
					STR_ARGS(layout->bridges[path[n]].pci));
	snprintf(text + len, sizeof(text) - len, "%.*s", STR_ARGS(gpu->pci));
	return text;
}

static void every_export_is_read_whole(void **state)
{
	static const struct {
		const char *name;
		size_t n_numas, n_bridges, n_gpus, n_links;
	} rows[] = {
		{DGX2, 2, 40, 16, 120},
		{POWER8, 2, 4, 4, 2},
		{POWER9, 8, 0, 0, 0},
		{HP, 2, 3, 3, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct layout *layout = read_export(state, rows[i].name);

		print_message("%s\n", rows[i].name);
		assert_int_equal(layout->n_numas, rows[i].n_numas);
		assert_int_equal(layout->n_bridges, rows[i].n_bridges);
		assert_int_equal(layout->n_gpus, rows[i].n_gpus);
		assert_int_equal(layout->n_links, rows[i].n_links);
		assert_non_null(layout->distances);
	}
}

static void what_is_read_can_be_published(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(exports); i++) {
		struct place *place = *state;
		struct error err = {0};
		struct layout published;
		struct buf body;

		read_export(state, exports[i]);
		place->layout.writer = STR("test");
		buf_init(&body, LIMIT_LAYOUT);
		api_body_layout(&body, &place->layout);
		assert_false(body.overflowed);
		if (api_read_layout(buf_str(&body), &place->arena, &published, &err) < 0)
			fail_msg("%s: %s", exports[i], err.message);
		assert_true(layouts_equal(&place->layout, &published));
		buf_clear(&body);
	}
}

static void a_card_has_its_place_in_the_tree(void **state)
{
	const struct layout *layout = read_export(state, DGX2);

	assert_string_equal(path_of(layout, &layout->gpus[0]),
			    "0000:2b:00.0 0000:2c:00.0 0000:2d:04.0 0000:32:00.0 0000:33:00.0 "
			    "0000:34:00.0");
	assert_string_equal(path_of(layout, &layout->gpus[15]),
			    "0000:d7:00.0 0000:d8:00.0 0000:d9:0c.0 0000:e3:00.0 0000:e4:10.0 "
			    "0000:e7:00.0");
	for (uint32_t i = 0; i < 16; i++) {
		assert_int_equal(layout->gpus[i].index, i);
		assert_int_equal(layout->gpus[i].numa, i / 8);
		assert_int_equal(layout->gpus[i].speed, 15753846000);
	}
	for (size_t i = 0; i < layout->n_bridges; i++) {
		assert_int_equal(layout->bridges[i].speed, 15753846000);
		assert_true(layout->bridges[i].parent == LAYOUT_NONE ||
			    layout->bridges[i].parent < i);
	}
}

static void a_card_is_what_its_driver_says(void **state)
{
	const struct layout *layout = read_export(state, DGX2);

	assert_str(layout->gpus[0].uuid, "GPU-d3977428-7a30-086b-2e20-5c1eeed647c6");
	assert_str(layout->gpus[0].product, "Tesla-V100-SXM3-32GB-H");
	assert_int_equal(layout->gpus[0].memory, AMOUNT_UNKNOWN);
	layout = read_export(state, POWER8);
	assert_str(layout->gpus[1].uuid, "GPU-00fc8f7f-8206-b5f8-1d34-e600a300e314");
	assert_str(layout->gpus[1].product, "Tesla-P100-SXM2-16GB");
	assert_int_equal(layout->gpus[1].memory, 16671616LL * 1024);
	assert_int_equal(layout->gpus[1].health, LAYOUT_HEALTH_UNKNOWN);
	assert_int_equal(layout->gpus[1].sharing, DEVICE_OTHER);
}

static void a_card_that_no_driver_has_is_one_too(void **state)
{
	const struct layout *layout = read_export(state, HP);

	assert_str(layout->gpus[0].pci, "0000:06:00.0");
	for (size_t i = 0; i < layout->n_gpus; i++) {
		assert_true(str_empty(layout->gpus[i].uuid));
		assert_true(str_empty(layout->gpus[i].product));
		assert_int_equal(layout->gpus[i].index, LAYOUT_NONE);
		assert_int_equal(layout->gpus[i].memory, AMOUNT_UNKNOWN);
	}
}

static void cpus_are_listed_as_the_kernel_does(void **state)
{
	const struct layout *layout = read_export(state, POWER8);

	assert_str(layout->numas[0].cpus, "0-1,8-9,16-17,24-25");
	assert_int_equal(layout->numas[0].n_cpus, 8);
	assert_int_equal(layout->numas[0].memory, 68556816384);
	assert_int_equal(layout->distances[0], 10);
	assert_int_equal(layout->distances[1], 40);
	layout = read_export(state, HP);
	assert_str(layout->numas[1].cpus, "1,3,5,7,9,11,13,15,17,19,21,23");
}

static void memory_of_cards_has_no_cpus(void **state)
{
	const struct layout *layout = read_export(state, POWER9);
	static const uint32_t ids[] = {0, 8, 250, 251, 252, 253, 254, 255};

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		assert_int_equal(layout->numas[i].id, ids[i]);
		assert_int_equal(layout->numas[i].n_cpus, i < 2 ? 16 : 0);
		assert_int_equal(str_empty(layout->numas[i].cpus), i >= 2);
		assert_int_equal(layout->distances[i * ARRAY_SIZE(ids) + i], 10);
	}
	assert_int_equal(layout->numas[7].memory, 16106127360);
	assert_int_equal(layout->distances[1], 40);
	assert_int_equal(layout->distances[7], 80);
}

static void nvlinks_of_switches_join_all_cards(void **state)
{
	const struct layout *layout = read_export(state, DGX2);
	size_t i = 0;

	for (uint32_t a = 0; a < 16; a++)
		for (uint32_t b = a + 1; b < 16; b++, i++) {
			assert_int_equal(layout->links[i].a, a);
			assert_int_equal(layout->links[i].b, b);
			assert_int_equal(layout->links[i].bandwidth, 150000000000);
		}
}

static void nvlinks_to_cpus_join_no_cards(void **state)
{
	const struct layout *layout = read_export(state, POWER8);

	assert_int_equal(layout->n_links, 2);
	assert_int_equal(layout->links[0].a, 0);
	assert_int_equal(layout->links[0].b, 1);
	assert_int_equal(layout->links[0].bandwidth, 40000000000);
	assert_int_equal(layout->links[1].a, 2);
	assert_int_equal(layout->links[1].b, 3);
}

static void a_link_is_as_fast_as_its_slower_direction(void **state)
{
	static const char *const slower[] = {"1000000 40000 0 0", "1000000 20000 0 0", NULL};
	static const char *const one_way[] = {"1000000 40000 0 0", "1000000 00000 0 0", NULL};

	assert_int_equal(read_edited(state, POWER8, slower)->links[0].bandwidth, 20000000000);
	assert_int_equal(read_edited(state, POWER8, one_way)->n_links, 1);
}

/* The only VGA chip of the HP is one that shows the console. */
static void gpus_are_known_by_class_and_vendor(void **state)
{
	static const struct {
		const char *pci_type;
		bool gpu;
	} rows[] = {
		{"0300 [1002:515e]", false}, {"0300 [1002:4752]", false},
		{"0300 [1002:73bf]", true},  {"0380 [1002:740f]", true},
		{"1200 [1002:74a1]", true},  {"0380 [8086:0bd5]", true},
		{"1200 [8086:7d1d]", false}, {"0300 [10de:1db8]", true},
		{"0302 [10de:2330]", true},  {"0680 [10de:22a3]", false},
		{"0300 [102b:0532]", false}, {"0300 [1a03:2000]", false},
		{"0200 [8086:10c9]", false}, {"0403 [10de:0e1a]", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *edits[] = {"0300 [1002:515e]", rows[i].pci_type, NULL};
		const struct layout *layout = read_edited(state, HP, edits);

		print_message("%s\n", rows[i].pci_type);
		assert_int_equal(layout->n_gpus, rows[i].gpu ? 4 : 3);
		if (rows[i].gpu)
			assert_string_equal(path_of(layout, &layout->gpus[0]),
					    "0000:00:1e.0 0000:01:03.0");
	}
}

static void a_product_is_as_a_label_has_it(void **state)
{
	static const struct {
		const char *model, *product;
	} rows[] = {
		{"NVIDIA H100 80GB HBM3", "NVIDIA-H100-80GB-HBM3"},
		{"  NVIDIA  A100 (PCIe) ", "NVIDIA-A100-PCIe"},
		{"(c)/", "c"},
		{"", ""},
		{"a card whose name is so long that it would never fit into any label", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char value[256];
		const char *edits[] = {"value=\"Tesla V100-SXM3-32GB-H\"", value, NULL};

		snprintf(value, sizeof(value), "value=\"%s\"", rows[i].model);
		assert_str(read_edited(state, DGX2, edits)->gpus[0].product, rows[i].product);
	}
}

static void what_hwloc_does_not_know_is_unknown(void **state)
{
	static const char *const edits[] = {
		"pci_busid=\"0000:34:00.0\" pci_type=\"0302 [10de:1db8] [10de:131d] a1\" "
		"pci_link_speed=\"15.753846\"",
		"pci_busid=\"0000:34:00.0\" pci_type=\"0302 [10de:1db8] [10de:131d] a1\" "
		"pci_link_speed=\"0.000000\"",
		"name=\"nvml0\"",
		"name=\"card0\"",
		"10 21 21 10",
		"10 21 21 30",
		"name=\"NVLinkBandwidth\"",
		"name=\"Other\"",
		NULL,
	};
	const struct layout *layout = read_edited(state, DGX2, edits);

	assert_int_equal(layout->gpus[0].speed, AMOUNT_UNKNOWN);
	assert_int_equal(layout->gpus[0].index, LAYOUT_NONE);
	assert_true(str_empty(layout->gpus[0].uuid));
	assert_null(layout->distances);
	assert_int_equal(layout->n_links, 0);
}

/* All that is below a bus of the second package, put below the machine. */
static void a_card_near_all_nodes_is_near_none(void **state)
{
	static const char first[] = "      <object type=\"Bridge\" gp_index=\"718\"";
	static const char end[] = "\n      </object>\n", machine_end[] = "\n  </object>\n";
	struct place *place = *state;
	struct error err = {0};
	struct buf text, moved;
	const char *from, *to, *last;

	buf_init(&text, 1024 * 1024);
	buf_init(&moved, 1024 * 1024);
	export_text(DGX2, ".xml", &text);
	from = strstr(text.data, first);
	assert_non_null(from);
	to = strstr(from, end);
	last = strstr(from, machine_end);
	assert_true(to && last && to < last);
	to += strlen(end);
	buf_add(&moved, text.data, (size_t)(from - text.data));
	buf_add(&moved, to, (size_t)(last + 1 - to));
	buf_add(&moved, from, (size_t)(to - from));
	buf_add_cstr(&moved, last + 1);
	if (export_read_text(buf_str(&moved), &place->arena, &place->layout, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(place->layout.n_gpus, 16);
	assert_int_equal(place->layout.gpus[11].numa, 1);
	assert_int_equal(place->layout.gpus[12].numa, LAYOUT_NONE);
	assert_int_not_equal(place->layout.gpus[12].bridge, LAYOUT_NONE);
	buf_clear(&text);
	buf_clear(&moved);
}

static void what_is_no_export_is_refused(void **state)
{
	struct place *place = *state;
	struct error err = {0};
	static const char *const texts[] = {
		"", "{}", "<topology version=\"2.0\">",
		"<topology version=\"2.0\"><object type=\"Machine\"></object></topology>"};

	place->layout.n_gpus = 77;
	assert_int_equal(
		machine_read("/nonexistent.xml", &place->arena, &place->layout, NULL, &err), -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
	assert_string_equal(err.message, "/nonexistent.xml: No such file or directory");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(
			export_read_text(str_from(texts[i]), &place->arena, &place->layout, &err),
			-1);
		assert_int_equal(err.kind, ERROR_SYSTEM);
	}
	assert_int_equal(place->layout.n_gpus, 77);
}

static void a_small_arena_is_a_limit(void **state UNUSED)
{
	struct error err = {0};
	struct layout layout;

	for (size_t limit = 64; limit < 4096; limit += 64) {
		struct arena arena;
		int result;

		arena_init(&arena, limit);
		result = machine_read("tests/data/topology/power8-p100.xml", &arena, &layout, NULL,
				      &err);
		arena_clear(&arena);
		if (result == 0)
			return;
		assert_int_equal(err.kind, ERROR_LIMIT);
	}
	fail_msg("never enough");
}

/* Whatever it is that runs the tests. */
static void this_machine_has_a_cpu(void **state)
{
	struct place *place = *state;
	struct error err = {0};
	uint32_t n_cpus = 0;

	if (machine_read(NULL, &place->arena, &place->layout, NULL, &err) < 0)
		fail_msg("%s", err.message);
	for (size_t i = 0; i < place->layout.n_numas; i++)
		n_cpus += place->layout.numas[i].n_cpus;
	assert_true(n_cpus > 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_export_is_read_whole),
		TEST(what_is_read_can_be_published),
		TEST(a_card_has_its_place_in_the_tree),
		TEST(a_card_is_what_its_driver_says),
		TEST(a_card_that_no_driver_has_is_one_too),
		TEST(cpus_are_listed_as_the_kernel_does),
		TEST(memory_of_cards_has_no_cpus),
		TEST(nvlinks_of_switches_join_all_cards),
		TEST(nvlinks_to_cpus_join_no_cards),
		TEST(a_link_is_as_fast_as_its_slower_direction),
		TEST(gpus_are_known_by_class_and_vendor),
		TEST(a_product_is_as_a_label_has_it),
		TEST(what_hwloc_does_not_know_is_unknown),
		TEST(a_card_near_all_nodes_is_near_none),
		TEST(what_is_no_export_is_refused),
		TEST(a_small_arena_is_a_limit),
		TEST(this_machine_has_a_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
