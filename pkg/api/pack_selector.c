/* SPDX-License-Identifier: Apache-2.0 */
/* metav1.LabelSelector to requirements. */
#include "api/pack_selector.h"

#include "base/limits.h"
#include "base/macros.h"

static bool operator_of(struct str text, enum label_operator *ret_operator)
{
	static const enum label_operator operators[] = {
#define X(name, text) LABEL_##name,
		LABEL_OPERATORS(X)
#undef X
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(operators); i++) {
		if (str_equal(text, str_from(label_operator_text(operators[i])))) {
			*ret_operator = operators[i];
			return true;
		}
	}
	return false;
}

static bool is_small(struct str text)
{
	return text.len <= LIMIT_INTERNED_STRING;
}

static bool read_requirement(const struct wire_requirement *wire,
			     struct label_requirement *requirement)
{
	bool with_values;

	if (!operator_of(wire->op, &requirement->op))
		return false;
	requirement->key = wire->key;
	requirement->values = wire->values.items;
	requirement->n_values = wire->values.len;
	wire_for_each(const struct str, value, wire->values) {
		if (!is_small(*value))
			return false;
	}
	with_values = requirement->op == LABEL_IN || requirement->op == LABEL_NOT_IN;
	return !str_empty(wire->key) && is_small(wire->key) &&
	       with_values == (requirement->n_values > 0);
}

static bool read_label(const struct wire_pair *pair, struct label_requirement *requirement)
{
	*requirement = (struct label_requirement){pair->key, LABEL_IN, &pair->value, 1};
	return !str_empty(pair->key) && is_small(pair->key) && is_small(pair->value);
}

static bool is_too_large(const struct wire_selector *wire)
{
	size_t size = wire->labels.len + wire->requirements.len;

	wire_for_each(const struct wire_requirement, requirement, wire->requirements)
		size += requirement->values.len;
	return size > LIMIT_SELECTOR_VALUES;
}

static bool read_all(const struct wire_selector *wire, struct label_requirement *next)
{
	wire_for_each(const struct wire_pair, pair, wire->labels) {
		if (!read_label(pair, next++))
			return false;
	}
	wire_for_each(const struct wire_requirement, requirement, wire->requirements) {
		if (!read_requirement(requirement, next++))
			return false;
	}
	return true;
}

int pack_selector(const struct wire_selector *wire, const struct pack *pack,
		  struct label_selector *ret_selector, enum pack_selector_verdict *ret_verdict)
{
	size_t n = wire->labels.len + wire->requirements.len;
	struct label_requirement *requirements;

	if (is_too_large(wire)) {
		*ret_verdict = SELECTOR_TOO_LARGE;
		return 0;
	}
	requirements = arena_alloc(pack->arena, n * sizeof(*requirements));
	if (!requirements)
		return pack_no_memory(pack);
	*ret_verdict = read_all(wire, requirements) ? SELECTOR_GOOD : SELECTOR_ODD;
	if (*ret_verdict == SELECTOR_GOOD)
		*ret_selector = (struct label_selector){requirements, n};
	return 0;
}
