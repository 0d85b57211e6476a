/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds memory, and evictions that were asked for. An eviction's record hangs on its pod, and
 * on the claims that are the pod's, since a pod that asks for devices by claims alone is not kept:
 * it goes when the watch shows the pod going, when it is another, or when its time is over.
 */
#include "cluster/ledger/holders.h"

#include <string.h>

#include "base/checked.h"
#include "cluster/dra/dra_internal.h"
#include "cluster/internal.h"
#include "cluster/ledger/part.h"

/* --- evictions */

const char *eviction_text(enum eviction_outcome outcome)
{
	static const char *const texts[] = {
#define X(name, text) [EVICTION_##name] = text,
		EVICTION_OUTCOMES(X)
#undef X
	};

	return texts[outcome];
}

void eviction_forget(struct cluster *cluster, uint32_t *eviction)
{
	if (*eviction == TABLE_NONE)
		return;
	table_remove(&cluster->evictions, *eviction);
	*eviction = TABLE_NONE;
}

static int64_t backoff(uint32_t refusals)
{
	int64_t us = EVICTION_BACKOFF_US;

	while (--refusals > 0 && us < EVICTION_BACKOFF_MOST_US)
		us *= 2;
	return MIN(us, EVICTION_BACKOFF_MOST_US);
}

static struct eviction_record *note(struct cluster *cluster, uint32_t namespace,
				    const struct eviction *eviction, uint32_t *slot)
{
	bool unanswered = eviction->outcome == EVICTION_UNANSWERED;
	bool issued = unanswered || eviction->outcome == EVICTION_ISSUED;
	int64_t issued_us = unanswered ? EVICTION_UNANSWERED_US : EVICTION_SHOWN_US;
	struct eviction_record *record;

	if (*slot == TABLE_NONE)
		*slot = table_add(&cluster->evictions);
	record = eviction_at(cluster, *slot);
	record->outcome = issued ? EVICTION_ISSUED : (uint32_t)eviction->outcome;
	record->refusals = issued ? 0 : record->refusals + 1;
	record->until_us = eviction->now_us + (issued ? issued_us : backoff(record->refusals));
	record->pod = TABLE_NONE;
	mark_namespace(cluster, namespace);
	return record;
}

/*
 * No watch shows the end of a pod that asks for nothing but claims, since it is not kept. But an
 * eviction that was issued cannot be taken back, and the claim goes with the pod: until then it is
 * under way.
 */
static void note_claims(struct cluster *cluster, uint32_t namespace,
			const struct eviction *eviction)
{
	struct uid uid = uid_from(&cluster->key, eviction->uid);
	bool kept = pod_find(cluster, eviction->namespace, eviction->name) != TABLE_NONE;
	uint32_t claim = namespace_at(cluster, namespace)->first_device_claim;

	for (; claim != TABLE_NONE; claim = device_claim_at(&cluster->dra, claim)->namespace_next) {
		struct device_claim_record *record = device_claim_at(&cluster->dra, claim);
		struct eviction_record *noted;

		if (!record->has_owner || !uid_equal(record->owner, uid))
			continue;
		noted = note(cluster, namespace, eviction, &record->eviction);
		if (!kept && eviction->outcome == EVICTION_ISSUED)
			noted->until_us = TIME_NEVER;
	}
}

void cluster_note_eviction(struct cluster *cluster, const struct eviction *eviction)
{
	uint32_t namespace = namespace_find(cluster, eviction->namespace);
	uint32_t pod = pod_find(cluster, eviction->namespace, eviction->name);

	if (namespace == TABLE_NONE)
		return;
	note_claims(cluster, namespace, eviction);
	if (pod == TABLE_NONE || pod_at(cluster, pod)->terminating ||
	    !uid_equal(pod_at(cluster, pod)->uid, uid_from(&cluster->key, eviction->uid)))
		return;
	note(cluster, namespace, eviction, &pod_at(cluster, pod)->eviction)->pod = pod;
}

uint32_t cluster_evictions_issued(const struct cluster *cluster, int64_t now_us)
{
	uint32_t slot = table_next(&cluster->evictions, 0), n = 0;

	for (; slot != TABLE_NONE; slot = table_next(&cluster->evictions, slot + 1)) {
		const struct eviction_record *record = eviction_at(cluster, slot);

		n += record->outcome == EVICTION_ISSUED && now_us < record->until_us;
	}
	return n;
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

/* The list as it grows. */
struct walk {
	const struct cluster *cluster;
	struct arena *arena;
	int64_t now_us;
	struct quota_holder *list;
	struct holders holders;
};

static void view_eviction(struct walk *walk, uint32_t slot, struct quota_holder *holder)
{
	const struct eviction_record *eviction;

	if (slot == TABLE_NONE)
		return;
	eviction = eviction_at(walk->cluster, slot);
	if (walk->now_us >= eviction->until_us)
		return;
	holder->blocked = eviction_text((enum eviction_outcome)eviction->outcome);
	holder->terminating |= eviction->outcome == EVICTION_ISSUED;
	walk->holders.look_again_us = MIN(walk->holders.look_again_us, eviction->until_us);
}

/* Rows of one resource on two products do not come together in a pod. */
static bool view_units(struct walk *walk, const struct part *part, struct quota_holder *holder)
{
	struct resource_amount *units = arena_alloc(walk->arena, part->n_rows * sizeof(*units));

	if (!units)
		return false;
	for (size_t i = 0; i < part->n_rows; i++) {
		const struct price_row *row = &walk->cluster->prices[part->rows[i].row];

		units[i].resource = intern_str(walk->cluster->intern, row->resource);
		units[i].count = part->rows[i].count;
		if (row->sharing == DEVICE_WHOLE)
			holder->gpus = saturating_add(holder->gpus, units[i].count);
	}
	holder->units = units;
	holder->n_units = part->n_rows;
	return true;
}

static bool view_uid(struct walk *walk, struct uid uid, struct quota_holder *holder)
{
	char *text = arena_alloc(walk->arena, UID_TEXT_SIZE);

	if (!text)
		return false;
	uid_text(uid, text);
	holder->uid = str_from(text);
	return true;
}

static void view_pod(struct walk *walk, const struct pod_record *pod, struct quota_holder *holder)
{
	holder->name = intern_str(walk->cluster->intern, pod->name);
	holder->created_us = (int64_t)pod->created_s * USEC_PER_SEC;
	holder->terminating = pod->terminating;
	split_owner(intern_str(walk->cluster->intern, pod->owner), holder);
}

static bool add_pod(struct walk *walk, const struct pod_record *pod)
{
	struct quota_holder *holder = &walk->list[walk->holders.n];
	struct part part;

	if (pod_finished(pod) || pod->released || pod->vector == TABLE_NONE)
		return true;
	pod_part(walk->cluster, pod, &part);
	*holder = (struct quota_holder){.charge = pod->charge};
	view_pod(walk, pod, holder);
	view_eviction(walk, pod->eviction, holder);
	walk->holders.n++;
	return view_uid(walk, pod->uid, holder) && view_units(walk, &part, holder);
}

/* The pod whose claim it is, where it is kept. */
static const struct pod_record *pod_of_claim(const struct cluster *cluster,
					     const struct device_claim_record *claim)
{
	uint32_t pod = pod_of(cluster, claim->namespace, claim->owner_name);

	if (pod == TABLE_NONE || !uid_equal(pod_at(cluster, pod)->uid, claim->owner))
		return NULL;
	return pod_at(cluster, pod);
}

/* A pod's claim is held by the pod. One that is nobody's goes when its users do. */
static void view_claim(struct walk *walk, const struct device_claim_record *claim,
		       struct quota_holder *holder)
{
	const struct intern *intern = walk->cluster->intern;
	const struct pod_record *pod = NULL;

	holder->name = intern_str(intern, claim->has_owner ? claim->owner_name : claim->name);
	holder->created_us = (int64_t)claim->created_s * USEC_PER_SEC;
	if (claim->has_owner)
		pod = pod_of_claim(walk->cluster, claim);
	if (pod)
		view_pod(walk, pod, holder);
	view_eviction(walk, claim->eviction, holder);
	if (claim->has_owner)
		return;
	holder->owner_kind = STR("ResourceClaim");
	holder->owner_name = holder->name;
	holder->blocked = "it is a ResourceClaim that pods may share, and those are not evicted";
}

static bool add_claim(struct walk *walk, uint32_t claim)
{
	const struct device_claim_record *record = device_claim_at(&walk->cluster->dra, claim);
	struct quota_holder *holder = &walk->list[walk->holders.n];
	struct part part;

	claim_part(walk->cluster, claim, &part);
	if (part.bytes == 0 && part.n_rows == 0)
		return true;
	*holder = (struct quota_holder){.charge = record->charge};
	view_claim(walk, record, holder);
	walk->holders.n++;
	return view_uid(walk, record->has_owner ? record->owner : record->uid, holder) &&
	       view_units(walk, &part, holder);
}

static bool add_all(struct walk *walk, uint32_t namespace)
{
	const struct namespace_record *record = namespace_at(walk->cluster, namespace);
	size_t most = (size_t)record->n_pods + record->n_device_claims;

	walk->list = arena_alloc(walk->arena, most * sizeof(*walk->list));
	if (!walk->list)
		return false;
	for (uint32_t pod = record->first_pod; pod != TABLE_NONE;
	     pod = pod_at(walk->cluster, pod)->namespace_next)
		if (!add_pod(walk, pod_at(walk->cluster, pod)))
			return false;
	for (uint32_t claim = record->first_device_claim; claim != TABLE_NONE;
	     claim = device_claim_at(&walk->cluster->dra, claim)->namespace_next)
		if (!add_claim(walk, claim))
			return false;
	walk->holders.list = walk->list;
	return true;
}

bool cluster_holders(const struct cluster *cluster, uint32_t namespace, int64_t now_us,
		     struct arena *arena, struct holders *ret_holders)
{
	struct walk walk = {cluster, arena, now_us, NULL, {.look_again_us = TIME_NEVER}};

	if (table_has(&cluster->namespaces, namespace) && !add_all(&walk, namespace))
		return false;
	*ret_holders = walk.holders;
	return true;
}
