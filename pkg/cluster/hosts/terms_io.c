/* SPDX-License-Identifier: Apache-2.0 */
/* A writer and a reader for each sort of list: its length, then its elements. */
#include "cluster/hosts/terms_io.h"

#include "cluster/pack/pack_io.h"

/* --- node affinity */

static void put_requirements(struct buf *buf, const struct node_requirement *list, size_t n)
{
	pack_put_int(buf, (int64_t)n);
	for (size_t i = 0; i < n; i++) {
		pack_put_str(buf, list[i].key);
		pack_put_int(buf, (int64_t)list[i].op);
		pack_put_strs(buf, list[i].values, list[i].n_values);
	}
}

static const struct node_requirement *get_requirements(struct pack_reader *reader, size_t *ret_n)
{
	size_t n = (size_t)pack_get_int(reader);
	struct node_requirement *list = pack_get_memory(reader, n, sizeof(*list));

	for (size_t i = 0; i < n; i++) {
		struct node_requirement one = {.key = pack_get_str(reader)};

		one.op = (enum node_operator)pack_get_int(reader);
		one.values = pack_get_strs(reader, &one.n_values);
		if (list)
			list[i] = one;
	}
	*ret_n = n;
	return list;
}

static void put_node_terms(struct buf *buf, const struct node_term *terms, size_t n)
{
	pack_put_int(buf, (int64_t)n);
	for (size_t i = 0; i < n; i++) {
		put_requirements(buf, terms[i].labels, terms[i].n_labels);
		put_requirements(buf, terms[i].names, terms[i].n_names);
	}
}

static const struct node_term *get_node_terms(struct pack_reader *reader, size_t *ret_n)
{
	size_t n = (size_t)pack_get_int(reader);
	struct node_term *terms = pack_get_memory(reader, n, sizeof(*terms));

	for (size_t i = 0; i < n; i++) {
		struct node_term term = {0};

		term.labels = get_requirements(reader, &term.n_labels);
		term.names = get_requirements(reader, &term.n_names);
		if (terms)
			terms[i] = term;
	}
	*ret_n = n;
	return terms;
}

/* --- taints */

static void put_tolerations(struct buf *buf, const struct toleration *list, size_t n)
{
	pack_put_int(buf, (int64_t)n);
	for (size_t i = 0; i < n; i++) {
		pack_put_str(buf, list[i].key);
		pack_put_str(buf, list[i].value);
		pack_put_int(buf, list[i].exists);
		pack_put_int(buf, (int64_t)list[i].effect);
	}
}

static const struct toleration *get_tolerations(struct pack_reader *reader, size_t *ret_n)
{
	size_t n = (size_t)pack_get_int(reader);
	struct toleration *list = pack_get_memory(reader, n, sizeof(*list));

	for (size_t i = 0; i < n; i++) {
		struct toleration one = {.key = pack_get_str(reader)};

		one.value = pack_get_str(reader);
		one.exists = pack_get_int(reader) != 0;
		one.effect = (enum taint_effect)pack_get_int(reader);
		if (list)
			list[i] = one;
	}
	*ret_n = n;
	return list;
}

void taints_put(struct buf *buf, const struct taint *taints, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		pack_put_str(buf, taints[i].key);
		pack_put_str(buf, taints[i].value);
		pack_put_int(buf, (int64_t)taints[i].effect);
	}
}

bool taints_get(struct str bytes, struct arena *arena, const struct taint **ret_taints,
		size_t *ret_n)
{
	struct pack_reader reader = {.rest = bytes, .arena = arena};
	struct taint *taints =
		pack_get_memory(&reader, bytes.len / sizeof(int64_t) + 1, sizeof(*taints));
	size_t n = 0;

	if (!taints)
		return false;
	while (!str_empty(reader.rest)) {
		taints[n].key = pack_get_str(&reader);
		taints[n].value = pack_get_str(&reader);
		taints[n++].effect = (enum taint_effect)pack_get_int(&reader);
	}
	*ret_taints = taints;
	*ret_n = n;
	return true;
}

/* --- pods */

void terms_put(struct buf *buf, const struct kept_terms *kept)
{
	const struct pod_terms *terms = &kept->terms;

	pack_put_int(buf, terms->beyond);
	pack_put_int(buf, terms->chooses);
	pack_put_labels(buf, terms->selector, terms->n_selector);
	put_node_terms(buf, terms->terms, terms->n_terms);
	put_tolerations(buf, terms->tolerations, terms->n_tolerations);
	pack_put_int(buf, kept->labels != NULL);
	if (kept->labels)
		pack_put_labels(buf, kept->labels, kept->n_labels);
}

bool terms_get(struct str bytes, struct arena *arena, struct kept_terms *ret_kept)
{
	struct pack_reader reader = {.rest = bytes, .arena = arena};
	struct kept_terms kept = {0};
	struct pod_terms *terms = &kept.terms;

	if (!str_empty(bytes)) {
		terms->beyond = (unsigned int)pack_get_int(&reader);
		terms->chooses = pack_get_int(&reader) != 0;
		terms->selector = pack_get_labels(&reader, &terms->n_selector);
		terms->terms = get_node_terms(&reader, &terms->n_terms);
		terms->tolerations = get_tolerations(&reader, &terms->n_tolerations);
		if (pack_get_int(&reader) != 0)
			kept.labels = pack_get_labels(&reader, &kept.n_labels);
	}
	if (!reader.full)
		*ret_kept = kept;
	return !reader.full;
}

/* --- pods that keep others away */

void repels_put(struct buf *buf, const struct kept_repels *kept)
{
	pack_put_str(buf, kept->namespace);
	pack_put_int(buf, (int64_t)kept->n);
	for (size_t i = 0; i < kept->n; i++) {
		const struct pod_repel *repel = &kept->repels[i];

		pack_put_str(buf, repel->topology_key);
		pack_put_int(buf, repel->everywhere);
		pack_put_int(buf, repel->anybody);
		pack_put_strs(buf, repel->namespaces, repel->n_namespaces);
		pack_put_selector(buf, &repel->selector);
	}
}

bool repels_get(struct str bytes, struct arena *arena, struct kept_repels *ret_kept)
{
	struct pack_reader reader = {.rest = bytes, .arena = arena};
	struct kept_repels kept = {.namespace = pack_get_str(&reader)};
	struct pod_repel *repels;

	kept.n = (size_t)pack_get_int(&reader);
	repels = pack_get_memory(&reader, kept.n, sizeof(*repels));
	for (size_t i = 0; repels && i < kept.n; i++) {
		struct pod_repel *repel = &repels[i];

		repel->topology_key = pack_get_str(&reader);
		repel->everywhere = pack_get_int(&reader) != 0;
		repel->anybody = pack_get_int(&reader) != 0;
		repel->namespaces = pack_get_strs(&reader, &repel->n_namespaces);
		pack_get_selector(&reader, &repel->selector);
	}
	kept.repels = repels;
	if (!reader.full)
		*ret_kept = kept;
	return !reader.full;
}

/* --- ports and volumes */

void ports_put(struct buf *buf, const struct host_port *ports, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		pack_put_str(buf, ports[i].ip);
		pack_put_str(buf, ports[i].protocol);
		pack_put_int(buf, ports[i].number);
	}
}

bool ports_next(struct str *rest, struct host_port *ret_port)
{
	struct pack_reader reader = {.rest = *rest};

	if (str_empty(*rest))
		return false;
	ret_port->ip = pack_get_str(&reader);
	ret_port->protocol = pack_get_str(&reader);
	ret_port->number = (int32_t)pack_get_int(&reader);
	*rest = reader.rest;
	return true;
}

void volumes_put(struct buf *buf, struct str namespace, const struct pod_volume *volumes, size_t n)
{
	pack_put_str(buf, namespace);
	for (size_t i = 0; i < n; i++) {
		pack_put_int(buf, (int64_t)volumes[i].sort);
		pack_put_str(buf, volumes[i].claim);
	}
}

struct str volumes_namespace(struct str *rest)
{
	struct pack_reader reader = {.rest = *rest};
	struct str namespace = pack_get_str(&reader);

	*rest = reader.rest;
	return namespace;
}

bool volumes_next(struct str *rest, struct pod_volume *ret_volume)
{
	struct pack_reader reader = {.rest = *rest};

	if (str_empty(*rest))
		return false;
	ret_volume->sort = (enum pod_volume_sort)pack_get_int(&reader);
	ret_volume->claim = pack_get_str(&reader);
	*rest = reader.rest;
	return true;
}
