/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_WORLD_STATE_H
#define GPUQOS_TESTS_WORLD_STATE_H

#include "lib/world_sources.h"
#include "model/tenant.h"

/*
 * The objects of a moment, flat: they are copied as they are. Indices are names; of what is in a
 * namespace those of the first come first.
 */
enum {
	WORLD_NODES = 5,
	WORLD_TENANTS = 3,
	WORLD_SPACES = 6,
	WORLD_QUOTAS = 2, /* these three: in each namespace */
	WORLD_PODS = 6,
	WORLD_CLAIMS = 4,
	WORLD_TEAMS = 3,
	WORLD_ROWS = 64,
	WORLD_DRY_ROWS = 16
};

#define WORLD_SECOND ((int64_t)1000000)

/* What every object begins with. One that is gone keeps its version. */
struct world_object {
	bool exists, terminating;
	uint64_t uid, version;
	int64_t created_us; /* full seconds */
};

struct world_node {
	struct world_object meta;
	int profile;
	enum node_ready ready;
	bool reconfiguring;
};

/* Of a node, whose name is its pool's. */
struct world_slice {
	struct world_object meta;
	int profile;
};

struct world_class {
	struct world_object meta;
};

struct world_space {
	struct world_object meta;
	bool managed, quotaless;
	int tenant_label, team; /* or WORLD_NONE */
};

struct world_tenant {
	struct world_object meta;
	int64_t generation;
	unsigned int teams; /* that it selects, as bits; 0: it is invalid */
	int64_t ceiling, ceiling_gpus;
	bool has_status;
	struct tenant_status status;
	struct str names[WORLD_SPACES]; /* that it lists */
};

struct world_status {
	bool exists;
	struct quota_status s; /* rows: see world_status_fix() */
	struct quota_row rows[WORLD_ROWS];
	struct quota_class classes[WORLD_CLASSES];
	struct dry_run_row dry_rows[WORLD_DRY_ROWS];
};

struct world_quota {
	struct world_object meta;
	int64_t generation;
	bool invalid;
	struct quota_spec spec; /* without lists */
	int64_t card_cap;       /* of WORLD_GPU, or AMOUNT_NONE */
	struct product_cap cap; /* product empty: none */
	struct world_status status;
};

/* Our ResourceQuota. An amount of -1: no such key. */
struct world_rq {
	struct world_object meta;
	uint64_t owner;
	int64_t hard[WORLD_RESOURCES], status_hard[WORLD_RESOURCES], used[WORLD_RESOURCES];
	bool other_keys, foreign; /* somebody else added a key, wrote last */
};

struct world_pod {
	struct world_object meta;
	int shape, product, node; /* node: or WORLD_NONE */
	enum pod_phase phase;
	int64_t deletion_us;
	int owner;      /* workload, or WORLD_NONE */
	int claim;      /* of its namespace, for its extended resource; or WORLD_NONE */
	bool protected; /* by a PodDisruptionBudget */
};

struct world_claim {
	struct world_object meta;
	int class, count;
	int other_class; /* what it takes instead, or WORLD_NONE */
	bool allocated, of_scheduler;
	int given, pool; /* class; node whose devices it has */
	int pod;         /* whose it is, or WORLD_NONE */
	uint64_t pod_uid;
};

struct world_state {
	struct world_node nodes[WORLD_NODES];
	struct world_slice slices[WORLD_NODES];
	struct world_class classes[WORLD_CLASSES];
	struct world_space spaces[WORLD_SPACES];
	struct world_tenant tenants[WORLD_TENANTS];
	struct world_quota quotas[WORLD_SPACES * WORLD_QUOTAS];
	struct world_rq rqs[WORLD_SPACES];
	struct world_pod pods[WORLD_SPACES * WORLD_PODS];
	struct world_claim claims[WORLD_SPACES * WORLD_CLAIMS];
};

#endif
