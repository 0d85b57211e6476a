/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_TERMS_H
#define GPUQOS_MODEL_TERMS_H

#include "model/labels.h"

/*
 * What a pod asks of nodes and what nodes ask of pods, as kube-scheduler compares them: node
 * selectors and required node affinity (k8s.io/component-helpers/scheduling/corev1/nodeaffinity),
 * taints and tolerations (k8s.io/api/core/v1, Toleration.ToleratesTaint), and required
 * anti-affinity of pods that are there already. All borrowed.
 */

/* name, text in matchExpressions[].operator of a node selector term */
#define NODE_OPERATORS(X)                 \
	X(IN, "In")                       \
	X(NOT_IN, "NotIn")                \
	X(EXISTS, "Exists")               \
	X(DOES_NOT_EXIST, "DoesNotExist") \
	X(GREATER, "Gt")                  \
	X(LESS, "Lt")

enum node_operator {
#define X(name, text) NODE_##name,
	NODE_OPERATORS(X)
#undef X
};

struct node_requirement {
	struct str key;
	enum node_operator op;
	const struct str *values;
	size_t n_values;
};

/* @value: of the node's label, or field; NULL: it has none. Numbers are compared as int64_t; what
 * is none is neither greater nor less. */
bool node_requirement_holds(const struct node_requirement *requirement, const struct str *value);

/* All of them must hold; one without any matches nothing, and is left out. */
struct node_term {
	const struct node_requirement *labels, *names; /* names: of the node's own name */
	size_t n_labels, n_names;
};

/* PREFER keeps nobody away. */
enum taint_effect { TAINT_ANY, TAINT_NO_SCHEDULE, TAINT_NO_EXECUTE, TAINT_PREFER };

struct taint {
	struct str key, value;
	enum taint_effect effect;
};

struct toleration {
	struct str key, value;    /* key empty: of all keys */
	bool exists;              /* whatever the value */
	enum taint_effect effect; /* ANY: all */
};

/* Operators that compare numbers tolerate nothing here: whether a cluster has them is not known. */
bool toleration_holds(const struct toleration *toleration, const struct taint *taint);
/* Whether every taint that keeps pods away is tolerated by some. */
bool taints_tolerated(const struct taint *taints, size_t n_taints,
		      const struct toleration *tolerations, size_t n_tolerations);

/* A required anti-affinity of a pod: which others it keeps away from where it is. */
struct pod_repel {
	struct str topology_key;
	bool everywhere;              /* whichever namespaces; those that a selector picks are taken
					 for all */
	const struct str *namespaces; /* where it is not everywhere: of these, */
	size_t n_namespaces;          /* 0: of its own */
	bool anybody;                 /* whatever its labels; else by selector */
	struct label_selector selector;
};

/* @own: the namespace of the pod that has it; @labels of the other one NULL: not known. */
bool pod_repel_holds(const struct pod_repel *repel, struct str own, struct str namespace,
		     const struct label *labels, size_t n_labels);

/*
 * What a pod may ask for that is not compared here: where any of it is, nobody knows whether
 * kube-scheduler lets it on a node. name, text: "it asks for ...".
 */
#define TERMS_BEYOND(X)                                                                   \
	X(POD_AFFINITY, "pod affinity")                                                   \
	X(POD_ANTI_AFFINITY, "pod anti-affinity to namespaces by their labels")           \
	X(SPREAD, "a topology spread that must hold")                                     \
	X(VOLUME, "a disk without a PersistentVolumeClaim")                               \
	X(RESOURCE, "a resource of which gpuqos does not know how much is left on nodes") \
	X(SIZE, "more of its nodes than gpuqos reads")

enum terms_beyond {
#define X(name, text) BEYOND_##name,
	TERMS_BEYOND(X)
#undef X
		BEYOND_COUNT
};

/* Borrowed, static. */
const char *terms_beyond_text(enum terms_beyond beyond);

struct pod_terms {
	const struct label *selector; /* spec.nodeSelector */
	size_t n_selector;
	bool chooses; /* it has required node affinity: one of terms must match */
	const struct node_term *terms;
	size_t n_terms;
	const struct toleration *tolerations;
	size_t n_tolerations;
	unsigned int beyond; /* enum terms_beyond, each a bit */
};

#endif
