/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TOPO_CERTAIN_H
#define GPUQOS_TOPO_CERTAIN_H

#include "base/buf.h"
#include "topo/domain.h"

/*
 * Required means certain. A scheduler chooses the node; kubelet and the device plugin choose the
 * cards. A node satisfies a required scope only where every choice that they may make lies in one
 * domain. They may give any of the free cards, unless one of these holds:
 *
 *  - The devices are named: by DRA's allocation, or by HAMi's scheduler. Then these count.
 *  - kubelet aligns the pod: topology manager policy single-numa-node, CPU manager policy static,
 *    a Guaranteed pod with whole CPUs, and its cards in one container or topology manager scope
 *    pod. Then cards and CPUs come from one NUMA node. (Device manager alone would align the cards
 *    of other pods too; but CPUs that may run anywhere make no aligned pod.) For this the NUMA
 *    node of every free card must be known: a plugin that does not know it tells kubelet nothing,
 *    and then it gives any.
 *
 * It follows that any scope is certain where all free cards lie in one domain, where the request
 * takes all of them and they do, and for a single card: a scope speaks of the cards alone. Whether
 * CPUs come from where the cards are is topo_kubelet_aligns().
 *
 * All this is about whole cards: free ones are those of which nothing is given to anybody.
 */
struct topo_request {
	/* What kubelet has not given out yet, as far as is known: also what is only assumed for
	 * pods that it has not admitted, since it may give them others. A failed card that its
	 * plugin has withdrawn is not among them; one that is among them makes nothing certain. */
	uint64_t free;
	/* Those of the free that pods on their way out have: each pod has its own still, or nothing
	 * any more. */
	uint64_t leaving;
	uint32_t pending; /* how many of the free cards such pods will take, at most all others */
	uint64_t named;   /* the cards, where they are named already; else 0 */
	uint32_t count;   /* cards that the pod takes in all */
	/* Cards that one of its containers takes at most. count: only one does, or later ones take
	 * over what they need from it. 0: later ones take over what an init container got, and need
	 * more. */
	uint32_t most;
	/* CPUs that the pod gets for itself; of each NUMA node those that others have for
	 * themselves; and of whichever NUMA nodes those that pending pods will have, and those that
	 * kubelet keeps. Looked at under single-numa-node and restricted with static CPUs alone. */
	uint32_t cpus, cpus_taken[LIMIT_POLICY_NUMAS], cpus_pending, cpus_reserved;
	bool cpus_together;          /* one container has all of cpus */
	bool takes_over;             /* as of struct pod_alignment */
	bool guaranteed, whole_cpus; /* QoS class; CPUs of all containers that take cards */
	bool others; /* some cards of the node are never given to such a pod: they are cut */
};

/*
 * name, reason, what a person reads; %s is the scope's noun. The first three are certain.
 *
 * SPANS: no domain has as many free cards, wherever the unknown ones are. CHOICE: some choices lie
 * in one domain, others do not, and nobody names the cards.
 */
#define TOPO_VERDICTS(X)                                                                           \
	X(NAMED, "Named", "the cards are named and lie in one %s")                                 \
	X(ALL, "AnyChoice", "any choice of free cards lies in one %s")                             \
	X(ALIGNED, "KubeletAligns",                                                                \
	  "kubelet gives cards of one NUMA node, and any such choice lies in one %s")              \
	X(TOO_FEW, "TooFewCards", "fewer cards are free than the pod asks for")                    \
	X(APART, "NamedApart", "the cards that are named do not lie in one %s")                    \
	X(SPANS, "WouldSpan", "no %s has as many free cards as the pod asks for")                  \
	X(REFUSES, "KubeletRefuses",                                                               \
	  "kubelet's topology manager would reject the pod: its NUMA nodes have too few free "     \
	  "cards, or CPUs beside them, each")                                                      \
	X(FAILED, "FailedCard",                                                                    \
	  "a failed card is among those that may be given out: drain the node, or have the "       \
	  "device plugin withdraw it")                                                             \
	X(UNKNOWN, "UnknownTopology", "it is not known which %s the free cards lie in")            \
	X(NO_POLICY, "KubeletPolicy",                                                              \
	  "free cards lie in more than one %s and kubelet may mix them: set its "                  \
	  "topologyManagerPolicy to single-numa-node, or have the cards named by DRA or HAMi")     \
	X(NO_STATIC, "CPUManagerPolicy",                                                           \
	  "free cards lie in more than one %s, and kubelet aligns CPUs only with "                 \
	  "cpuManagerPolicy static")                                                               \
	X(NOT_GUARANTEED, "NotGuaranteed",                                                         \
	  "free cards lie in more than one %s, and kubelet aligns only Guaranteed pods: give all " \
	  "containers limits equal to requests for CPU and memory")                                \
	X(NO_WHOLE_CPUS, "FractionalCPUs",                                                         \
	  "free cards lie in more than one %s, and kubelet aligns only whole CPUs: ask for an "    \
	  "integer number of CPUs")                                                                \
	X(CONTAINERS, "SeveralContainers",                                                         \
	  "free cards lie in more than one %s, and kubelet aligns each container by itself: ask "  \
	  "for all cards in one container, or set its topologyManagerScope to pod")                \
	X(CHOICE, "FreeChoice",                                                                    \
	  "free cards lie in more than one %s and kubelet may mix them: have the cards named by "  \
	  "DRA or HAMi, or ask for all cards of the node")

enum topo_verdict {
#define X(name, reason, text) TOPO_CERTAIN_##name,
	TOPO_VERDICTS(X)
#undef X
		TOPO_VERDICT_COUNT
};

/* Whether the node satisfies @scope for certain, and how or why not. */
enum topo_verdict topo_certain(const struct topo *topo, enum layout_scope scope,
			       const struct topo_request *request);

static inline bool topo_is_certain(enum topo_verdict verdict)
{
	return verdict <= TOPO_CERTAIN_ALIGNED;
}

/* CamelCase, for metrics and Events. Borrowed, static. */
const char *topo_verdict_reason(enum topo_verdict verdict);

/* Appends the sentence, without a full stop. */
void topo_verdict_describe(enum topo_verdict verdict, enum layout_scope scope, struct buf *buf);

/* Whether kubelet gives cards and CPUs of one NUMA node, or rejects the pod. */
bool topo_kubelet_aligns(const struct topo *topo, const struct topo_request *request);

/*
 * Whether kubelet may pin the pod to CPUs of another NUMA node than its cards: what it does not
 * align, of a pod that gets CPUs of its own, or would if its kubelet's settings were known.
 */
bool topo_kubelet_pins_apart(const struct topo *topo, const struct topo_request *request);

/* Whether the pod's CPUs stand in the way of its admission on no NUMA node, wherever its devices
 * are: for those of which that is not known. */
bool topo_kubelet_has_cpus_anywhere(const struct topo *topo, const struct topo_request *request);

/*
 * Whether kubelet's topology manager admits the pod, by what its device plugin hints. What it
 * rejects has failed for good, so this is worth asking whatever scope a pod has, if any. Memory is
 * not looked at. UNKNOWN also where pending pods, or
 * containers of one pod, may get into each other's way.
 *
 * none, best-effort: all. single-numa-node: some NUMA node has as many free cards as are aligned
 * together. restricted: as many NUMA nodes as would do if all cards of the node were free, have
 * that many free. Cards without a NUMA node hint nothing.
 *
 * Source: pkg/kubelet/cm/devicemanager/topology_hints.go, cpumanager/policy_static.go and
 * topologymanager/policy_*.go.
 */
enum topo_answer topo_kubelet_admits(const struct topo *topo, const struct topo_request *request);

#endif
