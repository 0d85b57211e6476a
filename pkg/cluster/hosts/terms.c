/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nodes and pods say, kept and compared. A node's labels are pairs of handles in the order of
 * their keys, so that a requirement is one search for a number; taints and what pods ask for are
 * alike on most of them, and kept once.
 */
#include "cluster/hosts/terms.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "cluster/hosts/hosts_internal.h"
#include "cluster/hosts/terms_io.h"

/* --- nodes */

static int by_key(const void *a, const void *b)
{
	uint32_t left = ((const struct node_label *)a)->key;
	uint32_t right = ((const struct node_label *)b)->key;

	return left < right ? -1 : left > right;
}

static void labels_clear(struct cluster *cluster, struct node_record *record)
{
	for (uint32_t i = 0; i < record->n_labels; i++) {
		intern_unref(cluster->intern, record->labels[i].key);
		intern_unref(cluster->intern, record->labels[i].value);
	}
	mem_free(record->labels);
	record->labels = NULL;
	record->n_labels = 0;
}

static struct node_label *labels_of(struct cluster *cluster, const struct host_facts *facts)
{
	struct node_label *labels = mem_alloc_array(facts->n_labels, sizeof(*labels));

	for (size_t i = 0; i < facts->n_labels; i++)
		labels[i] = (struct node_label){
			intern_ref(cluster->intern, facts->labels[i].key),
			intern_ref(cluster->intern, facts->labels[i].value),
		};
	if (facts->n_labels > 1)
		qsort(labels, facts->n_labels, sizeof(*labels), by_key);
	return labels;
}

/* Such as no API server lets through, too. */
static bool are_bounded(const struct host_facts *facts)
{
	if (facts->n_labels > LIMIT_NODE_LABELS)
		return false;
	for (size_t i = 0; i < facts->n_labels; i++)
		if (facts->labels[i].key.len > LIMIT_INTERNED_STRING ||
		    facts->labels[i].value.len > LIMIT_INTERNED_STRING)
			return false;
	return true;
}

void host_terms_follow(struct cluster *cluster, uint32_t node, const struct host_facts *facts)
{
	struct node_record *record = node_at(cluster, node);
	struct node_label *labels = NULL;
	uint32_t taints = TABLE_NONE;

	record->labels_unread = facts && !are_bounded(facts);
	if (facts && !record->labels_unread)
		labels = labels_of(cluster, facts);
	if (facts) {
		buf_reset(&cluster->scratch);
		taints_put(&cluster->scratch, facts->taints, facts->n_taints);
		taints = texts_ref(&cluster->texts, buf_str(&cluster->scratch));
	}
	labels_clear(cluster, record);
	texts_unref(&cluster->texts, record->taints);
	record->labels = labels;
	record->n_labels = labels ? (uint32_t)facts->n_labels : 0;
	record->taints = taints;
}

/* INTERN_NONE: it has none. */
uint32_t host_label(const struct node_record *record, uint32_t key)
{
	uint32_t from = 0, to = record->n_labels;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (record->labels[middle].key == key)
			return record->labels[middle].value;
		if (record->labels[middle].key < key)
			from = middle + 1;
		else
			to = middle;
	}
	return INTERN_NONE;
}

/* --- pods */

/* Its labels tell who keeps it away: they matter as long as it waits. */
void terms_follow(struct cluster *cluster, uint32_t pod, const struct pod_facts *facts, bool other)
{
	struct exit_record *exit = exit_of(cluster, pod);
	struct kept_terms kept = {0};
	uint32_t terms = TABLE_NONE;
	bool waits = str_empty(facts->node);

	if (exit->terms_settled && !waits && !other)
		return; /* what is bound may be made to tolerate more, which is not followed */
	exit->terms_settled = !waits;
	if (facts->terms) {
		kept.terms = *facts->terms;
		if (waits) {
			kept.labels = facts->exit.labels;
			kept.n_labels = facts->exit.n_labels;
		}
		buf_reset(&cluster->scratch);
		terms_put(&cluster->scratch, &kept);
		terms = texts_ref(&cluster->texts, buf_str(&cluster->scratch));
	}
	texts_unref(&cluster->texts, exit->terms);
	exit->terms = terms;
}

uint32_t repels_ref(struct cluster *cluster, const struct pod_facts *facts)
{
	const struct kept_repels kept = {facts->namespace, facts->repels, facts->n_repels};

	if (facts->n_repels == 0)
		return TABLE_NONE;
	buf_reset(&cluster->scratch);
	repels_put(&cluster->scratch, &kept);
	return texts_ref(&cluster->texts, buf_str(&cluster->scratch));
}

/* --- who keeps it away */

struct shunning {
	const struct cluster *cluster;
	struct cluster_terms *terms;
	const struct kept_terms *kept;
	struct str namespace;
	struct terms_shunned *list;
	size_t n, room;
	struct kept_repels repels; /* those of the text that was read last */
	uint32_t read;
	bool full;
};

/* Twice the room, for one more. */
static bool grow(struct shunning *s)
{
	size_t room = MAX(2 * s->room, (size_t)64);
	struct terms_shunned *list = arena_alloc(s->terms->arena, room * sizeof(*list));

	if (!list) {
		s->full = true;
		return false;
	}
	if (s->n > 0)
		memcpy(list, s->list, s->n * sizeof(*list));
	s->list = list;
	s->room = room;
	return true;
}

static void add_shunned(struct shunning *s, uint32_t node, const struct pod_repel *repel)
{
	uint32_t key = intern_find(s->cluster->intern, repel->topology_key), value;

	if (key == INTERN_NONE)
		return;
	value = host_label(node_at(s->cluster, node), key);
	if (value == INTERN_NONE)
		return;
	if (s->n < s->room || grow(s))
		s->list[s->n++] = (struct terms_shunned){key, value};
}

/* Many pods have the same text: one that was read last is not read again. */
static void read_repels(struct shunning *s, uint32_t text)
{
	if (s->read != text &&
	    !repels_get(texts_str(&s->cluster->texts, text), s->terms->arena, &s->repels))
		s->full = true;
	s->read = text;
}

static void shun(struct shunning *s, const struct repeller_record *repeller)
{
	const struct kept_repels *repels = &s->repels;

	read_repels(s, repeller->repels);
	for (size_t i = 0; i < repels->n && !s->full; i++)
		if (pod_repel_holds(&repels->repels[i], repels->namespace, s->namespace,
				    s->kept->labels, s->kept->n_labels))
			add_shunned(s, repeller->node, &repels->repels[i]);
}

/* Its own anti-affinity: nobody tells the labels of those that are there, so that all of the
 * namespaces that it means are taken for those that it keeps away from. */
static void shun_namespace(struct shunning *s, uint32_t pod, struct str namespace,
			   const struct pod_repel *repel)
{
	const struct cluster *cluster = s->cluster;
	uint32_t name = intern_find(cluster->intern, namespace);
	uint32_t ns = namespace_find(cluster, namespace);
	uint32_t other = ns == TABLE_NONE ? TABLE_NONE : namespace_at(cluster, ns)->first_pod;

	for (; other != TABLE_NONE && !s->full; other = pod_at(cluster, other)->namespace_next)
		if (other != pod && pod_at(cluster, other)->seated)
			add_shunned(s, pod_at(cluster, other)->node, repel);
	if (name == INTERN_NONE)
		return;
	for (uint32_t at = table_next(&cluster->bystanders, 0); at != TABLE_NONE && !s->full;
	     at = table_next(&cluster->bystanders, at + 1)) {
		const struct bystander_record *bystander = table_at(&cluster->bystanders, at);

		if (bystander->namespace == name)
			add_shunned(s, bystander->node, repel);
	}
}

static void shun_own(struct shunning *s, uint32_t pod)
{
	uint32_t text = exit_of(s->cluster, pod)->repels;
	struct kept_repels repels;

	if (text == TABLE_NONE)
		return;
	if (!repels_get(texts_str(&s->cluster->texts, text), s->terms->arena, &repels)) {
		s->full = true;
		return;
	}
	for (size_t i = 0; i < repels.n; i++) {
		const struct pod_repel *repel = &repels.repels[i];

		if (repel->n_namespaces == 0)
			shun_namespace(s, pod, s->namespace, repel);
		for (size_t k = 0; k < repel->n_namespaces; k++)
			shun_namespace(s, pod, repel->namespaces[k], repel);
	}
}

static int by_shunned(const void *a, const void *b)
{
	const struct terms_shunned *left = a, *right = b;

	if (left->key != right->key)
		return left->key < right->key ? -1 : 1;
	return left->value < right->value ? -1 : left->value > right->value;
}

static bool find_shunned(const struct cluster *cluster, uint32_t pod, const struct kept_terms *kept,
			 struct cluster_terms *terms)
{
	struct shunning s = {.cluster = cluster, .terms = terms, .kept = kept, .read = TABLE_NONE};
	uint32_t ns = pod_at(cluster, pod)->namespace;

	s.namespace = intern_str(cluster->intern, namespace_at(cluster, ns)->name);
	for (uint32_t at = table_next(&cluster->repellers, 0); at != TABLE_NONE && !s.full;
	     at = table_next(&cluster->repellers, at + 1)) {
		const struct repeller_record *repeller = table_at(&cluster->repellers, at);

		if (repeller->pod != pod)
			shun(&s, repeller);
	}
	shun_own(&s, pod);
	if (s.n > 1)
		qsort(s.list, s.n, sizeof(*s.list), by_shunned);
	terms->shunned = s.list;
	terms->n_shunned = s.n;
	return !s.full;
}

/* --- the question */

static const uint32_t *selector_keys(const struct cluster *cluster, const struct pod_terms *terms,
				     struct arena *arena)
{
	uint32_t *keys = arena_alloc(arena, terms->n_selector * sizeof(*keys));

	for (size_t i = 0; keys && i < terms->n_selector; i++)
		keys[i] = intern_find(cluster->intern, terms->selector[i].key);
	return keys;
}

const uint32_t *terms_keys(const struct cluster *cluster, const struct pod_terms *terms,
			   struct arena *arena)
{
	size_t n = 0, at = 0;
	uint32_t *keys;

	for (size_t i = 0; i < terms->n_terms; i++)
		n += terms->terms[i].n_labels;
	keys = arena_alloc(arena, n * sizeof(*keys));
	for (size_t i = 0; keys && i < terms->n_terms; i++)
		for (size_t k = 0; k < terms->terms[i].n_labels; k++)
			keys[at++] = intern_find(cluster->intern, terms->terms[i].labels[k].key);
	return keys;
}

bool text_copy(const struct cluster *cluster, uint32_t text, struct arena *arena,
	       struct str *ret_copy)
{
	struct str bytes = texts_str(&cluster->texts, text);
	char *copy = arena_alloc(arena, bytes.len + 1);

	if (copy && bytes.len > 0)
		memcpy(copy, bytes.data, bytes.len);
	*ret_copy = (struct str){copy, bytes.len};
	return copy != NULL;
}

bool cluster_terms_of(const struct cluster *cluster, uint32_t pod, struct arena *arena,
		      struct cluster_terms *ret_terms)
{
	/* k8s.io/api/core/v1: TaintNodeUnschedulable */
	static const struct taint cordon = {
		{"node.kubernetes.io/unschedulable", 32}, {"", 0}, TAINT_NO_SCHEDULE};
	struct kept_terms kept;
	struct str bytes;

	memset(ret_terms, 0, sizeof(*ret_terms));
	if (!text_copy(cluster, exit_of(cluster, pod)->terms, arena, &bytes) ||
	    !terms_get(bytes, arena, &kept))
		return false;
	ret_terms->terms = kept.terms;
	ret_terms->doubt.beyond = kept.terms.beyond;
	ret_terms->arena = arena;
	ret_terms->passes_cordons =
		taints_tolerated(&cordon, 1, kept.terms.tolerations, kept.terms.n_tolerations);
	ret_terms->selector_keys = selector_keys(cluster, &kept.terms, arena);
	ret_terms->requirement_keys = terms_keys(cluster, &kept.terms, arena);
	return ret_terms->selector_keys && ret_terms->requirement_keys &&
	       find_shunned(cluster, pod, &kept, ret_terms) &&
	       ports_learn(cluster, pod, ret_terms) && volumes_learn(cluster, pod, ret_terms);
}

/* --- on a node */

static bool is_shunned(const struct node_record *record, const struct cluster_terms *terms)
{
	uint32_t key = INTERN_NONE, value = INTERN_NONE;

	for (size_t i = 0; i < terms->n_shunned; i++) {
		if (terms->shunned[i].key != key) {
			key = terms->shunned[i].key;
			value = host_label(record, key);
		}
		if (value == terms->shunned[i].value)
			return true;
	}
	return false;
}

static bool holds(const struct cluster *cluster, const struct node_record *record,
		  const struct node_requirement *requirement, uint32_t key)
{
	uint32_t value = key == INTERN_NONE ? INTERN_NONE : host_label(record, key);
	struct str text;

	if (value == INTERN_NONE)
		return node_requirement_holds(requirement, NULL);
	text = intern_str(cluster->intern, value);
	return node_requirement_holds(requirement, &text);
}

/* @keys: of its labels. */
static bool term_matches(const struct cluster *cluster, const struct node_record *record,
			 const struct node_term *term, const uint32_t *keys, struct str name)
{
	for (size_t i = 0; i < term->n_labels; i++)
		if (!holds(cluster, record, &term->labels[i], keys[i]))
			return false;
	for (size_t i = 0; i < term->n_names; i++)
		if (!node_requirement_holds(&term->names[i], &name))
			return false;
	return true;
}

bool terms_match(const struct cluster *cluster, const struct node_record *record,
		 const struct pod_terms *terms, const uint32_t *keys, struct str name)
{
	for (size_t i = 0; i < terms->n_terms; i++) {
		if (term_matches(cluster, record, &terms->terms[i], keys, name))
			return true;
		keys += terms->terms[i].n_labels;
	}
	return !terms->chooses;
}

static bool is_selected(const struct cluster *cluster, const struct node_record *record,
			const struct cluster_terms *terms)
{
	const struct pod_terms *asked = &terms->terms;

	if (record->labels_unread)
		return asked->n_selector == 0 && !asked->chooses;
	for (size_t i = 0; i < asked->n_selector; i++) {
		const struct node_requirement equals = {asked->selector[i].key, NODE_IN,
							&asked->selector[i].value, 1};

		if (!holds(cluster, record, &equals, terms->selector_keys[i]))
			return false;
	}
	return terms_match(cluster, record, asked, terms->requirement_keys,
			   intern_str(cluster->intern, record->name));
}

/* Nothing is tolerated that cannot be read. */
static bool compare_taints(const struct cluster *cluster, uint32_t taints,
			   const struct cluster_terms *terms)
{
	const struct taint *list;
	size_t n;

	return taints_get(texts_str(&cluster->texts, taints), terms->arena, &list, &n) &&
	       taints_tolerated(list, n, terms->terms.tolerations, terms->terms.n_tolerations);
}

static bool tolerates(const struct cluster *cluster, uint32_t taints, struct cluster_terms *terms)
{
	size_t slot = taints % TERMS_MEMO;

	if (taints == TABLE_NONE)
		return true;
	if (terms->memo[slot].taints != taints + 1) {
		terms->memo[slot].tolerated = compare_taints(cluster, taints, terms);
		terms->memo[slot].taints = taints + 1;
	}
	return terms->memo[slot].tolerated;
}

enum terms_verdict cluster_terms_on(const struct cluster *cluster, struct cluster_terms *terms,
				    uint32_t node)
{
	const struct node_record *record = node_at(cluster, node);

	if (!tolerates(cluster, record->taints, terms))
		return TERMS_TAINTED;
	if (!record->host_told)
		return TERMS_ADMIT;
	if (!is_selected(cluster, record, terms))
		return TERMS_UNSELECTED;
	return is_shunned(record, terms) ? TERMS_SHUNNED : volumes_on(cluster, terms, record);
}
