/* SPDX-License-Identifier: Apache-2.0 */
/* Selectors are a handful of requirements and a namespace a handful of labels: both are walked. */
#include "model/labels.h"

const char *label_operator_text(enum label_operator op)
{
	static const char *const texts[] = {
#define X(name, text) [LABEL_##name] = text,
		LABEL_OPERATORS(X)
#undef X
	};

	return texts[op];
}

static const struct label *find(const struct label *labels, size_t n, struct str key)
{
	for (size_t i = 0; i < n; i++)
		if (str_equal(labels[i].key, key))
			return &labels[i];
	return NULL;
}

static bool is_among(const struct label_requirement *requirement, struct str value)
{
	for (size_t i = 0; i < requirement->n_values; i++)
		if (str_equal(requirement->values[i], value))
			return true;
	return false;
}

static bool holds(const struct label_requirement *requirement, const struct label *label)
{
	switch (requirement->op) {
	case LABEL_IN:
		return label && is_among(requirement, label->value);
	case LABEL_NOT_IN:
		return !label || !is_among(requirement, label->value);
	case LABEL_EXISTS:
		return label != NULL;
	case LABEL_DOES_NOT_EXIST:
		return label == NULL;
	}
	return false;
}

bool label_selector_matches(const struct label_selector *selector, const struct label *labels,
			    size_t n_labels)
{
	for (size_t i = 0; i < selector->n_requirements; i++) {
		const struct label_requirement *requirement = &selector->requirements[i];

		if (!holds(requirement, find(labels, n_labels, requirement->key)))
			return false;
	}
	return selector->n_requirements > 0;
}

static bool requirement_equal(const struct label_requirement *a, const struct label_requirement *b)
{
	if (!str_equal(a->key, b->key) || a->op != b->op || a->n_values != b->n_values)
		return false;
	for (size_t i = 0; i < a->n_values; i++)
		if (!str_equal(a->values[i], b->values[i]))
			return false;
	return true;
}

bool label_selector_equal(const struct label_selector *a, const struct label_selector *b)
{
	if (a->n_requirements != b->n_requirements)
		return false;
	for (size_t i = 0; i < a->n_requirements; i++)
		if (!requirement_equal(&a->requirements[i], &b->requirements[i]))
			return false;
	return true;
}
