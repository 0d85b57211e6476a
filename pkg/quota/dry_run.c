/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk over the pods by age, then the merge of what it found with what the status had. Rows are
 * kept in two lists: those found are summed by workload first, so that one with a thousand pods is
 * one addition.
 */
#include "quota/dry_run.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/limits.h"
#include "base/macros.h"

struct walk {
	const struct dry_run_view *view;
	struct dry_run_status status; /* as it becomes */
	int64_t new_us;               /* pods created before were looked at before */
	int64_t memory, gpus;         /* held by those gone through */
	int64_t *units;               /* likewise, by the spec's caps */
	struct dry_run_row *rows;     /* found; room for one per holder and all before */
	size_t n_rows;
	int64_t again_us;
};

static int64_t full_second(int64_t real_us)
{
	return real_us - real_us % USEC_PER_SEC;
}

static int by_age(const void *a, const void *b)
{
	const struct quota_holder *const *left = a, *const *right = b;

	if ((*left)->created_us != (*right)->created_us)
		return (*left)->created_us < (*right)->created_us ? -1 : 1;
	return str_compare((*left)->name, (*right)->name);
}

static int by_workload(const void *a, const void *b)
{
	const struct dry_run_row *left = a, *right = b;
	int order = str_compare(left->kind, right->kind);

	return order != 0 ? order : str_compare(left->name, right->name);
}

static int most_pods_first(const void *a, const void *b)
{
	const struct dry_run_row *left = a, *right = b;

	if (left->pods != right->pods)
		return left->pods > right->pods ? -1 : 1;
	return by_workload(a, b);
}

static int64_t units_of(const struct quota_holder *holder, struct str resource)
{
	for (size_t i = 0; i < holder->n_units; i++)
		if (str_equal(holder->units[i].resource, resource))
			return holder->units[i].count;
	return 0;
}

static bool above(int64_t amount, int64_t limit)
{
	return limit != AMOUNT_NONE && amount > limit;
}

static bool fits(const struct walk *walk, const struct quota_holder *holder)
{
	const struct quota_spec *spec = walk->view->spec;

	if (above(holder->charge, spec->pod_gpu_memory) || above(holder->gpus, spec->pod_gpus))
		return false;
	if (holder->charge > 0 &&
	    above(saturating_add(walk->memory, holder->charge), walk->view->effective))
		return false;
	if (holder->gpus > 0 && above(saturating_add(walk->gpus, holder->gpus), walk->view->gpus))
		return false;
	for (size_t i = 0; i < spec->n_caps; i++) {
		int64_t units = units_of(holder, spec->caps[i].resource);

		if (units > 0 && saturating_add(walk->units[i], units) > spec->caps[i].count)
			return false;
	}
	return true;
}

static void hold(struct walk *walk, const struct quota_holder *holder)
{
	const struct quota_spec *spec = walk->view->spec;

	walk->memory = saturating_add(walk->memory, holder->charge);
	walk->gpus = saturating_add(walk->gpus, holder->gpus);
	for (size_t i = 0; i < spec->n_caps; i++)
		walk->units[i] =
			saturating_add(walk->units[i], units_of(holder, spec->caps[i].resource));
}

static void count(struct walk *walk, const struct quota_holder *holder)
{
	bool owned = !str_empty(holder->owner_name);

	walk->rows[walk->n_rows++] = (struct dry_run_row){
		.kind = owned ? holder->owner_kind : STR("Pod"),
		.name = owned ? holder->owner_name : holder->name,
		.pods = 1,
		.gpu_memory = holder->charge,
	};
	walk->status.refused = saturating_add(walk->status.refused, 1);
}

static void look_at(struct walk *walk, const struct quota_holder *holder)
{
	int64_t unripe_us = holder->created_us + DRY_RUN_RIPE_US - walk->view->now_real_us;
	bool fit = holder->created_us < walk->status.since_us || fits(walk, holder);

	if (fit)
		hold(walk, holder);
	if (holder->created_us < walk->new_us)
		return;
	if (unripe_us > 0) {
		walk->again_us = MIN(walk->again_us, unripe_us);
		return;
	}
	walk->status.through_us =
		MAX(walk->status.through_us, full_second(holder->created_us) + USEC_PER_SEC);
	if (!fit)
		count(walk, holder);
}

/* Sums up rows of the same workload, in place. */
static void merge(struct walk *walk)
{
	struct dry_run_row *rows = walk->rows;
	size_t n = 0;

	if (walk->n_rows > 1)
		qsort(rows, walk->n_rows, sizeof(*rows), by_workload);
	for (size_t i = 0; i < walk->n_rows; i++) {
		if (n == 0 || by_workload(&rows[n - 1], &rows[i]) != 0) {
			rows[n++] = rows[i];
			continue;
		}
		rows[n - 1].pods = saturating_add(rows[n - 1].pods, rows[i].pods);
		rows[n - 1].gpu_memory = saturating_add(rows[n - 1].gpu_memory, rows[i].gpu_memory);
	}
	if (n > 1)
		qsort(rows, n, sizeof(*rows), most_pods_first);
	walk->n_rows = MIN(n, (size_t)LIMIT_DRY_RUN_ROWS);
}

static bool copy_text(struct arena *arena, struct str *text)
{
	const char *copy = arena_strndup(arena, text->data, text->len);

	text->data = copy;
	return copy;
}

static bool give_rows(struct walk *walk, struct arena *arena)
{
	merge(walk);
	for (size_t i = 0; i < walk->n_rows; i++)
		if (!copy_text(arena, &walk->rows[i].kind) ||
		    !copy_text(arena, &walk->rows[i].name))
			return false;
	walk->status.rows = walk->rows;
	walk->status.n_rows = walk->n_rows;
	return true;
}

/* Goes on where the status is, or begins. */
static void begin(struct walk *walk)
{
	const struct dry_run_status *before = walk->view->before;

	walk->again_us = TIME_NEVER;
	if (before && before->since_us > 0) {
		walk->status.since_us = before->since_us;
		walk->status.through_us = MAX(before->through_us, before->since_us);
		walk->status.refused = before->refused;
	} else {
		walk->status.since_us = full_second(walk->view->now_real_us);
		walk->status.through_us = walk->status.since_us;
	}
	walk->new_us = walk->status.through_us;
}

static bool make_room(struct walk *walk, struct arena *arena)
{
	const struct dry_run_status *before = walk->view->before;
	size_t n = before && before->since_us > 0 ? before->n_rows : 0;

	walk->units = arena_alloc(arena, walk->view->spec->n_caps * sizeof(*walk->units));
	walk->rows = arena_alloc(arena, (walk->view->n_holders + n) * sizeof(*walk->rows));
	if (!walk->units || !walk->rows)
		return false;
	for (; walk->n_rows < n; walk->n_rows++)
		walk->rows[walk->n_rows] = before->rows[walk->n_rows];
	return true;
}

int quota_dry_run(const struct dry_run_view *view, struct arena *arena,
		  struct dry_run_status *ret_status, int64_t *ret_again_us, struct error *err)
{
	struct walk walk = {.view = view};
	const struct quota_holder **by_time =
		arena_alloc(arena, view->n_holders * sizeof(const struct quota_holder *));

	begin(&walk);
	if (!by_time || !make_room(&walk, arena))
		goto full;
	for (size_t i = 0; i < view->n_holders; i++)
		by_time[i] = &view->holders[i];
	if (view->n_holders > 1)
		qsort(by_time, view->n_holders, sizeof(const struct quota_holder *), by_age);
	for (size_t i = 0; i < view->n_holders; i++)
		look_at(&walk, by_time[i]);
	if (!give_rows(&walk, arena))
		goto full;
	*ret_status = walk.status;
	*ret_again_us = walk.again_us;
	return 0;
full:
	return error_set(err, ERROR_LIMIT, "looking at %zu pods takes more memory than it may",
			 view->n_holders);
}
