/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_HOSTS_HOSTS_INTERNAL_H
#define GPUQOS_CLUSTER_HOSTS_HOSTS_INTERNAL_H

#include "cluster/internal.h"

/* What the files of cluster/hosts share. */

/* The handle of such a demand, with one more reference. */
uint32_t demand_ref(struct cluster *cluster, const struct demand *demand);
/* Into (1) or out of (-1) the sums of a node. */
void demand_count(struct cluster *cluster, uint32_t node, uint32_t demand, int sign);

static inline struct occupant_record *occupant_at(const struct cluster *cluster, uint32_t occupant)
{
	return (struct occupant_record *)table_at(&cluster->occupants, occupant);
}

/* Ports and volumes of a pod, on no node yet; @pod: TABLE_NONE for one without GPUs. TABLE_NONE: it
 * has none, which all of these ignore. */
uint32_t occupant_add(struct cluster *cluster, const struct pod_facts *facts, uint32_t pod);
void occupant_link(struct cluster *cluster, uint32_t occupant, uint32_t node);
void occupant_unlink(struct cluster *cluster, uint32_t occupant);
void occupant_drop(struct cluster *cluster, uint32_t occupant);
/* In texts. */
uint32_t occupant_volumes(const struct cluster *cluster, uint32_t occupant);

/* What a text says, with a zero byte after it; false: the arena is full. */
bool text_copy(const struct cluster *cluster, uint32_t text, struct arena *arena,
	       struct str *ret_copy);
/* INTERN_NONE: the node has no such label. */
uint32_t host_label(const struct node_record *record, uint32_t key);
/* Of all labels of terms->terms, one by one; NULL: the arena is full. */
const uint32_t *terms_keys(const struct cluster *cluster, const struct pod_terms *terms,
			   struct arena *arena);
/* Whether one of terms->terms matches, or none is to; @name: the node's, as they see it. */
bool terms_match(const struct cluster *cluster, const struct node_record *record,
		 const struct pod_terms *terms, const uint32_t *keys, struct str name);
/* Sets which ports the pod asks for; false: the arena is full. */
bool ports_learn(const struct cluster *cluster, uint32_t pod, struct cluster_terms *terms);

/* Who has @repels, in texts, is on the node; @pod: TABLE_NONE for one without GPUs. TABLE_NONE: it
 * keeps nobody away. */
uint32_t repeller_add(struct cluster *cluster, uint32_t node, uint32_t repels, uint32_t pod);
/* It is gone from there; @repeller becomes TABLE_NONE, which is ignored. */
void repeller_drop(struct cluster *cluster, uint32_t *repeller);

#endif
