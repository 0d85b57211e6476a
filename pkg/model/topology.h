/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_TOPOLOGY_H
#define GPUQOS_MODEL_TOPOLOGY_H

#include "model/layout.h"

/* What a tenant, or a pod, asks of the places of its cards. */

/*
 * Whether a pod's cards are to lie within a scope: name, text in spec.topology.policy, and in the
 * pods' annotation of that name. In rising order: the later is the stricter.
 */
#define TOPOLOGY_POLICIES(X)      \
	X(NONE, "None")           \
	X(PREFERRED, "Preferred") \
	X(REQUIRED, "Required")

enum topology_policy {
#define X(name, text) TOPOLOGY_##name,
	TOPOLOGY_POLICIES(X)
#undef X
};

/* What follows when a pod was seen to lie otherwise: name, text in spec.topology.onMismatch. */
#define TOPOLOGY_MISMATCHES(X) \
	X(IGNORE, "Ignore")    \
	X(ALERT, "Alert")      \
	X(MIGRATE, "Migrate")

enum topology_mismatch {
#define X(name, text) MISMATCH_##name,
	TOPOLOGY_MISMATCHES(X)
#undef X
};

/* What a set of cards must, or had better, lie within, and how much that matters. */
struct topology_spec {
	enum topology_policy policy;
	enum layout_scope scope;
	enum topology_mismatch on_mismatch;
};

/* That of who asks for nothing, and of what spec.topology leaves out. */
#define TOPOLOGY_SPEC_DEFAULT ((struct topology_spec){TOPOLOGY_NONE, LAYOUT_NUMA, MISMATCH_ALERT})

/*
 * What holds for a pod of a tenant that asks for @policy within @scope (NULL: it names none, and so
 * means the tenant's). It may ask for more than its tenant says, never for less: a policy that is
 * stricter, with any scope, or the tenant's policy within PCIeSwitch where the tenant's scope is
 * NUMA, since all that is below one switch is on one NUMA node. Admission refuses what asks for
 * less; if it is there all the same, what the tenant says holds. onMismatch is the tenant's.
 */
struct topology_spec topology_of_pod(struct topology_spec tenant, enum topology_policy policy,
				     const enum layout_scope *scope);

/*
 * What was made of the cards that a pod was seen to have, once it was seen. UNCHECKED: nothing is
 * asked of them, or it has none yet. OTHER_CARDS: they lie as asked, and others were chosen for it.
 * CPUS_APART: they lie as asked, and the pod has CPUs for itself on another NUMA node. UNKNOWN:
 * nothing tells which they are, or how they are wired.
 */
enum topology_check {
	CHECK_UNCHECKED,
	CHECK_AS_ASKED,
	CHECK_OTHER_CARDS,
	CHECK_SPANS,
	CHECK_CPUS_APART,
	CHECK_UNKNOWN
};

#define LAYOUT_SCOPE_COUNT    3
#define TOPOLOGY_POLICY_COUNT 3

/* Pods by policy and by what was made of them; `pods` is all of the policy that were checked. */
struct topology_counts {
	struct topology_count {
		uint32_t pods, other, unknown;
		uint32_t apart;                     /* CPUs on another NUMA node than the cards */
		uint32_t spans[LAYOUT_SCOPE_COUNT]; /* by the scope that they should lie within */
	} of[TOPOLOGY_POLICY_COUNT];
};

/* Adds up. */
void topology_counts_add(struct topology_counts *sum, const struct topology_counts *counts);
/* Of one policy, that do not lie in one domain; of all scopes. */
uint32_t topology_count_spans(const struct topology_count *count);
/* Those, and those whose CPUs are apart. */
uint32_t topology_count_mismatches(const struct topology_count *count);

/* Borrowed, static. */
const char *topology_policy_text(enum topology_policy policy);
const char *topology_mismatch_text(enum topology_mismatch mismatch);

#endif
