/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_KUBELET_MODEL_H
#define GPUQOS_TESTS_KUBELET_MODEL_H

#include "base/random.h"
#include "model/layout.h"
#include "model/pod.h"

/*
 * Kubelet's device manager, topology manager and static CPU manager as their code has them, by all
 * masks of NUMA nodes. Where the code leaves a choice, or leaves it to the device plugin, any may
 * be made, at random. Memory never runs short. What a pod has, cards and CPUs alike, it has until
 * kubelet_release(): kubelet takes both back when the pod's containers have ended, before the API
 * shows it.
 *
 * Source: pkg/kubelet/cm/devicemanager/{manager,topology_hints}.go, topologymanager/policy*.go,
 * cpumanager/policy_static.go.
 */
enum { KUBELET_CARDS, KUBELET_PARTS, KUBELET_RESOURCES };

#define KUBELET_UNITS      64
#define KUBELET_CONTAINERS 3
#define KUBELET_NUMAS      6

/* Sets of units, a bit each. */
struct kubelet_resource {
	uint64_t registered, healthy, given;
	uint32_t numa[KUBELET_UNITS]; /* LAYOUT_NONE: the plugin tells nothing */
};

struct kubelet_model {
	struct layout_kubelet settings; /* its policy is never UNKNOWN */
	uint32_t n_numas;               /* at most KUBELET_NUMAS */
	/* Of each NUMA node: CPUs that may be given, and those that nobody has for itself. Equal
	 * ones have no names. */
	uint32_t cpus[KUBELET_NUMAS], free_cpus[KUBELET_NUMAS];
	struct kubelet_resource resources[KUBELET_RESOURCES];
};

struct kubelet_pod {
	bool guaranteed; /* else no container has CPUs of its own */
	size_t n;
	struct kubelet_container {
		enum container_kind kind;
		uint32_t asks[KUBELET_RESOURCES];
		uint32_t cpus; /* whole ones, of a Guaranteed pod; 0: a share of those of all */
	} containers[KUBELET_CONTAINERS]; /* init containers first */
};

struct kubelet_answer {
	bool admitted;
	uint64_t units[KUBELET_RESOURCES]; /* that the pod holds from then on */
	/* NUMA nodes that CPUs of its containers with devices may be of; 0: they have none of their
	 * own. */
	uint64_t cpus;
	uint32_t own_cpus[KUBELET_NUMAS]; /* that it has for itself */
};

/* By Kubernetes' formula: init containers run one after the other, sidecars stay. */
uint32_t kubelet_pod_asks(const struct kubelet_pod *pod, int resource);
/* The same of whole CPUs. */
uint32_t kubelet_pod_cpus(const struct kubelet_pod *pod);

/* Gives the units, where it admits the pod. */
struct kubelet_answer kubelet_admit(struct kubelet_model *model, const struct kubelet_pod *pod,
				    struct random *random);
void kubelet_release(struct kubelet_model *model, const struct kubelet_answer *answer);

#endif
