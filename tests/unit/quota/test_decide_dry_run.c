/* SPDX-License-Identifier: Apache-2.0 */
/* What enforcing would have refused, and that nothing else is written in DryRun. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/macros.h"
#include "unit/quota/world.h"

#define MOST_PODS 64

/* The pods of the world; times are seconds after DryRun began. */
struct pods {
	struct quota_holder pods[MOST_PODS];
	struct resource_amount units[MOST_PODS];
	size_t n;
};

static struct quota_holder *add(struct pods *pods, const char *name, int64_t second, int64_t charge)
{
	struct quota_holder *pod = &pods->pods[pods->n++];

	*pod = (struct quota_holder){
		.name = str_from(name),
		.charge = charge,
		.created_us = WORLD_NOW_REAL_US + second * USEC_PER_SEC,
	};
	return pod;
}

static struct quota_holder *add_of(struct pods *pods, const char *job, int64_t second,
				   int64_t charge)
{
	struct quota_holder *pod = add(pods, job, second, charge);

	pod->owner_kind = STR("Job");
	pod->owner_name = str_from(job);
	return pod;
}

/* Looks at the pods when all of them are old enough. */
static void look(struct world *w, struct pods *pods, int64_t second)
{
	w->view.holders = pods->pods;
	w->view.n_holders = pods->n;
	w->view.now_real_us = WORLD_NOW_REAL_US + second * USEC_PER_SEC + DRY_RUN_RIPE_US;
	world_converge(w);
}

static void begin(struct world *w, struct pods *pods)
{
	*pods = (struct pods){0};
	w->spec.dry_run = true;
	w->spec.gpu_memory = 100 * GIB;
	w->view.holders = pods->pods;
	world_converge(w);
}

static const struct dry_run_row *find(const struct world *w, const char *kind, const char *name)
{
	const struct dry_run_status *status = &w->plan.status.dry_run;

	for (size_t i = 0; i < status->n_rows; i++)
		if (str_equal(status->rows[i].kind, str_from(kind)) &&
		    str_equal(status->rows[i].name, str_from(name)))
			return &status->rows[i];
	return NULL;
}

static void assert_refused(const struct world *w, const char *name, int64_t pods)
{
	const struct dry_run_row *row = find(w, "Pod", name);

	if (!row)
		row = find(w, "Job", name);
	assert_int_equal(row ? row->pods : 0, pods);
}

static void test_nothing_is_written_but_status(void **state)
{
	const struct resource_amount defaults[] = {{STR("nvidia.com/gpu"), 1}};
	const struct quota_holder none[1] = {0};
	struct world *w = *state;

	w->spec.defaults = defaults;
	w->spec.n_defaults = 1;
	world_converge(w);
	assert_true(w->view.resource_quota.exists && w->view.limit_range.exists);
	w->spec.dry_run = true;
	world_decide(w);
	world_assert_sane(w);
	assert_true(w->plan.governs && w->plan.needs_holders);
	assert_true(w->plan.delete_resource_quota && w->plan.delete_limit_range);
	assert_true(w->plan.status_urgent);
	assert_false(w->plan.write_resource_quota || w->plan.write_limit_range);
	assert_condition(w, QUOTA_READY, CONDITION_FALSE, QUOTA_REASON_PENDING);
	w->view.holders = none;
	world_converge(w);
	world_assert_sane(w);
	assert_false(w->plan.needs_holders || w->view.resource_quota.exists);
	assert_condition(w, QUOTA_READY, CONDITION_TRUE, QUOTA_REASON_DRY_RUN);
	assert_condition(w, QUOTA_ACCEPTED, CONDITION_TRUE, QUOTA_REASON_ACCEPTED);
	assert_condition(w, QUOTA_DRIFTED, CONDITION_FALSE, QUOTA_REASON_IN_SYNC);
	assert_int_equal(w->plan.status.effective, 320 * GIB);
	assert_int_equal(world_row(w, "nvidia.com/gpu", "NVIDIA-H100")->hard, 4);
	w->view.resource_quota.exists = true;
	w->view.resource_quota.foreign_manager = STR("kubectl-edit");
	world_decide(w);
	assert_false(w->plan.delete_resource_quota);
	assert_condition(w, QUOTA_DRIFTED, CONDITION_FALSE, QUOTA_REASON_IN_SYNC);
	w->spec.dry_run = false;
	world_converge(w);
	assert_condition(w, QUOTA_READY, CONDITION_TRUE, QUOTA_REASON_ENFORCED);
	assert_int_equal(w->plan.status.dry_run.since_us, 0);
	assert_int_equal(w->plan.status.dry_run.n_rows, 0);
}

static void test_a_cut_in_dry_run_evicts_nobody(void **state)
{
	struct world *w = *state;
	struct pods pods;

	w->spec.on_shrink = SHRINK_EVICT;
	begin(w, &pods);
	w->view.used = 90 * GIB;
	add(&pods, "a", -5, 90 * GIB);
	look(w, &pods, 1);
	w->spec.gpu_memory = 50 * GIB;
	world_decide(w);
	world_assert_sane(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_OVER_LIMIT);
	assert_null(w->plan.evict);
}

static void test_who_does_not_fit_is_counted_by_workload(void **state)
{
	struct world *w = *state;
	struct pods pods;

	begin(w, &pods);
	add(&pods, "before", -1, 60 * GIB);
	add_of(&pods, "train", 0, 40 * GIB);
	add_of(&pods, "train", 1, 40 * GIB);
	add_of(&pods, "train", 2, 50 * GIB);
	add(&pods, "alone", 3, 1);
	add(&pods, "nothing", 4, 0);
	look(w, &pods, 9);
	assert_int_equal(w->plan.status.dry_run.since_us, WORLD_NOW_REAL_US);
	assert_int_equal(w->plan.status.dry_run.through_us, WORLD_NOW_REAL_US + 5 * USEC_PER_SEC);
	assert_int_equal(w->plan.status.dry_run.refused, 3);
	assert_int_equal(w->plan.status.dry_run.n_rows, 2);
	assert_refused(w, "train", 2);
	assert_int_equal(find(w, "Job", "train")->gpu_memory, 90 * GIB);
	assert_refused(w, "alone", 1);
	assert_true(&w->plan.status.dry_run.rows[0] == find(w, "Job", "train"));
}

static void test_who_is_refused_holds_nothing(void **state)
{
	struct world *w = *state;
	struct pods pods;

	begin(w, &pods);
	add(&pods, "first", 0, 60 * GIB);
	add(&pods, "large", 1, 50 * GIB);
	add(&pods, "small", 2, 40 * GIB);
	look(w, &pods, 9);
	assert_refused(w, "large", 1);
	assert_refused(w, "small", 0);
	/* Looked at again, the large one is not counted and still holds nothing. */
	add(&pods, "late", 3, GIB);
	look(w, &pods, 19);
	assert_refused(w, "large", 1);
	assert_refused(w, "late", 1);
	assert_int_equal(w->plan.status.dry_run.refused, 2);
}

static void test_all_that_admission_bounds_may_refuse(void **state)
{
	const struct resource_amount cap = {STR("nvidia.com/mig-1g.10gb"), 3};
	static const struct {
		const char *name;
		int64_t charge, gpus, slices;
		bool refused;
	} cases[] = {
		{"perPod, memory", 51 * GIB, 0, 0, true},
		{"perPod, memory, just so", 50 * GIB, 0, 0, false},
		{"perPod, cards", GIB, 3, 0, true},
		{"cards", GIB, 2, 0, false},
		{"cards, one too many", GIB, 2, 0, true},
		{"the last card", GIB, 1, 0, false},
		{"slices", GIB, 0, 2, false},
		{"slices, one too many", GIB, 0, 2, true},
		{"the last slice", GIB, 0, 1, false},
		{"memory, one too many", 48 * GIB, 0, 0, true},
	};
	struct world *w = *state;
	struct pods pods;

	begin(w, &pods);
	w->spec.pod_gpu_memory = 50 * GIB;
	w->spec.pod_gpus = 2;
	w->spec.gpus = 3;
	w->spec.caps = &cap;
	w->spec.n_caps = 1;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct quota_holder *pod = add(&pods, cases[i].name, (int64_t)i, cases[i].charge);

		pod->gpus = cases[i].gpus;
		pods.units[i] = (struct resource_amount){cap.resource, cases[i].slices};
		pod->units = &pods.units[i];
		pod->n_units = 1;
	}
	look(w, &pods, 99);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if ((find(w, "Pod", cases[i].name) != NULL) != cases[i].refused)
			fail_msg("%s", cases[i].name);
}

static void test_young_pods_wait_until_their_second_is_told(void **state)
{
	struct world *w = *state;
	struct pods pods;

	begin(w, &pods);
	add(&pods, "a", 5, 101 * GIB);
	w->view.n_holders = pods.n;
	w->view.now_real_us = pods.pods[0].created_us + DRY_RUN_RIPE_US - 1;
	world_decide(w);
	assert_refused(w, "a", 0);
	assert_int_equal(w->plan.look_again_us, w->view.now_us + 1);
	w->view.now_real_us++;
	world_decide(w);
	assert_refused(w, "a", 1);
	assert_true(w->plan.write_status);
	assert_false(w->plan.status_urgent);
	assert_int_equal(w->plan.look_again_us, TIME_NEVER);
}

/* A restart knows the status alone, as every decision does. */
static void test_a_pod_is_counted_once(void **state)
{
	struct world *w = *state;
	struct pods pods;

	begin(w, &pods);
	add_of(&pods, "train", 0, 101 * GIB);
	look(w, &pods, 9);
	look(w, &pods, 10);
	assert_refused(w, "train", 1);
	pods.n = 0;
	look(w, &pods, 20);
	assert_refused(w, "train", 1);
	add_of(&pods, "train", 21, 101 * GIB);
	look(w, &pods, 30);
	assert_refused(w, "train", 2);
	assert_int_equal(w->plan.status.dry_run.refused, 2);
	w->spec.gpu_memory = GIB;
	look(w, &pods, 40);
	assert_int_equal(w->plan.status.dry_run.refused, 2);
}

static void test_the_list_keeps_those_with_most_pods(void **state)
{
	static char names[LIMIT_DRY_RUN_ROWS + 8][8];
	struct world *w = *state;
	struct pods pods;

	begin(w, &pods);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(names[i], sizeof(names[i]), "job%zu", i);
		add_of(&pods, names[i], 1, 101 * GIB);
	}
	add_of(&pods, names[ARRAY_SIZE(names) - 1], 2, 101 * GIB);
	look(w, &pods, 9);
	assert_int_equal(w->plan.status.dry_run.refused, ARRAY_SIZE(names) + 1);
	assert_int_equal(w->plan.status.dry_run.n_rows, LIMIT_DRY_RUN_ROWS);
	assert_int_equal(w->plan.status.dry_run.rows[0].pods, 2);
	assert_refused(w, names[ARRAY_SIZE(names) - 1], 2);
}

static void test_a_full_arena_is_an_error(void **state)
{
	struct world *w = *state;
	struct error err = {0};
	struct pods pods;
	int64_t again_us;
	struct dry_run_status status;
	struct dry_run_view view = {.spec = &w->spec, .holders = pods.pods, .n_holders = 2};
	struct arena arena;

	begin(w, &pods);
	add(&pods, "a", 0, 101 * GIB);
	add(&pods, "b", 0, 101 * GIB);
	view.now_real_us = WORLD_NOW_REAL_US;
	for (size_t room = 16; room <= 64; room += 16) {
		arena_init(&arena, room);
		assert_int_equal(quota_dry_run(&view, &arena, &status, &again_us, &err), -1);
		assert_int_equal(err.kind, ERROR_LIMIT);
		arena_clear(&arena);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nothing_is_written_but_status),
		TEST(test_a_cut_in_dry_run_evicts_nobody),
		TEST(test_who_does_not_fit_is_counted_by_workload),
		TEST(test_who_is_refused_holds_nothing),
		TEST(test_all_that_admission_bounds_may_refuse),
		TEST(test_young_pods_wait_until_their_second_is_told),
		TEST(test_a_pod_is_counted_once),
		TEST(test_the_list_keeps_those_with_most_pods),
		TEST(test_a_full_arena_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
