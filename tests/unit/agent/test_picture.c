/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures: those of real machines are in tests/data/topology, *.txt beside the exports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/picture.h"
#include "exports.h"
#include "lib/layouts.h"

#define PICTURE_MAX (1024 * 1024)

static void assert_drawn(const struct layout *layout, bool ascii, struct str expected)
{
	struct buf picture;

	buf_init(&picture, PICTURE_MAX);
	picture_draw(layout, ascii, &picture);
	assert_false(picture.overflowed);
	if (!str_equal(buf_str(&picture), expected)) {
		fwrite(picture.data, 1, picture.len, stderr);
		fail_msg("drawn otherwise");
	}
	buf_clear(&picture);
}

static void exports_are_drawn_as_recorded(void **state UNUSED)
{
	static const char *const exports[] = {"nvidia-dgx2", "power8-p100", "power9-gpu-memory",
					      "proliant-sl390s"};

	for (size_t i = 0; i < ARRAY_SIZE(exports); i++) {
		struct arena arena;
		struct layout layout;
		struct buf text;

		arena_init(&arena, 1024 * 1024);
		buf_init(&text, PICTURE_MAX);
		export_read(exports[i], &arena, &layout);
		export_text(exports[i], ".txt", &text);
		assert_drawn(&layout, false, buf_str(&text));
		arena_clear(&arena);
		buf_clear(&text);
	}
}

/*
 * Two cards on one switch, of which one is cut, another on a root, one of no known node.
 * size: a machine in full.
 */
static void what_only_drivers_know_is_drawn(void **state UNUSED)
{
	const struct layout_mig migs[] = {
		{STR("1g.10gb"), 4, 9728 * MIB},
		{STR("3g.40gb"), 1, AMOUNT_UNKNOWN},
	};
	const struct layout_numa numas[] = {
		{0, STR("0-23,48-71"), 48, 512 * GIB},
		{2, STR_NONE, 0, 96 * GIB},
	};
	const struct layout_bridge bridges[] = {
		{LAYOUT_NONE, STR("0000:16:02.0"), 63000000000},
		{0, STR("0000:17:00.0"), AMOUNT_UNKNOWN},
	};
	const struct layout_gpu gpus[] = {
		{.pci = STR("0000:1b:00.0"),
		 .product = STR("NVIDIA-H100-80GB-HBM3"),
		 .index = 0,
		 .bridge = 1,
		 .speed = 63000000000,
		 .memory = 81559 * MIB,
		 .sharing = DEVICE_MIG,
		 .health = LAYOUT_HEALTH_OK,
		 .migs = migs,
		 .n_migs = ARRAY_SIZE(migs)},
		{.pci = STR("0000:1c:00.0"),
		 .product = STR("a \033[31mred\033[0m card"),
		 .index = 1,
		 .bridge = 1,
		 .speed = 250000000,
		 .memory = 80 * GIB,
		 .sharing = DEVICE_TIME_SLICED,
		 .health = LAYOUT_HEALTH_FAILED},
		{.pci = STR("0001:00:01.0"),
		 .index = LAYOUT_NONE,
		 .bridge = LAYOUT_NONE,
		 .speed = AMOUNT_UNKNOWN,
		 .memory = AMOUNT_UNKNOWN,
		 .sharing = DEVICE_OTHER},
		{.pci = STR("10000:00:01.0"),
		 .index = 7,
		 .numa = LAYOUT_NONE,
		 .bridge = LAYOUT_NONE,
		 .speed = AMOUNT_UNKNOWN,
		 .memory = AMOUNT_UNKNOWN,
		 .sharing = DEVICE_WHOLE},
	};
	const struct layout_link links[] = {{0, 1, 450000000000}, {1, 3, 12500000000}};
	const struct layout layout = {
		.kubelet = {LAYOUT_POLICY_SINGLE_NUMA, true, true},
		.numas = numas,
		.n_numas = ARRAY_SIZE(numas),
		.bridges = bridges,
		.n_bridges = ARRAY_SIZE(bridges),
		.gpus = gpus,
		.n_gpus = ARRAY_SIZE(gpus),
		.links = links,
		.n_links = ARRAY_SIZE(links),
	};
	struct buf text;

	buf_init(&text, PICTURE_MAX);
	export_text("all-kinds", ".txt", &text);
	assert_drawn(&layout, true, buf_str(&text));
	buf_clear(&text);
}

static void nothing_known_is_drawn_as_nothing(void **state UNUSED)
{
	static const struct layout nothing;

	assert_drawn(&nothing, false, STR("0 NUMA nodes, 0 GPUs, 0 NVLink pairs\n"));
}

/* A hundred columns, by code points; printable; in ASCII no byte beyond. */
static void assert_lines(struct str text, bool ascii)
{
	struct str line, rest = text;

	while (str_split(rest, '\n', &line, &rest)) {
		size_t columns = 0;

		for (size_t i = 0; i < line.len; i++) {
			unsigned char c = (unsigned char)line.data[i];

			assert_true(c >= ' ' && c != 0x7f);
			assert_true(!ascii || c < 0x7f);
			columns += (c & 0xc0) != 0x80;
		}
		assert_true(columns <= PICTURE_WIDTH);
	}
	assert_true(str_empty(rest));
}

static void any_machine_fits_in_the_terminal(void **state UNUSED)
{
	static struct machine machine;
	struct random random;

	random_init(&random, 1);
	for (size_t i = 0; i < 200; i++) {
		struct buf picture;

		machine_random(&machine, &random, 1 + i % LIMIT_LAYOUT_GPUS);
		buf_init(&picture, PICTURE_MAX);
		picture_draw(&machine.layout, i % 2, &picture);
		assert_false(picture.overflowed);
		assert_lines(buf_str(&picture), i % 2);
		buf_clear(&picture);
	}
}

/* A chain of as many bridges as there may be, and a comb: each bridge with a card beside the next.
 */
static void the_deepest_tree_is_cut(void **state UNUSED)
{
	static struct layout_bridge bridges[LIMIT_LAYOUT_BRIDGES];
	static struct layout_gpu gpus[LIMIT_LAYOUT_GPUS];
	const struct layout_numa numa = {0, STR("0"), 1, GIB};
	struct layout layout = {.numas = &numa,
				.n_numas = 1,
				.bridges = bridges,
				.n_bridges = LIMIT_LAYOUT_BRIDGES,
				.gpus = gpus,
				.n_gpus = LIMIT_LAYOUT_GPUS};
	struct buf picture;

	for (uint32_t i = 0; i < LIMIT_LAYOUT_BRIDGES; i++)
		bridges[i] = (struct layout_bridge){i == 0 ? LAYOUT_NONE : i - 1,
						    STR("0000:00:00.0"), AMOUNT_UNKNOWN};
	for (uint32_t i = 0; i < LIMIT_LAYOUT_GPUS; i++)
		gpus[i] = (struct layout_gpu){.pci = STR("0000:00:00.0"),
					      .index = i,
					      .bridge = LIMIT_LAYOUT_BRIDGES - 1 - i};
	buf_init(&picture, PICTURE_MAX);
	picture_draw(&layout, false, &picture);
	assert_false(picture.overflowed);
	assert_lines(buf_str(&picture), false);
	buf_clear(&picture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exports_are_drawn_as_recorded),
		cmocka_unit_test(what_only_drivers_know_is_drawn),
		cmocka_unit_test(nothing_known_is_drawn_as_nothing),
		cmocka_unit_test(any_machine_fits_in_the_terminal),
		cmocka_unit_test(the_deepest_tree_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
