/* SPDX-License-Identifier: Apache-2.0 */
/* Each comparison as kube-scheduler makes it; what is odd matches nothing. */
#include "model/terms.h"

#include "base/str.h"

static bool is_among(const struct node_requirement *requirement, struct str value)
{
	for (size_t i = 0; i < requirement->n_values; i++)
		if (str_equal(requirement->values[i], value))
			return true;
	return false;
}

/* Go's strconv.ParseInt() takes a sign of either sort. */
static bool read_number(struct str text, int64_t *ret_number)
{
	if (text.len > 1 && text.data[0] == '+' && text.data[1] >= '0' && text.data[1] <= '9')
		text = str_skip(text, 1);
	return str_to_int64(text, INT64_MIN, INT64_MAX, ret_number);
}

static bool compares(const struct node_requirement *requirement, struct str value)
{
	int64_t have, bound;

	if (requirement->n_values != 1 || !read_number(value, &have) ||
	    !read_number(requirement->values[0], &bound))
		return false;
	return requirement->op == NODE_GREATER ? have > bound : have < bound;
}

bool node_requirement_holds(const struct node_requirement *requirement, const struct str *value)
{
	switch (requirement->op) {
	case NODE_IN:
		return value && is_among(requirement, *value);
	case NODE_NOT_IN:
		return !value || !is_among(requirement, *value);
	case NODE_EXISTS:
		return value != NULL;
	case NODE_DOES_NOT_EXIST:
		return value == NULL;
	case NODE_GREATER:
	case NODE_LESS:
		return value && compares(requirement, *value);
	}
	return false;
}

bool toleration_holds(const struct toleration *toleration, const struct taint *taint)
{
	if (toleration->effect != TAINT_ANY && toleration->effect != taint->effect)
		return false;
	if (!str_empty(toleration->key) && !str_equal(toleration->key, taint->key))
		return false;
	return toleration->exists || str_equal(toleration->value, taint->value);
}

static bool is_tolerated(const struct taint *taint, const struct toleration *tolerations, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (toleration_holds(&tolerations[i], taint))
			return true;
	return false;
}

bool taints_tolerated(const struct taint *taints, size_t n_taints,
		      const struct toleration *tolerations, size_t n_tolerations)
{
	for (size_t i = 0; i < n_taints; i++)
		if (taints[i].effect != TAINT_PREFER &&
		    !is_tolerated(&taints[i], tolerations, n_tolerations))
			return false;
	return true;
}

static bool is_of_namespace(const struct pod_repel *repel, struct str own, struct str namespace)
{
	if (repel->everywhere)
		return true;
	if (repel->n_namespaces == 0)
		return str_equal(own, namespace);
	for (size_t i = 0; i < repel->n_namespaces; i++)
		if (str_equal(repel->namespaces[i], namespace))
			return true;
	return false;
}

bool pod_repel_holds(const struct pod_repel *repel, struct str own, struct str namespace,
		     const struct label *labels, size_t n_labels)
{
	return is_of_namespace(repel, own, namespace) &&
	       (repel->anybody || !labels ||
		label_selector_matches(&repel->selector, labels, n_labels));
}

const char *terms_beyond_text(enum terms_beyond beyond)
{
	static const char *const texts[] = {
#define X(name, text) [BEYOND_##name] = text,
		TERMS_BEYOND(X)
#undef X
	};

	return texts[beyond];
}
