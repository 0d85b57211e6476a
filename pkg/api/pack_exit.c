/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an eviction reads of a pod: since when it runs, what it saved, how long it may take to go,
 * and which pods go with it. All of it is the tenant's to write; cluster and plan say how far it
 * counts.
 */
#include "api/pack_exit.h"

#include "api/keys.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/macros.h"
#include "base/rfc3339.h"

/* Kubernetes' default, k8s.io/api/core/v1; and a bound beyond which nobody waits. */
#define GRACE_DEFAULT_S 30
#define GRACE_MOST_S    INT32_MAX

/* --- gangs */

/* A second part of the name is at @further: "" for none. */
#define GANG(kind, where, key, further)                       \
	{                                                     \
		GANG_##kind, where, {(key), sizeof(key) - 1}, \
		{                                             \
			(further), sizeof(further) - 1        \
		}                                             \
	}

enum { IN_LABELS, IN_ANNOTATIONS };

/* In the order in which they count (model/pod.h). */
static const struct gang_key {
	enum gang_kind kind;
	int where;
	struct str key, further;
} gang_keys[] = {
	GANG(LEADER_WORKER_SET, IN_LABELS, KEY_LWS_NAME, KEY_LWS_GROUP),
	GANG(JOB_SET, IN_LABELS, KEY_JOBSET_NAME, ""),
	GANG(TRAINING, IN_LABELS, KEY_TRAINING_JOB, ""),
	GANG(KUEUE, IN_LABELS, KEY_KUEUE_GROUP, ""),
	GANG(VOLCANO, IN_ANNOTATIONS, KEY_VOLCANO_GROUP, ""),
	GANG(VOLCANO, IN_ANNOTATIONS, KEY_VOLCANO_GROUP_TOO, ""),
	GANG(KAI, IN_ANNOTATIONS, KEY_KAI_GROUP, ""),
	GANG(KOORDINATOR, IN_ANNOTATIONS, KEY_KOORDINATOR_GANG, ""),
	GANG(COSCHEDULING, IN_LABELS, KEY_POD_GROUP, ""),
	GANG(COSCHEDULING, IN_LABELS, KEY_POD_GROUP_SIGS, ""),
	GANG(COSCHEDULING, IN_LABELS, KEY_POD_GROUP_OLDEST, ""),
};

/* "deepseek-0": as LeaderWorkerSet calls a group's leader. */
static int join(struct str first, struct str second, const struct pack *pack, struct str *ret_name)
{
	size_t len = first.len + 1 + second.len;
	char *text = arena_alloc(pack->arena, len);

	if (!text)
		return pack_no_memory(pack);
	memcpy(text, first.data, first.len);
	text[first.len] = '-';
	memcpy(text + first.len + 1, second.data, second.len);
	*ret_name = (struct str){text, len};
	return 0;
}

/* Empty: it does not say. A name that no object can have names no gang. */
static int gang_of(const struct gang_key *key, const struct wire_meta *meta,
		   const struct pack *pack, struct str *ret_name)
{
	const struct wire_list *map =
		key->where == IN_ANNOTATIONS ? &meta->annotations : &meta->labels;
	struct str name = STR_NONE, further = STR_NONE;

	*ret_name = STR_NONE;
	if (!wire_map_get(map, key->key, &name) || name.len > LIMIT_NAME)
		return 0;
	if (str_empty(key->further)) {
		*ret_name = name;
		return 0;
	}
	if (!wire_map_get(map, key->further, &further) || str_empty(name) || str_empty(further) ||
	    name.len + 1 + further.len > LIMIT_NAME)
		return 0;
	return join(name, further, pack, ret_name);
}

static int pack_gang(const struct wire_meta *meta, const struct pack *pack, struct pod_exit *exit)
{
	for (size_t i = 0; i < ARRAY_SIZE(gang_keys); i++) {
		if (gang_of(&gang_keys[i], meta, pack, &exit->gang_name) < 0)
			return -1;
		if (str_empty(exit->gang_name))
			continue;
		exit->gang = gang_keys[i].kind;
		return 0;
	}
	return 0;
}

/* --- the rest */

static int64_t grace_of(const struct wire_pod_spec *spec)
{
	int64_t s = wire_has(spec, WIRE_POD_GRACE) ? spec->grace_s : GRACE_DEFAULT_S;

	return MIN(MAX(s, (int64_t)0), (int64_t)GRACE_MOST_S) * USEC_PER_SEC;
}

static int64_t checkpoint_of(const struct wire_list *annotations)
{
	struct str text = STR_NONE;
	int64_t us;

	if (!wire_map_get(annotations, STR(KEY_CHECKPOINT), &text) || !time_parse(text, &us))
		return 0;
	return MAX(us, (int64_t)0);
}

/*
 * Anybody may write the annotation. But kubelet's own mirror pods belong to their Node, and kubelet
 * ends one that has no file: a pod that only says so is not believed.
 */
static bool is_mirror(const struct wire_list *annotations, const struct pod_facts *facts)
{
	struct str text;

	return wire_map_get(annotations, STR(KEY_MIRROR), &text) &&
	       str_equal(facts->owner_kind, STR("Node"));
}

static int pack_labels(const struct wire_list *pairs, const struct pack *pack,
		       struct pod_exit *exit)
{
	struct label *labels;

	if (pairs->len == 0)
		return 0;
	labels = arena_alloc(pack->arena, pairs->len * sizeof(*labels));
	if (!labels)
		return pack_no_memory(pack);
	exit->labels = labels;
	exit->n_labels = pairs->len;
	wire_for_each(const struct wire_pair, pair, *pairs)
		*labels++ = (struct label){pair->key, pair->value};
	return 0;
}

int pack_exit(const struct wire_pod *wire, const struct pack *pack, struct pod_facts *facts)
{
	const struct wire_meta *meta = &wire->meta;
	struct pod_exit *exit = &facts->exit;

	exit->started_us = wire_has(&wire->status, WIRE_POD_START) ? wire->status.start_us : 0;
	exit->checkpoint_us = checkpoint_of(&meta->annotations);
	exit->grace_us = grace_of(&wire->spec);
	exit->mirror = is_mirror(&meta->annotations, facts);
	if (pack_gang(meta, pack, exit) < 0)
		return -1;
	return pack_labels(&meta->labels, pack, exit);
}
