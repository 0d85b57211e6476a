/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was made of the cards that pods have, counted by namespace. Pods are checked with their
 * node, when anything on it changes; a change of what is asked makes nodes be looked at.
 */
#include "base/macros.h"
#include "cluster/dra/dra_internal.h"
#include "cluster/internal.h"
#include "cluster/looks.h"
#include "cluster/nodes/gpunodes_internal.h"
#include "cluster/placing/placement.h"
#include "cluster/tenants/tenants.h"

#define CACHE_LINE 64

/* --- counting */

static bool is_mismatch(const struct pod_record *pod)
{
	return (pod->check == CHECK_SPANS || pod->check == CHECK_CPUS_APART) &&
	       pod->check_policy == TOPOLOGY_REQUIRED;
}

static void count(struct cluster *cluster, const struct pod_record *pod, int sign)
{
	struct topology_counts *counts = &namespace_at(cluster, pod->namespace)->checks;
	struct topology_count *of = &counts->of[pod->check_policy];
	uint32_t one = (uint32_t)sign;

	if (pod->check == CHECK_UNCHECKED)
		return;
	of->pods += one;
	if (pod->check == CHECK_OTHER_CARDS)
		of->other += one;
	if (pod->check == CHECK_UNKNOWN)
		of->unknown += one;
	if (pod->check == CHECK_CPUS_APART)
		of->apart += one;
	if (pod->check == CHECK_SPANS)
		of->spans[pod->check_scope] += one;
}

/* The one that stands for all in messages stays until it is none: then all are looked at. */
static void follow_example(struct cluster *cluster, uint32_t pod)
{
	struct namespace_record *ns = namespace_at(cluster, pod_at(cluster, pod)->namespace);
	uint32_t other = ns->first_pod;

	if (is_mismatch(pod_at(cluster, pod))) {
		if (ns->mismatched == TABLE_NONE)
			ns->mismatched = pod;
		return;
	}
	if (ns->mismatched != pod)
		return;
	if (topology_count_mismatches(&ns->checks.of[TOPOLOGY_REQUIRED]) == 0)
		other = TABLE_NONE;
	while (other != TABLE_NONE && !is_mismatch(pod_at(cluster, other)))
		other = pod_at(cluster, other)->namespace_next;
	ns->mismatched = other;
}

void cluster_set_check(struct cluster *cluster, uint32_t pod, const struct topology_spec *by,
		       enum topology_check check)
{
	struct pod_record *record = pod_at(cluster, pod);

	if (record->check == (uint8_t)check &&
	    (check == CHECK_UNCHECKED || (record->check_policy == (uint8_t)by->policy &&
					  record->check_scope == (uint8_t)by->scope)))
		return;
	count(cluster, record, -1);
	record->check = (uint8_t)check;
	record->check_policy = (uint8_t)by->policy;
	record->check_scope = (uint8_t)by->scope;
	count(cluster, record, 1);
	follow_example(cluster, pod);
	cluster_mark_tenant_dirty(cluster, namespace_at(cluster, record->namespace)->tenant);
}

bool cluster_tell_check(struct cluster *cluster, uint32_t pod)
{
	struct pod_record *record = pod_at(cluster, pod);
	bool news = !record->check_told;

	record->check_told = true;
	return news;
}

void check_forget(struct cluster *cluster, uint32_t pod)
{
	cluster_set_check(cluster, pod, &TOPOLOGY_SPEC_DEFAULT, CHECK_UNCHECKED);
	pod_at(cluster, pod)->check_told = false;
}

void checks_outdate(struct cluster *cluster, uint32_t namespace)
{
	uint32_t pod = namespace_at(cluster, namespace)->first_pod;

	for (; pod != TABLE_NONE; pod = pod_at(cluster, pod)->namespace_next)
		if (pod_at(cluster, pod)->node != TABLE_NONE)
			mark_node(cluster, pod_at(cluster, pod)->node);
}

struct topology_counts cluster_tenant_topology(const struct cluster *cluster, uint32_t tenant)
{
	struct topology_counts sum = {0};
	uint32_t ns = tenant_at(cluster, tenant)->first_member;

	for (; ns != TABLE_NONE; ns = namespace_at(cluster, ns)->member_next)
		topology_counts_add(&sum, &namespace_at(cluster, ns)->checks);
	return sum;
}

/* --- pods on a node */

uint32_t cluster_node_pod(const struct cluster *cluster, uint32_t node)
{
	return node_at(cluster, node)->first_pod;
}

uint32_t cluster_node_pod_next(const struct cluster *cluster, uint32_t pod)
{
	return pod_at(cluster, pod)->node_next;
}

static uint32_t devices_asked(const struct cluster *cluster, const struct pod_record *pod)
{
	uint32_t cell = vectors_first(&cluster->vectors, pod->vector);
	uint64_t sum = 0;

	for (; cell != TABLE_NONE; cell = vectors_cell(&cluster->vectors, cell)->next) {
		const struct vector_cell *ask = vectors_cell(&cluster->vectors, cell);

		sum += ask->device == INTERN_EMPTY
			       ? (uint64_t)MIN(ask->count, (int64_t)VECTOR_DEVICES_MOST)
			       : ask->devices;
	}
	return (uint32_t)MIN(sum, (uint64_t)VECTOR_DEVICES_MOST);
}

static struct topology_spec topology_for(const struct cluster *cluster,
					 const struct pod_record *pod)
{
	struct topology_spec spec = cluster_topology_of(cluster, pod->namespace);
	const struct pod_alignment *wish = &pod->alignment;
	enum layout_scope scope = wish->scope;

	return wish->wished ? topology_of_pod(spec, wish->policy, wish->scoped ? &scope : NULL)
			    : spec;
}

struct cluster_held cluster_held(const struct cluster *cluster, uint32_t pod)
{
	const struct pod_record *record = pod_at(cluster, pod);
	const struct node_record *node;
	const struct seen_pod *seen;
	struct cluster_held held = {
		.topology = topology_for(cluster, record),
		.assumed = record->cards,
		.asked = devices_asked(cluster, record) + pod_claim_gpus(cluster, record),
		.running = record->phase == POD_RUNNING && record->assumption == TABLE_NONE,
		.finished = pod_finished(record),
	};

	if (record->node == TABLE_NONE || held.topology.policy == TOPOLOGY_NONE)
		return held;
	node = node_at(cluster, record->node);
	seen = seen_pod_of(cluster, node, record);
	held.topo = cluster_room(cluster, record->node).topo;
	held.cards = pod_cards(cluster, node, record, &held.others);
	held.numas = seen ? seen_numas(cluster, node, seen) : 0;
	return held;
}

void cluster_pod_ahead(const struct cluster *cluster, uint32_t pod)
{
	const char *record = table_at(&cluster->pods, pod);

	if (pod >= cluster->pods.end)
		return;
	for (size_t at = 0; at < sizeof(struct pod_record); at += CACHE_LINE)
		__builtin_prefetch(record + at);
}

struct uid cluster_pod_uid(const struct cluster *cluster, uint32_t pod)
{
	return pod_at(cluster, pod)->uid;
}

bool cluster_pod_is(const struct cluster *cluster, uint32_t pod, struct uid uid)
{
	return table_has(&cluster->pods, pod) && uid_equal(pod_at(cluster, pod)->uid, uid);
}

uint64_t cluster_pod_cards(const struct cluster *cluster, uint32_t pod)
{
	const struct pod_record *record = pod_at(cluster, pod);
	uint32_t others = 0;

	return record->node == TABLE_NONE
		       ? 0
		       : pod_cards(cluster, node_at(cluster, record->node), record, &others);
}

bool cluster_pod_waits(const struct cluster *cluster, uint32_t pod)
{
	const struct pod_record *record = pod_at(cluster, pod);

	return record->node == TABLE_NONE && !record->gated && !record->terminating &&
	       !pod_finished(record);
}

struct cluster_pod_name cluster_pod_name(const struct cluster *cluster, uint32_t pod)
{
	const struct pod_record *record = pod_at(cluster, pod);
	const struct intern *intern = cluster->intern;
	struct cluster_pod_name name = {
		.namespace = intern_str(intern, namespace_at(cluster, record->namespace)->name),
		.name = intern_str(intern, record->name),
		.owner = intern_str(intern, record->owner),
		.uid = record->uid,
		.created_us = (int64_t)record->created_s * USEC_PER_SEC,
	};

	if (record->node != TABLE_NONE)
		name.node = intern_str(intern, node_at(cluster, record->node)->name);
	return name;
}
