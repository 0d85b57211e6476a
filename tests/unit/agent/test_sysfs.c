/* SPDX-License-Identifier: Apache-2.0 */
/* What small files tell of cards, in a folder that stands for /sys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/sysfs.h"

#define CARD "/bus/pci/devices/0000:03:00.0"

static const char *const folders[] = {"", "/bus", "/bus/pci", "/bus/pci/devices", CARD};
static const char *const files[] = {"numa_node", "mem_info_vram_total", "product_name"};

struct place {
	char root[64];
	struct arena arena;
};

static int set_up(void **state)
{
	static struct place place;
	char path[256];

	snprintf(place.root, sizeof(place.root), "/tmp/gpuqos-sysfs-XXXXXX");
	assert_non_null(mkdtemp(place.root));
	for (size_t i = 1; i < ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof(path), "%s%s", place.root, folders[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	arena_init(&place.arena, 1024 * 1024);
	*state = &place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;
	char path[256];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "%s" CARD "/%s", place->root, files[i]);
		unlink(path);
	}
	for (size_t i = ARRAY_SIZE(folders); i-- > 0;) {
		snprintf(path, sizeof(path), "%s%s", place->root, folders[i]);
		assert_int_equal(rmdir(path), 0);
	}
	arena_clear(&place->arena);
	return 0;
}

static void write_file(const struct place *place, const char *file, const char *text)
{
	char path[256];
	FILE *out;

	snprintf(path, sizeof(path), "%s" CARD "/%s", place->root, file);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

static struct layout_gpu fill(struct place *place, struct layout_gpu gpu)
{
	static const struct layout_numa numas[] = {
		{.id = 0, .n_cpus = 4}, {.id = 2, .n_cpus = 4}, {.id = 3, .n_cpus = 0}};
	struct layout layout = {.numas = numas, .n_numas = 3, .gpus = &gpu, .n_gpus = 1};
	struct error err = {0};

	if (sysfs_fill(place->root, &layout, &place->arena, &layout, &err) < 0)
		fail_msg("%s", err.message);
	return layout.gpus[0];
}

static const struct layout_gpu unknown = {
	.pci = {"0000:03:00.0", 12}, .numa = LAYOUT_NONE, .memory = AMOUNT_UNKNOWN};

static const struct {
	const char *text;
	uint32_t numa;
} nodes[] = {
	{"2\n", 1},
	{"0\n", 0},
	{"-1\n", LAYOUT_NONE},
	{"1\n", LAYOUT_NONE},
	{"3\n", LAYOUT_NONE},
	{"", LAYOUT_NONE},
	{"two\n", LAYOUT_NONE},
	{"4294967295\n", LAYOUT_NONE},
};

static void a_numa_node_is_one_that_has_cpus(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		write_file(*state, "numa_node", nodes[i].text);
		assert_int_equal(fill(*state, unknown).numa, nodes[i].numa);
	}
}

static void amd_tells_memory_and_product(void **state)
{
	struct layout_gpu gpu;

	write_file(*state, "mem_info_vram_total", "206141652992\n");
	write_file(*state, "product_name", "AMD Instinct MI300X OAM\n");
	gpu = fill(*state, unknown);
	assert_int_equal(gpu.memory, 206141652992);
	assert_true(str_equal(gpu.product, STR("AMD_Instinct_MI300X_OAM")));
}

static void what_is_known_stays(void **state)
{
	struct layout_gpu gpu = unknown;

	gpu.numa = 0;
	gpu.memory = 5;
	gpu.product = STR("A-Card");
	write_file(*state, "numa_node", "2\n");
	write_file(*state, "mem_info_vram_total", "206141652992\n");
	write_file(*state, "product_name", "AMD Instinct MI300X OAM\n");
	gpu = fill(*state, gpu);
	assert_int_equal(gpu.numa, 0);
	assert_int_equal(gpu.memory, 5);
	assert_true(str_equal(gpu.product, STR("A-Card")));
}

static void a_card_without_files_stays_unknown(void **state)
{
	struct layout_gpu gpu = fill(*state, unknown);

	assert_int_equal(gpu.numa, LAYOUT_NONE);
	assert_int_equal(gpu.memory, AMOUNT_UNKNOWN);
	assert_true(str_empty(gpu.product));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_numa_node_is_one_that_has_cpus, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(amd_tells_memory_and_product, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_known_stays, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_card_without_files_stays_unknown, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
