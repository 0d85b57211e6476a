/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes of which two sources tell different memory. They are rare and worth a person's look, so
 * they are searched for when somebody asks: the ledger only counts the pods that hold such devices.
 */
#include "base/buf.h"
#include "cluster/internal.h"
#include "cluster/read.h"

uint32_t cluster_node_next(const struct cluster *cluster, uint32_t from)
{
	return table_next(&cluster->nodes, from);
}

struct str cluster_node_name(const struct cluster *cluster, uint32_t node)
{
	return intern_str(cluster->intern, node_at(cluster, node)->name);
}

uint32_t cluster_node_find(const struct cluster *cluster, struct str name)
{
	return node_find(cluster, name);
}

bool cluster_node_ready(const struct cluster *cluster, uint32_t node)
{
	return node_at(cluster, node)->ready == NODE_READY;
}

bool cluster_node_reconfiguring(const struct cluster *cluster, uint32_t node)
{
	return node_at(cluster, node)->reconfiguring;
}

/* A whole card before its parts, then by name. */
static bool comes_before(const struct node_disagreement *a, const struct node_disagreement *b)
{
	if (a->memory != b->memory)
		return a->memory > b->memory;
	return str_compare(a->resource, b->resource) < 0;
}

bool cluster_node_disagreement(const struct cluster *cluster, uint32_t node,
			       struct node_disagreement *ret_disagreement)
{
	uint32_t offer = node_at(cluster, node)->first_offer;
	struct node_disagreement found = {.resource = STR_NONE};

	for (; offer != TABLE_NONE; offer = offer_at(cluster, offer)->next) {
		const struct offer_kind *kind = kind_at(cluster, offer_at(cluster, offer)->kind);
		const struct node_disagreement one = {
			intern_str(cluster->intern, kind->resource),
			kind->unit_memory,
			kind->other_memory,
			(enum memory_source)kind->source,
			(enum memory_source)kind->other,
		};

		if (one.other_memory > 0 &&
		    (str_empty(found.resource) || comes_before(&one, &found)))
			found = one;
	}
	if (str_empty(found.resource))
		return false;
	*ret_disagreement = found;
	return true;
}

/* The first by name of the nodes that the namespace's pods are on and that disagree. */
static uint32_t first_node(const struct cluster *cluster, uint32_t namespace)
{
	uint32_t first = TABLE_NONE, pod = namespace_at(cluster, namespace)->first_pod;
	struct node_disagreement unused;

	for (; pod != TABLE_NONE; pod = pod_at(cluster, pod)->namespace_next) {
		const struct pod_record *record = pod_at(cluster, pod);

		if (pod_finished(record) || record->node == TABLE_NONE || record->node == first ||
		    !cluster_node_disagreement(cluster, record->node, &unused))
			continue;
		if (first == TABLE_NONE || str_compare(cluster_node_name(cluster, record->node),
						       cluster_node_name(cluster, first)) < 0)
			first = record->node;
	}
	return first;
}

bool view_disagreement(const struct cluster *cluster, uint32_t namespace, struct arena *arena,
		       struct str *ret_sentence)
{
	CLEANUP(buf_clear) struct buf text = {0};
	struct node_disagreement what;
	const char *copy;
	uint32_t node;

	if (namespace_at(cluster, namespace)->sums.disagreeing == 0)
		return true;
	node = first_node(cluster, namespace);
	if (node == TABLE_NONE || !cluster_node_disagreement(cluster, node, &what))
		return true;
	buf_init(&text, LIMIT_EVENT_NOTE);
	buf_printf(&text, "a unit of %.*s has %s by %s and %s by %s on node %.*s",
		   STR_ARGS(what.resource), amount_text(what.memory).text,
		   memory_source_text(what.source), amount_text(what.other_memory).text,
		   memory_source_text(what.other), STR_ARGS(cluster_node_name(cluster, node)));
	copy = arena_strndup(arena, text.data, text.len);
	if (!copy)
		return false;
	*ret_sentence = (struct str){copy, text.len};
	return true;
}
