/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many volumes a node can attach, as kube-scheduler's plugin NodeVolumeLimits counts them. The
 * volumes of pods that would go count as if they stayed: they are detached some time after.
 */
#include "cluster/hosts/hosts_internal.h"
#include "cluster/hosts/terms_io.h"
#include "cluster/volumes/volumes_internal.h"

bool is_in_tree(struct str provisioner)
{
	return str_starts_with(provisioner, STR("kubernetes.io/"));
}

/* One that is not there yet is a volume of its own. */
static enum attach of_class(const struct cluster *cluster, const struct volume_claim_record *claim,
			    struct attachment *ret_attachment)
{
	uint32_t class = name_find(cluster, CLUSTER_STORAGE_CLASSES,
				   intern_str(cluster->intern, claim->class));
	uint32_t driver;

	if (class == TABLE_NONE)
		return ATTACH_NONE;
	driver = storage_class_at(cluster, class)->provisioner;
	if (is_in_tree(intern_str(cluster->intern, driver)))
		return ATTACH_UNKNOWN;
	*ret_attachment = (struct attachment){
		driver, hash_u64_pair(&cluster->key, claim->namespace, claim->name)};
	return ATTACH_KNOWN;
}

enum attach attachment_of(const struct cluster *cluster, uint32_t claim,
			  struct attachment *ret_attachment)
{
	const struct volume_claim_record *record;
	const struct volume_record *found;
	uint32_t volume = TABLE_NONE;

	if (claim == TABLE_NONE)
		return ATTACH_NONE;
	record = volume_claim_at(cluster, claim);
	if (record->volume != INTERN_EMPTY)
		volume = name_find(cluster, CLUSTER_VOLUMES,
				   intern_str(cluster->intern, record->volume));
	if (volume == TABLE_NONE)
		return of_class(cluster, record, ret_attachment);
	found = volume_at(cluster, volume);
	if (found->translated)
		return ATTACH_UNKNOWN;
	if (found->driver == INTERN_EMPTY)
		return ATTACH_NONE;
	*ret_attachment = (struct attachment){found->driver, found->id};
	return ATTACH_KNOWN;
}

/* --- a node */

#define ATTACHED_MOST 1024 /* of one driver: no node can attach as many */

struct count {
	const struct cluster *cluster;
	uint32_t driver;
	uint64_t ids[ATTACHED_MOST];
	size_t n;
	uint32_t unknown;
	bool full; /* more than is counted */
};

static bool has_id(const uint64_t *ids, size_t n, uint64_t id)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return false;
}

static void add_id(struct count *count, uint64_t id)
{
	if (has_id(count->ids, count->n, id))
		return;
	if (count->n == ATTACHED_MOST)
		count->full = true;
	else
		count->ids[count->n++] = id;
}

static void add_volume(struct count *count, struct str namespace, const struct pod_volume *volume)
{
	struct attachment attachment = {0};
	enum attach attach = ATTACH_UNKNOWN;

	if (volume->sort == VOLUME_UNREAD) {
		count->full = true;
		return;
	}
	if (volume->sort != VOLUME_INLINE)
		attach = attachment_of(count->cluster,
				       volume_claim_find(count->cluster, namespace, volume->claim),
				       &attachment);
	if (attach == ATTACH_UNKNOWN)
		count->unknown++;
	else if (attach == ATTACH_KNOWN && attachment.driver == count->driver)
		add_id(count, attachment.id);
}

/* Of all pods that are there. */
static void count_attached(struct count *count, const struct node_record *node)
{
	uint32_t occupant = node->first_occupant;

	for (; occupant != TABLE_NONE && !count->full;
	     occupant = occupant_at(count->cluster, occupant)->next) {
		struct str rest = texts_str(&count->cluster->texts,
					    occupant_at(count->cluster, occupant)->volumes);
		struct pod_volume volume;
		struct str namespace;

		if (str_empty(rest))
			continue;
		namespace = volumes_namespace(&rest);
		while (volumes_next(&rest, &volume))
			add_volume(count, namespace, &volume);
	}
}

/* What is attached there already is no new one. */
static bool has_room(const struct cluster *cluster, const struct cluster_terms *terms,
		     const struct node_record *node, const struct csi_limit *limit)
{
	struct count count;
	size_t before;

	count.cluster = cluster;
	count.driver = limit->driver;
	count.n = count.unknown = 0;
	count.full = false;
	count_attached(&count, node);
	before = count.n;
	for (size_t i = 0; i < terms->n_attach; i++)
		if (terms->attach[i].driver == limit->driver)
			add_id(&count, terms->attach[i].id);
	return !count.full && (count.n == before || count.n + count.unknown <= (size_t)limit->most);
}

static bool asks_for(const struct cluster_terms *terms, uint32_t driver)
{
	for (size_t i = 0; i < terms->n_attach; i++)
		if (terms->attach[i].driver == driver)
			return true;
	return false;
}

static bool has_drivers(const struct cluster_terms *terms, const struct csi_node_record *csi_node)
{
	for (size_t i = 0; i < terms->n_attach; i++) {
		uint32_t driver = terms->attach[i].driver, k = 0;

		if (!terms->attach[i].must_be_there)
			continue;
		while (csi_node && k < csi_node->n_limits && csi_node->limits[k].driver != driver)
			k++;
		if (!csi_node || k == csi_node->n_limits)
			return false;
	}
	return true;
}

bool can_attach(const struct cluster *cluster, const struct cluster_terms *terms,
		const struct node_record *node)
{
	const struct csi_node_record *record = NULL;
	uint32_t csi_node;

	if (terms->n_attach == 0)
		return true;
	csi_node = name_find(cluster, CLUSTER_CSI_NODES, intern_str(cluster->intern, node->name));
	if (csi_node != TABLE_NONE)
		record = csi_node_at(cluster, csi_node);
	if ((record && record->unread) || !has_drivers(terms, record))
		return false;
	for (uint32_t i = 0; record && i < record->n_limits; i++)
		if (record->limits[i].most >= 0 && asks_for(terms, record->limits[i].driver) &&
		    !has_room(cluster, terms, node, &record->limits[i]))
			return false;
	return true;
}
