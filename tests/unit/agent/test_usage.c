/* SPDX-License-Identifier: Apache-2.0 */
/* From processes on cards to pods, by files that stand for /proc. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/usage.h"

#define POD_A "5c3e0f1a-0000-4000-8000-00000000000a"
#define POD_B "5c3e0f1a-0000-4000-8000-00000000000b"

static const struct {
	const char *sentence, *cgroup, *uid;
} cgroups[] = {
	{"systemd, burstable",
	 "0::/kubepods.slice/kubepods-burstable.slice/"
	 "kubepods-burstable-pod5c3e0f1a_0000_4000_8000_00000000000a.slice/cri-containerd-77.scope\n",
	 POD_A},
	{"systemd, guaranteed",
	 "0::/kubepods.slice/kubepods-pod5c3e0f1a_0000_4000_8000_00000000000b.slice/x\n", POD_B},
	{"cgroupfs", "0::/kubepods/besteffort/pod" POD_A "/0a1b\n", POD_A},
	{"version 1, a line for each controller",
	 "12:memory:/kubepods/pod" POD_A "/c\n11:cpu:/kubepods/pod" POD_A "/c\n", POD_A},
	{"within another slice", "0::/node.slice/kubelet-kubepods-pod" POD_B ".slice/c\n", POD_B},
	{"a service of the node", "0::/system.slice/nvidia-persistenced.service\n", NULL},
	{"a login", "0::/user.slice/user-0.slice/session-1.scope\n", NULL},
	{"an uid that is too short", "0::/kubepods/pod5c3e0f1a-0000-4000-8000-0000\n", NULL},
	{"an uid that is none", "0::/kubepods/podzc3e0f1a-0000-4000-8000-00000000000a/c\n", NULL},
	{"a name that only ends so", "0::/x/tripod" POD_A "\n", NULL},
	{"nothing", "", NULL},
	{"the word alone", "0::/kubepods/pod", NULL},
};

static void a_process_is_of_the_pod_of_its_cgroup(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cgroups); i++) {
		char uid[USAGE_UID_SIZE] = "untouched";
		bool found = usage_pod_uid(str_from(cgroups[i].cgroup), uid);

		if (found != (cgroups[i].uid != NULL) ||
		    strcmp(uid, found ? cgroups[i].uid : "untouched") != 0)
			fail_msg("%s: %s", cgroups[i].sentence, uid);
	}
}

struct place {
	char root[64];
	struct arena arena;
};

static const char *const names[] = {"101", "102", "103", "104"};

static int set_up(void **state)
{
	static struct place place;

	snprintf(place.root, sizeof(place.root), "/tmp/gpuqos-proc-XXXXXX");
	assert_non_null(mkdtemp(place.root));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char path[256];
		FILE *file;

		snprintf(path, sizeof(path), "%s/%s", place.root, names[i]);
		assert_int_equal(mkdir(path, 0700), 0);
		snprintf(path, sizeof(path), "%s/%s/cgroup", place.root, names[i]);
		file = fopen(path, "w");
		assert_non_null(file);
		fputs(i == 3   ? "0::/system.slice/x.service\n"
		      : i == 2 ? "0::/kubepods/pod" POD_B "/c\n"
			       : "0::/kubepods/pod" POD_A "/c\n",
		      file);
		fclose(file);
	}
	arena_init(&place.arena, 1024 * 1024);
	*state = &place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char path[256];

		snprintf(path, sizeof(path), "%s/%s/cgroup", place->root, names[i]);
		unlink(path);
		snprintf(path, sizeof(path), "%s/%s", place->root, names[i]);
		rmdir(path);
	}
	rmdir(place->root);
	arena_clear(&place->arena);
	return 0;
}

static const struct layout_gpu gpus[] = {{.pci = {"0000:01:00.0", 12}},
					 {.pci = {"0000:02:00.0", 12}}};
static const struct layout layout = {.gpus = gpus, .n_gpus = 2};

static void assert_row(const struct usage_row *row, uint32_t card, const char *pod, int64_t memory,
		       int percent)
{
	assert_int_equal(row->card, card);
	assert_string_equal(row->pod, pod);
	assert_int_equal(row->memory, memory);
	assert_int_equal(row->sm_percent, percent);
}

static void processes_of_one_pod_on_one_card_add_up(void **state)
{
	struct place *place = *state;
	const struct process_facts second[] = {{103, GIB, 40},
					       {101, 2 * GIB, 30},
					       {104, AMOUNT_UNKNOWN, -1},
					       {102, 3 * GIB, -1},
					       {999, GIB, 90}};
	const struct process_facts first[] = {{102, AMOUNT_UNKNOWN, 70}, {101, AMOUNT_UNKNOWN, 70}};
	const struct card_facts cards[] = {
		{.pci = gpus[1].pci, .processes = second, .n_processes = 5},
		{.pci = gpus[0].pci, .processes = first, .n_processes = 2},
		{.processes = first, .n_processes = 2}};
	const struct machine_facts facts = {.cards = cards, .n_cards = 3};
	struct usage usage;

	assert_true(usage_read(place->root, &layout, &facts, &place->arena, &usage));
	assert_int_equal(usage.n_rows, 4);
	assert_row(&usage.rows[0], 0, POD_A, AMOUNT_UNKNOWN, 100);
	assert_row(&usage.rows[1], 1, "", GIB, 90);
	assert_int_equal(usage.rows[1].processes, 2);
	assert_row(&usage.rows[2], 1, POD_A, 5 * GIB, 30);
	assert_row(&usage.rows[3], 1, POD_B, GIB, 40);
}

static void no_processes_are_no_rows(void **state)
{
	struct place *place = *state;
	const struct machine_facts facts = {0};
	struct usage usage;

	assert_true(usage_read(place->root, &layout, &facts, &place->arena, &usage));
	assert_int_equal(usage.n_rows, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_of_the_pod_of_its_cgroup),
		cmocka_unit_test_setup_teardown(processes_of_one_pod_on_one_card_add_up, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(no_processes_are_no_rows, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
