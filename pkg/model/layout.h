/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_LAYOUT_H
#define GPUQOS_MODEL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/node.h"

/*
 * How the wires run in a node: its NUMA nodes, the tree of PCI bridges, its GPUs and the NVLinks
 * between them, as its agent publishes it (api/layout.h has the wire format, docs/topology.md the
 * contract). Flat arrays that name each other by index. Everything borrowed from whoever holds it.
 *
 * Unknown is a value: LAYOUT_NONE for an index, AMOUNT_UNKNOWN for an amount. It never means 0, and
 * never "the same as the neighbour's".
 */

#define LAYOUT_NONE UINT32_MAX

/* What a set of GPUs can be asked to lie within: name, text of spec.topology.scope. */
#define LAYOUT_SCOPES(X)             \
	X(NUMA, "NUMA")              \
	X(PCIE_SWITCH, "PCIeSwitch") \
	X(NVLINK, "NVLink")

enum layout_scope {
#define X(name, text) LAYOUT_##name,
	LAYOUT_SCOPES(X)
#undef X
};

/* KubeletConfiguration's topologyManagerPolicy; UNKNOWN: kubelet was not asked, or did not say. */
#define LAYOUT_POLICIES(X)            \
	X(UNKNOWN, "")                \
	X(NONE, "none")               \
	X(BEST_EFFORT, "best-effort") \
	X(RESTRICTED, "restricted")   \
	X(SINGLE_NUMA, "single-numa-node")

enum layout_policy {
#define X(name, text) LAYOUT_POLICY_##name,
	LAYOUT_POLICIES(X)
#undef X
};

/* OK and FAILED as NVML, or the driver, says; a failed card is in no set. */
#define LAYOUT_HEALTHS(X)     \
	X(UNKNOWN, "Unknown") \
	X(OK, "OK")           \
	X(FAILED, "Failed")

enum layout_health {
#define X(name, text) LAYOUT_HEALTH_##name,
	LAYOUT_HEALTHS(X)
#undef X
};

/* Borrowed, static. */
const char *layout_scope_text(enum layout_scope scope);
const char *layout_policy_text(enum layout_policy policy);
const char *layout_health_text(enum layout_health health);

struct layout_numa {
	uint32_t id;     /* the kernel's; each once, need not be dense */
	struct str cpus; /* "0-23,48-71", as the kernel lists them; empty: memory only */
	uint32_t n_cpus;
	int64_t memory; /* bytes, 0: CPUs only, or AMOUNT_UNKNOWN */
};

/* A PCI bridge below a root: a root port or a switch. Parents come before their children. */
struct layout_bridge {
	uint32_t parent; /* index among bridges; LAYOUT_NONE: it hangs on a root complex */
	struct str pci;  /* address of the bridge, "0000:34:00.0" */
	int64_t speed;   /* bytes per second of the link above it, or AMOUNT_UNKNOWN */
};

/* Partitions of one profile that a card is cut into. */
struct layout_mig {
	struct str profile; /* "1g.10gb" */
	uint32_t count;
	int64_t memory; /* bytes of one, or AMOUNT_UNKNOWN */
};

struct layout_gpu {
	struct str uuid;    /* "GPU-..."; empty: not known */
	struct str pci;     /* "0000:3b:00.0", lower case; each once; empty: not known */
	struct str product; /* "NVIDIA-H100-80GB-HBM3", as the node's label has it; empty: not known
			     */
	uint32_t index;     /* the driver's; LAYOUT_NONE: not known */
	uint32_t numa;      /* index among numas, or LAYOUT_NONE */
	uint32_t bridge; /* the lowest above it, or LAYOUT_NONE: directly on a root, or not known */
	int64_t speed;   /* bytes per second of its own PCIe link, or AMOUNT_UNKNOWN */
	int64_t memory;  /* bytes, or AMOUNT_UNKNOWN */
	enum device_sharing sharing;
	enum layout_health health;
	const struct layout_mig *migs;
	size_t n_migs;
};

/* NVLink between two cards, also by way of NVSwitches; both directions are alike. */
struct layout_link {
	uint32_t a, b;     /* indices among gpus, a < b; each pair once */
	int64_t bandwidth; /* bytes per second in one direction, > 0 */
};

struct layout_kubelet {
	enum layout_policy policy;
	bool pod_scope;  /* topologyManagerScope: pod, else container */
	bool static_cpu; /* cpuManagerPolicy: static */
};

struct layout {
	struct str writer;   /* "gpuqos-agent/0.2.0" */
	uint64_t generation; /* counts what the agent has published */
	struct layout_kubelet kubelet;
	const struct layout_numa *numas;
	size_t n_numas;    /* at most LIMIT_LAYOUT_NUMAS */
	bool cpus_unknown; /* numas may be some of them, or some tell none of their CPUs */
	/* So many cards of each NUMA node are counted, and which they are nobody tells: the layout
	 * holds of a node whose GPUs are as many cards, whole and sound, and none by DRA. */
	bool counted;
	const uint32_t *distances; /* n_numas x n_numas as in ACPI's SLIT, 10 is local; or NULL */
	const struct layout_bridge *bridges;
	size_t n_bridges; /* at most LIMIT_LAYOUT_BRIDGES */
	const struct layout_gpu *gpus;
	size_t n_gpus; /* at most LIMIT_LAYOUT_GPUS */
	const struct layout_link *links;
	size_t n_links;
};

#endif
