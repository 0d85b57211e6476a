/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_LABELS_H
#define GPUQOS_MODEL_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* Labels and selectors over them (k8s.io/apimachinery, metav1.LabelSelector). All borrowed. */
struct label {
	struct str key, value;
};

/* name, text in matchExpressions[].operator */
#define LABEL_OPERATORS(X)  \
	X(IN, "In")         \
	X(NOT_IN, "NotIn")  \
	X(EXISTS, "Exists") \
	X(DOES_NOT_EXIST, "DoesNotExist")

enum label_operator {
#define X(name, text) LABEL_##name,
	LABEL_OPERATORS(X)
#undef X
};

/* Borrowed, static: "In", "NotIn", "Exists", "DoesNotExist". */
const char *label_operator_text(enum label_operator op);

/* An entry of matchLabels is one with LABEL_IN and a single value. */
struct label_requirement {
	struct str key;
	enum label_operator op;
	const struct str *values;
	size_t n_values; /* 0 for the two that ask for no value */
};

/* All must hold. Without requirements it matches nothing here: no tenant has every namespace. */
struct label_selector {
	const struct label_requirement *requirements;
	size_t n_requirements;
};

/* NOT_IN holds also where the key is absent, as in Kubernetes. */
bool label_selector_matches(const struct label_selector *selector, const struct label *labels,
			    size_t n_labels);

/* Whether they are written alike: the same requirements and values in the same order. */
bool label_selector_equal(const struct label_selector *a, const struct label_selector *b);

#endif
