/* SPDX-License-Identifier: Apache-2.0 */
/* Node selectors, affinity, tolerations and taints: words become enums, the rest is borrowed. */
#include "api/pack_terms.h"

#include "api/pack_mounts.h"
#include "api/pack_selector.h"
#include "base/limits.h"
#include "base/macros.h"

/* --- node affinity */

static bool operator_of(struct str text, enum node_operator *ret_operator)
{
	static const struct {
		const char *text;
		enum node_operator op;
	} operators[] = {
#define X(name, text) {text, NODE_##name},
		NODE_OPERATORS(X)
#undef X
	};

	for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
		if (str_equal(text, str_from(operators[i].text))) {
			*ret_operator = operators[i].op;
			return true;
		}
	return false;
}

/* What the API server would not take matches nothing. */
static bool is_sound(const struct node_requirement *requirement)
{
	switch (requirement->op) {
	case NODE_IN:
	case NODE_NOT_IN:
		return requirement->n_values > 0;
	case NODE_EXISTS:
	case NODE_DOES_NOT_EXIST:
		return requirement->n_values == 0;
	case NODE_GREATER:
	case NODE_LESS:
		return requirement->n_values == 1;
	}
	return false;
}

/* Fields: only a node's name is one, compared with one value. */
static bool is_of_name(const struct node_requirement *requirement)
{
	return str_equal(requirement->key, STR("metadata.name")) && requirement->n_values == 1 &&
	       (requirement->op == NODE_IN || requirement->op == NODE_NOT_IN);
}

static bool read_requirement(const struct wire_requirement *wire, bool names,
			     struct node_requirement *requirement)
{
	*requirement = (struct node_requirement){
		.key = wire->key, .values = wire->values.items, .n_values = wire->values.len};
	return operator_of(wire->op, &requirement->op) && is_sound(requirement) &&
	       (!names || is_of_name(requirement));
}

static const struct node_requirement *read_requirements(const struct wire_list *wires, bool names,
							const struct pack *pack, bool *sound)
{
	struct node_requirement *requirements =
		arena_alloc(pack->arena, wires->len * sizeof(*requirements));
	size_t n = 0;

	if (!requirements)
		return NULL;
	wire_for_each(const struct wire_requirement, wire, *wires) {
		*sound &= read_requirement(wire, names, &requirements[n++]);
	}
	return requirements;
}

int pack_node_terms(const struct wire_list *wires, const struct pack *pack,
		    const struct node_term **ret_terms, size_t *ret_n)
{
	struct node_term *list = arena_alloc(pack->arena, wires->len * sizeof(*list));
	size_t n = 0;

	if (!list)
		return pack_no_memory(pack);
	wire_for_each(const struct wire_node_term, wire, *wires) {
		bool sound = wire->labels.len + wire->fields.len > 0;
		struct node_term term = {
			.labels = read_requirements(&wire->labels, false, pack, &sound),
			.names = read_requirements(&wire->fields, true, pack, &sound),
			.n_labels = wire->labels.len,
			.n_names = wire->fields.len,
		};

		if (!term.labels || !term.names)
			return pack_no_memory(pack);
		if (sound)
			list[n++] = term;
	}
	*ret_terms = list;
	*ret_n = n;
	return 0;
}

size_t pack_node_terms_size(const struct wire_list *wires)
{
	size_t size = 0;

	wire_for_each(const struct wire_node_term, term, *wires) {
		size++;
		wire_for_each(const struct wire_requirement, label, term->labels) {
			size += 1 + label->values.len;
		}
		size += 2 * term->fields.len;
	}
	return size;
}

static int pack_node_selector(const struct wire_list *pairs, const struct pack *pack,
			      struct pod_terms *terms)
{
	struct label *selector = arena_alloc(pack->arena, pairs->len * sizeof(*selector));

	if (!selector)
		return pack_no_memory(pack);
	terms->selector = selector;
	wire_for_each(const struct wire_pair, pair, *pairs) {
		selector[terms->n_selector++] = (struct label){pair->key, pair->value};
	}
	return 0;
}

/* --- taints */

static bool effect_of(struct str text, enum taint_effect *ret_effect)
{
	static const struct {
		const char *text;
		enum taint_effect effect;
	} effects[] = {
		{"", TAINT_ANY},
		{"NoSchedule", TAINT_NO_SCHEDULE},
		{"NoExecute", TAINT_NO_EXECUTE},
		{"PreferNoSchedule", TAINT_PREFER},
	};

	for (size_t i = 0; i < ARRAY_SIZE(effects); i++)
		if (str_equal(text, str_from(effects[i].text))) {
			*ret_effect = effects[i].effect;
			return true;
		}
	return false;
}

static bool read_toleration(const struct wire_toleration *wire, struct toleration *toleration)
{
	bool equal = str_empty(wire->op) || str_equal(wire->op, STR("Equal"));

	*toleration = (struct toleration){.key = wire->key, .value = wire->value, .exists = !equal};
	return effect_of(wire->effect, &toleration->effect) &&
	       (equal || str_equal(wire->op, STR("Exists")));
}

static int pack_tolerations(const struct wire_list *wires, const struct pack *pack,
			    struct pod_terms *terms)
{
	struct toleration *list = arena_alloc(pack->arena, wires->len * sizeof(*list));

	if (!list)
		return pack_no_memory(pack);
	terms->tolerations = list;
	wire_for_each(const struct wire_toleration, wire, *wires) {
		if (read_toleration(wire, &list[terms->n_tolerations]))
			terms->n_tolerations++;
	}
	return 0;
}

/* --- what is not compared */

/* Disks that VolumeRestrictions or NodeVolumeLimits compare as they are named. */
static bool has_disk(const struct wire_list *volumes)
{
	wire_for_each(const struct wire_volume, volume, *volumes) {
		if (pack_is_disk(volume))
			return true;
	}
	return false;
}

static bool has_spread(const struct wire_list *spreads)
{
	wire_for_each(const struct wire_spread, spread, *spreads) {
		if (!str_equal(spread->when_unsatisfiable, STR("ScheduleAnyway")))
			return true;
	}
	return false;
}

/* Whom its own anti-affinity means is then not to be told by namespaces alone. */
static bool selects_namespaces(const struct wire_list *terms)
{
	wire_for_each(const struct wire_pod_term, term, *terms) {
		if (wire_has(term, WIRE_POD_TERM_NAMESPACE_SELECTOR))
			return true;
	}
	return false;
}

static unsigned int beyond_of(const struct wire_pod_spec *spec)
{
	unsigned int beyond = 0;

	if (spec->affinity.pod.required.len > 0)
		beyond |= 1u << BEYOND_POD_AFFINITY;
	if (selects_namespaces(&spec->affinity.anti.required))
		beyond |= 1u << BEYOND_POD_ANTI_AFFINITY;
	if (has_spread(&spec->spreads))
		beyond |= 1u << BEYOND_SPREAD;
	if (has_disk(&spec->volumes))
		beyond |= 1u << BEYOND_VOLUME;
	return beyond;
}

/* What is kept of it is at most about as much as this, so that nobody fills the memory. */
static bool is_too_large(const struct wire_pod_spec *spec)
{
	size_t size = spec->node_selector.len + spec->tolerations.len +
		      pack_node_terms_size(&spec->affinity.node.required.terms);

	return size > LIMIT_TERMS;
}

int pack_terms(const struct wire_pod_spec *spec, unsigned int beyond, const struct pack *pack,
	       struct pod_facts *facts)
{
	struct pod_terms *terms = arena_alloc(pack->arena, sizeof(*terms));

	if (!terms)
		return pack_no_memory(pack);
	terms->beyond = beyond | beyond_of(spec);
	facts->terms = terms;
	if (is_too_large(spec)) {
		terms->beyond |= 1u << BEYOND_SIZE;
		return 0;
	}
	terms->chooses = wire_has(&spec->affinity.node, WIRE_NODE_AFFINITY_REQUIRED);
	if (pack_node_selector(&spec->node_selector, pack, terms) < 0 ||
	    pack_tolerations(&spec->tolerations, pack, terms) < 0)
		return -1;
	return pack_node_terms(&spec->affinity.node.required.terms, pack, &terms->terms,
			       &terms->n_terms);
}

/* --- pods that keep others away */

/* What selects nobody keeps nobody away; what cannot be read keeps everybody. */
static int read_repel(const struct wire_pod_term *wire, const struct pack *pack,
		      struct pod_repel *repel)
{
	enum pack_selector_verdict verdict;

	*repel = (struct pod_repel){
		.topology_key = wire->topology_key,
		.everywhere = wire_has(wire, WIRE_POD_TERM_NAMESPACE_SELECTOR),
		.namespaces = wire->namespaces.items,
		.n_namespaces = wire->namespaces.len,
	};
	if (pack_selector(&wire->selector, pack, &repel->selector, &verdict) < 0)
		return -1;
	repel->anybody = verdict != SELECTOR_GOOD || repel->selector.n_requirements == 0;
	return 0;
}

int pack_repels(const struct wire_pod_spec *spec, const struct pack *pack, struct pod_facts *facts)
{
	const struct wire_list *wires = &spec->affinity.anti.required;
	struct pod_repel *repels;

	if (wires->len == 0)
		return 0;
	repels = arena_alloc(pack->arena, wires->len * sizeof(*repels));
	if (!repels)
		return pack_no_memory(pack);
	facts->repels = repels;
	wire_for_each(const struct wire_pod_term, wire, *wires) {
		if (!wire_has(wire, WIRE_POD_TERM_SELECTOR))
			continue;
		if (read_repel(wire, pack, &repels[facts->n_repels++]) < 0)
			return -1;
	}
	return 0;
}

/* --- nodes */

static bool keeps_away(const struct wire_taint *wire, struct taint *taint)
{
	*taint = (struct taint){.key = wire->key, .value = wire->value};
	return !effect_of(wire->effect, &taint->effect) || taint->effect != TAINT_PREFER;
}

int pack_host_terms(const struct wire_node *wire, const struct pack *pack, struct host_facts *host)
{
	size_t n_labels = wire->meta.labels.len, n_taints = wire->spec.taints.len;
	struct label *labels = arena_alloc(pack->arena, n_labels * sizeof(*labels));
	struct taint *taints = arena_alloc(pack->arena, n_taints * sizeof(*taints));

	if (!labels || !taints)
		return pack_no_memory(pack);
	host->labels = labels;
	host->taints = taints;
	wire_for_each(const struct wire_pair, pair, wire->meta.labels) {
		labels[host->n_labels++] = (struct label){pair->key, pair->value};
	}
	wire_for_each(const struct wire_taint, taint, wire->spec.taints) {
		if (keeps_away(taint, &taints[host->n_taints]))
			host->n_taints++;
	}
	return 0;
}
