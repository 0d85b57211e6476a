/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pod's claims say of nodes, as kube-scheduler's plugins VolumeBinding, VolumeZone and
 * VolumeRestrictions read them. A claim that is bound is where its volume may be. One that is not
 * is where its class lets a volume be made: kube-scheduler also looks for a volume that is there
 * already, which may only let the pod on more nodes.
 */
#include <string.h>

#include "cluster/hosts/hosts_internal.h"
#include "cluster/hosts/terms_io.h"
#include "cluster/volumes/volumes_internal.h"

struct judge {
	const struct cluster *cluster;
	struct cluster_terms *terms;
	uint32_t pod;
	struct str namespace;
	struct terms_volume *volumes;
	struct terms_attach *attach;
	uint32_t once; /* claims of one pod alone so far */
	bool full;     /* the arena is */
};

/* For each of these all pods with volumes are looked at; a pod with more is not judged. */
#define ONCE_MOST 2

/* --- what is in the way on every node */

static bool storage_is_read(const struct cluster *cluster)
{
	for (int kind = 0; kind < CLUSTER_KIND_COUNT; kind++)
		if (cluster_is_of_volumes((enum cluster_kind)kind) &&
		    !(cluster->storage.read >> kind & 1))
			return false;
	return true;
}

static bool names_claim(struct str volumes, struct str namespace, struct str claim)
{
	struct pod_volume volume;

	if (str_empty(volumes) || !str_equal(volumes_namespace(&volumes), namespace))
		return false;
	while (volumes_next(&volumes, &volume))
		if (volume.sort == VOLUME_UNREAD ||
		    (volume.sort == VOLUME_CLAIM && str_equal(volume.claim, claim)))
			return true;
	return false;
}

/* By a pod on any node, also one that might go. */
static bool is_in_use(const struct judge *judge, struct str claim)
{
	const struct cluster *cluster = judge->cluster;
	const struct table *occupants = &cluster->occupants;

	for (uint32_t at = table_next(occupants, 0); at != TABLE_NONE;
	     at = table_next(occupants, at + 1)) {
		const struct occupant_record *record = occupant_at(cluster, at);

		if (record->node == TABLE_NONE ||
		    (record->pod != TABLE_NONE && record->pod == judge->pod))
			continue;
		if (names_claim(texts_str(&cluster->texts, record->volumes), judge->namespace,
				claim))
			return true;
	}
	return false;
}

/* podHasPVCs() of VolumeBinding, and VolumeRestrictions. */
static enum volume_doubt doubt_claim(struct judge *judge, const struct pod_volume *volume,
				     const struct volume_claim_record *claim)
{
	const struct pod_record *pod = pod_at(judge->cluster, judge->pod);

	if (claim->lost)
		return VOLUME_DOUBT_LOST;
	if (claim->terminating)
		return VOLUME_DOUBT_GOING;
	if (volume->sort == VOLUME_EPHEMERAL)
		return uid_equal(claim->owner, pod->uid) ? VOLUME_DOUBT_NONE
							 : VOLUME_DOUBT_ANOTHERS;
	if (!claim->once)
		return VOLUME_DOUBT_NONE;
	if (judge->once++ == ONCE_MOST)
		return VOLUME_DOUBT_SIZE;
	return is_in_use(judge, volume->claim) ? VOLUME_DOUBT_IN_USE : VOLUME_DOUBT_NONE;
}

/* --- where it may be */

static void learn_zones(struct judge *judge, const struct kept_terms *kept,
			struct terms_volume *volume)
{
	const struct intern *intern = judge->cluster->intern;
	uint32_t *keys = arena_alloc(judge->terms->arena, 2 * kept->n_labels * sizeof(*keys));

	for (size_t i = 0; keys && i < kept->n_labels; i++) {
		struct str today = kept->labels[i].key;

		volume_zone_label(kept->labels[i].key, &today);
		keys[2 * i] = intern_find(intern, kept->labels[i].key);
		keys[2 * i + 1] = intern_find(intern, today);
	}
	volume->zones = kept->labels;
	volume->n_zones = kept->n_labels;
	volume->zone_keys = keys;
	judge->full |= !keys;
}

/* @zones: VolumeZone passes ephemeral ones over. */
static struct terms_volume *learn_terms(struct judge *judge, uint32_t text, bool zones)
{
	struct terms_volume *volume = &judge->volumes[judge->terms->n_volumes++];
	struct arena *arena = judge->terms->arena;
	struct kept_terms kept;
	struct str bytes;

	*volume = (struct terms_volume){.node = INTERN_NONE};
	if (!text_copy(judge->cluster, text, arena, &bytes) || !terms_get(bytes, arena, &kept)) {
		judge->full = true;
		return volume;
	}
	volume->terms = kept.terms;
	volume->keys = terms_keys(judge->cluster, &kept.terms, arena);
	judge->full |= !volume->keys;
	if (zones)
		learn_zones(judge, &kept, volume);
	return volume;
}

static enum volume_doubt judge_bound(struct judge *judge, const struct pod_volume *volume,
				     const struct volume_claim_record *claim)
{
	const struct cluster *cluster = judge->cluster;
	uint32_t found =
		name_find(cluster, CLUSTER_VOLUMES, intern_str(cluster->intern, claim->volume));

	if (found == TABLE_NONE)
		return VOLUME_DOUBT_VOLUMELESS;
	if (volume_at(cluster, found)->translated)
		return VOLUME_DOUBT_TRANSLATED;
	if (volume_at(cluster, found)->unread)
		return VOLUME_DOUBT_SIZE;
	learn_terms(judge, volume_at(cluster, found)->terms, volume->sort == VOLUME_CLAIM);
	return VOLUME_DOUBT_NONE;
}

static bool tells_capacity(const struct cluster *cluster, struct str driver)
{
	uint32_t found = name_find(cluster, CLUSTER_CSI_DRIVERS, driver);

	return found != TABLE_NONE && csi_driver_at(cluster, found)->tells_capacity;
}

static enum volume_doubt judge_unbound(struct judge *judge, const struct volume_claim_record *claim)
{
	const struct cluster *cluster = judge->cluster;
	uint32_t found = name_find(cluster, CLUSTER_STORAGE_CLASSES,
				   intern_str(cluster->intern, claim->class));
	const struct storage_class_record *class;
	struct terms_volume *volume;
	struct str driver;

	if (found == TABLE_NONE || claim->volume != INTERN_EMPTY)
		return VOLUME_DOUBT_UNBOUND;
	class = storage_class_at(cluster, found);
	driver = intern_str(cluster->intern, class->provisioner);
	if (!class->waits)
		return VOLUME_DOUBT_UNBOUND;
	if (str_empty(driver) || is_in_tree(driver))
		return VOLUME_DOUBT_NOT_MADE;
	if (tells_capacity(cluster, driver))
		return VOLUME_DOUBT_CAPACITY;
	if (class->unread)
		return VOLUME_DOUBT_SIZE;
	volume = learn_terms(judge, class->terms, false);
	volume->one = claim->chosen;
	volume->node = claim->node;
	return VOLUME_DOUBT_NONE;
}

static void learn_attachment(struct judge *judge, uint32_t claim)
{
	struct cluster_terms *terms = judge->terms;
	struct attachment attachment;
	uint32_t driver;

	if (attachment_of(judge->cluster, claim, &attachment) != ATTACH_KNOWN)
		return;
	for (size_t i = 0; i < terms->n_attach; i++)
		if (terms->attach[i].driver == attachment.driver &&
		    terms->attach[i].id == attachment.id)
			return;
	driver = name_find(judge->cluster, CLUSTER_CSI_DRIVERS,
			   intern_str(judge->cluster->intern, attachment.driver));
	judge->attach[terms->n_attach++] = (struct terms_attach){
		.driver = attachment.driver,
		.id = attachment.id,
		.must_be_there = driver != TABLE_NONE &&
				 csi_driver_at(judge->cluster, driver)->must_be_there,
	};
}

static enum volume_doubt judge_volume(struct judge *judge, const struct pod_volume *volume)
{
	const struct cluster *cluster = judge->cluster;
	const struct volume_claim_record *record;
	enum volume_doubt doubt;
	uint32_t claim;

	if (!storage_is_read(cluster))
		return VOLUME_DOUBT_UNREAD;
	/* What is asked for a pod that runs is asked for the next one of its workload. */
	if (volume->sort == VOLUME_EPHEMERAL && pod_at(cluster, judge->pod)->node != TABLE_NONE)
		return VOLUME_DOUBT_ANEW;
	claim = volume_claim_find(cluster, judge->namespace, volume->claim);
	if (claim == TABLE_NONE)
		return VOLUME_DOUBT_MISSING;
	record = volume_claim_at(cluster, claim);
	doubt = doubt_claim(judge, volume, record);
	if (doubt == VOLUME_DOUBT_NONE)
		doubt = record->bound && record->volume != INTERN_EMPTY
				? judge_bound(judge, volume, record)
				: judge_unbound(judge, record);
	if (doubt == VOLUME_DOUBT_NONE)
		learn_attachment(judge, claim);
	return doubt;
}

static void set_doubt(struct terms_doubt *doubt, enum volume_doubt volume, struct str claim)
{
	size_t len = MIN(claim.len, (size_t)LIMIT_NAME);

	doubt->volume = volume;
	if (len > 0)
		memcpy(doubt->claim, claim.data, len);
	doubt->claim[len] = '\0';
}

static void judge_volumes(struct judge *judge, struct str volumes)
{
	struct terms_doubt *doubt = &judge->terms->doubt;
	struct pod_volume volume;

	while (doubt->volume == VOLUME_DOUBT_NONE && !judge->full &&
	       volumes_next(&volumes, &volume)) {
		if (volume.sort == VOLUME_UNREAD)
			doubt->beyond |= 1u << BEYOND_SIZE;
		else if (volume.sort != VOLUME_INLINE)
			set_doubt(doubt, judge_volume(judge, &volume), volume.claim);
	}
}

bool volumes_learn(const struct cluster *cluster, uint32_t pod, struct cluster_terms *terms)
{
	struct judge judge = {.cluster = cluster, .terms = terms, .pod = pod};
	uint32_t text = occupant_volumes(cluster, exit_of(cluster, pod)->occupant);
	struct str volumes;

	if (text == TABLE_NONE)
		return true;
	for (size_t i = 0; i < VOLUME_ZONE_LABELS; i++)
		terms->zone_labels[i] = intern_find(cluster->intern, volume_zone_labels[i]);
	judge.volumes = arena_alloc(terms->arena, LIMIT_VOLUMES_PER_POD * sizeof(*judge.volumes));
	judge.attach = arena_alloc(terms->arena, LIMIT_VOLUMES_PER_POD * sizeof(*judge.attach));
	if (!judge.volumes || !judge.attach)
		return false;
	terms->volumes = judge.volumes;
	terms->attach = judge.attach;
	volumes = texts_str(&cluster->texts, text);
	judge.namespace = volumes_namespace(&volumes);
	judge_volumes(&judge, volumes);
	return !judge.full;
}

/* --- on a node */

static bool has_zone_label(const struct node_record *node, const struct cluster_terms *terms)
{
	for (size_t i = 0; i < ARRAY_SIZE(terms->zone_labels); i++)
		if (terms->zone_labels[i] != INTERN_NONE &&
		    host_label(node, terms->zone_labels[i]) != INTERN_NONE)
			return true;
	return false;
}

static uint32_t zone_of(const struct node_record *node, const uint32_t keys[2])
{
	uint32_t value = keys[0] == INTERN_NONE ? INTERN_NONE : host_label(node, keys[0]);

	if (value != INTERN_NONE || keys[1] == INTERN_NONE)
		return value;
	return host_label(node, keys[1]);
}

/* VolumeZone */
static bool is_in_zones(const struct cluster *cluster, const struct node_record *node,
			const struct terms_volume *volume)
{
	for (size_t i = 0; i < volume->n_zones; i++) {
		struct str zones = volume->zones[i].value;
		uint32_t zone = zone_of(node, &volume->zone_keys[2 * i]);

		if (zone == INTERN_NONE
			    ? !volume_zones_have(zones, STR_NONE)
			    : !volume_zones_have(zones, intern_str(cluster->intern, zone)))
			return false;
	}
	return true;
}

static bool may_be_on(const struct cluster *cluster, const struct cluster_terms *terms,
		      const struct node_record *node, const struct terms_volume *volume)
{
	if (volume->one && volume->node != node->name)
		return false;
	if (node->labels_unread)
		return !volume->terms.chooses && volume->n_zones == 0;
	if (!terms_match(cluster, node, &volume->terms, volume->keys, STR_NONE))
		return false;
	return !has_zone_label(node, terms) || is_in_zones(cluster, node, volume);
}

enum terms_verdict volumes_on(const struct cluster *cluster, const struct cluster_terms *terms,
			      const struct node_record *node)
{
	for (size_t i = 0; i < terms->n_volumes; i++)
		if (!may_be_on(cluster, terms, node, &terms->volumes[i]))
			return TERMS_VOLUMES_ELSEWHERE;
	return can_attach(cluster, terms, node) ? TERMS_ADMIT : TERMS_VOLUMES_FULL;
}
