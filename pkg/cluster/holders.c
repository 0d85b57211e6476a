/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds memory, and evictions that were asked for. An eviction's record hangs on its pod: it
 * goes when the watch shows the pod going, when the pod is another, or when its time is over.
 */
#include "cluster/holders.h"

#include <string.h>

#include "base/checked.h"
#include "base/limits.h"
#include "cluster/internal.h"

/* --- evictions */

static const char *refusal_text(uint32_t outcome)
{
	static const char *const texts[] = {
#define X(name, text) [EVICTION_##name] = text,
		EVICTION_OUTCOMES(X)
#undef X
	};

	return texts[outcome];
}

void eviction_forget(struct cluster *cluster, struct pod_record *pod)
{
	if (pod->eviction == TABLE_NONE)
		return;
	table_remove(&cluster->evictions, pod->eviction);
	pod->eviction = TABLE_NONE;
}

static int64_t backoff(uint32_t refusals)
{
	int64_t us = EVICTION_BACKOFF_US;

	while (--refusals > 0 && us < EVICTION_BACKOFF_MOST_US)
		us *= 2;
	return MIN(us, EVICTION_BACKOFF_MOST_US);
}

void cluster_note_eviction(struct cluster *cluster, const struct eviction *eviction)
{
	uint32_t pod = pod_find(cluster, eviction->namespace, eviction->name);
	struct eviction_record *record;
	struct pod_record *of;

	if (pod == TABLE_NONE)
		return;
	of = pod_at(cluster, pod);
	if (of->terminating || !uid_equal(of->uid, uid_from(&cluster->key, eviction->uid)))
		return;
	if (of->eviction == TABLE_NONE)
		of->eviction = table_add(&cluster->evictions);
	record = eviction_at(cluster, of->eviction);
	record->outcome = (uint32_t)eviction->outcome;
	record->refusals = eviction->outcome == EVICTION_ISSUED ? 0 : record->refusals + 1;
	record->until_us = eviction->now_us + (eviction->outcome == EVICTION_ISSUED
						       ? EVICTION_SHOWN_US
						       : backoff(record->refusals));
	mark_namespace(cluster, of->namespace);
}

/* --- holders */

/* "Kind/name" as two texts. */
static void split_owner(struct str owner, struct quota_holder *holder)
{
	const char *slash = str_empty(owner) ? NULL : memchr(owner.data, '/', owner.len);

	if (!slash)
		return;
	holder->owner_kind = (struct str){owner.data, (size_t)(slash - owner.data)};
	holder->owner_name = str_skip(owner, holder->owner_kind.len + 1);
}

static void view_eviction(const struct cluster *cluster, const struct pod_record *pod,
			  int64_t now_us, struct quota_holder *holder, int64_t *look_again_us)
{
	const struct eviction_record *eviction;

	if (pod->eviction == TABLE_NONE)
		return;
	eviction = eviction_at(cluster, pod->eviction);
	if (now_us >= eviction->until_us)
		return;
	holder->blocked = refusal_text(eviction->outcome);
	holder->terminating |= eviction->outcome == EVICTION_ISSUED;
	*look_again_us = MIN(*look_again_us, eviction->until_us);
}

/* Rows of one resource on two products do not come together in a pod. */
static bool view_units(const struct cluster *cluster, const struct pod_record *pod,
		       struct arena *arena, struct quota_holder *holder)
{
	struct pod_row rows[LIMIT_RESOURCES_PER_POD];
	size_t n = ledger_rows(cluster, pod, rows);
	struct resource_amount *units = arena_alloc(arena, n * sizeof(*units));

	if (!units)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct price_row *row = &cluster->prices[rows[i].row];

		units[i] = (struct resource_amount){intern_str(cluster->intern, row->resource),
						    rows[i].count};
		if (row->sharing == DEVICE_WHOLE)
			holder->gpus = saturating_add(holder->gpus, rows[i].count);
	}
	holder->units = units;
	holder->n_units = n;
	return true;
}

static bool view_holder(const struct cluster *cluster, const struct pod_record *pod,
			struct arena *arena, struct quota_holder *ret_holder)
{
	char *uid = arena_alloc(arena, UID_TEXT_SIZE);

	if (!uid)
		return false;
	uid_text(pod->uid, uid);
	*ret_holder = (struct quota_holder){
		.name = intern_str(cluster->intern, pod->name),
		.uid = str_from(uid),
		.charge = pod->charge,
		.created_us = (int64_t)pod->created_s * USEC_PER_SEC,
		.terminating = pod->terminating,
	};
	split_owner(intern_str(cluster->intern, pod->owner), ret_holder);
	return view_units(cluster, pod, arena, ret_holder);
}

static bool holds(const struct pod_record *pod)
{
	return !pod_finished(pod) && !pod->released;
}

bool cluster_holders(const struct cluster *cluster, uint32_t namespace, int64_t now_us,
		     struct arena *arena, struct holders *ret_holders)
{
	struct holders holders = {.look_again_us = TIME_NEVER};
	struct quota_holder *list;

	if (!table_has(&cluster->namespaces, namespace)) {
		*ret_holders = holders;
		return true;
	}
	list = arena_alloc(arena, namespace_at(cluster, namespace)->n_pods * sizeof(*list));
	if (!list)
		return false;
	for (uint32_t pod = namespace_at(cluster, namespace)->first_pod; pod != TABLE_NONE;
	     pod = pod_at(cluster, pod)->namespace_next) {
		const struct pod_record *record = pod_at(cluster, pod);
		struct quota_holder *holder = &list[holders.n];

		if (!holds(record))
			continue;
		if (!view_holder(cluster, record, arena, holder))
			return false;
		view_eviction(cluster, record, now_us, holder, &holders.look_again_us);
		holders.n++;
	}
	holders.list = list;
	*ret_holders = holders;
	return true;
}
