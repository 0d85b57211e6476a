/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_PLAN_HOST_H
#define GPUQOS_PLAN_HOST_H

#include "base/buf.h"
#include "cluster/hosts/hosts.h"
#include "cluster/hosts/ports.h"
#include "cluster/hosts/terms.h"

/*
 * Whether kube-scheduler itself would let a pod on a node, which is asked of a node beside
 * place_fit() where somebody else is to go for it. Pure.
 */

/* name, text: "12 nodes with enough cards: 12 ...". In the order in which they are looked for. */
#define HOST_VERDICTS(X)                                               \
	X(FITS, "")                                                    \
	X(CORDONED, "cordoned")                                        \
	X(TAINTED, "with a taint that it does not tolerate")           \
	X(UNSELECTED, "that its node selector or affinity leaves out") \
	X(SHUNNED, "from which anti-affinity keeps it away")           \
	X(VOLUMES_ELSEWHERE, "that its volumes are not for")           \
	X(VOLUMES_FULL, "that can attach no more volumes")             \
	X(NO_PORT, "where others have a port that it asks for")        \
	X(FULL, "full of pods")                                        \
	X(NO_CPU, "without enough CPU")                                \
	X(NO_MEMORY, "without enough memory")                          \
	X(NO_STORAGE, "without enough ephemeral storage")

enum host_verdict {
#define X(name, text) HOST_##name,
	HOST_VERDICTS(X)
#undef X
		HOST_VERDICT_COUNT
};

/* Whether anybody's going could let it in: it would with nobody there. */
enum host_verdict host_could_fit(const struct cluster *cluster, const struct cluster_ask *ask,
				 struct cluster_terms *terms, uint32_t node);
/* Whether there is enough of all amounts, and no port taken, with those gone whom the ask's trial
 * has; of a node that could fit. */
enum host_verdict host_has_room(const struct cluster *cluster, const struct cluster_ask *ask,
				const struct cluster_terms *terms, uint32_t node);
/* Both. */
enum host_verdict host_fit(const struct cluster *cluster, const struct cluster_ask *ask,
			   struct cluster_terms *terms, uint32_t node);
/* Appends why nobody knows where kube-scheduler lets it, or that it lets it nowhere, a clause;
 * where there is no such doubt, that memory ran out. */
void host_describe_doubt(const struct terms_doubt *doubt, struct buf *buf);
/* That of an amount there is too little. */
enum host_verdict host_lacks(size_t amount);
/* Appends "nodes with enough cards: 12 without enough CPU, 2 cordoned"; nothing where @counts of
 * all are 0. @before: what comes before that. */
void host_describe(const uint32_t counts[HOST_VERDICT_COUNT], const char *before, struct buf *buf);

#endif
