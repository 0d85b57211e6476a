/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_OBSERVED_H
#define GPUQOS_MODEL_OBSERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/labels.h"
#include "model/quota.h"

/*
 * The small objects of a namespace as observed: transient, everything borrowed. resource_version is
 * 0 when it is no number.
 */

/* The name of the ResourceQuota and the LimitRange that are ours. */
#define OWNED_OBJECT_NAME "gpuqos"

struct namespace_facts {
	struct str name, uid;
	uint64_t resource_version;
	bool managed;   /* carries our label gpuqos.io/managed */
	bool quotaless; /* our label gpuqos.io/quota says none */
	bool terminating;
	struct str tenant;          /* value of our label gpuqos.io/tenant; empty for none */
	const struct label *labels; /* all of them, in any order, each key once */
	size_t n_labels;
};

struct quota_facts {
	struct str namespace, name, uid;
	uint64_t resource_version;
	int64_t created_us; /* real; the oldest governs, ties by name */
	int64_t generation;
	bool terminating;
	struct quota_spec spec;
	const char *invalid; /* why the spec cannot be used, or NULL */
	bool has_status;
	struct quota_status status;
};

/*
 * Amounts: of keys that bound a resource, under the names of model/resource.h, in any order, each
 * name once.
 */
struct resource_quota_facts {
	struct str namespace, name, uid; /* only OWNED_OBJECT_NAME is kept */
	uint64_t resource_version;
	struct str owner_uid; /* of the controlling owner reference */
	const struct resource_amount *hard, *status_hard;
	size_t n_hard, n_status_hard;
	bool other_keys;            /* spec.hard has keys besides */
	bool scoped;                /* spec counts only some of the pods */
	struct str foreign_manager; /* see quota/decide.h */
};

struct limit_range_facts {
	struct str namespace, name, uid; /* only OWNED_OBJECT_NAME is kept */
	uint64_t resource_version;
	struct str owner_uid;
	const struct resource_amount *defaults; /* of its one Container entry, in any order */
	size_t n_defaults;
	bool other_limits;
	struct str foreign_manager;
};

/* An Event by which the controller of a workload tells that a pod of it was refused. */
struct refusal_facts {
	struct str namespace, uid; /* of the Event */
	bool ours;                 /* refused by what we keep: quota gpuqos, or a policy of ours */
	int64_t count;             /* how often until now, 1 at least */
	int64_t last_us;           /* real: the last time */
};

struct job_facts {
	struct str namespace, name;
	bool final; /* it ends where one of its pods is evicted */
};

/* Whom a PodDisruptionBudget selects in its namespace. */
enum budget_reach {
	BUDGET_SELECTS_NONE,
	BUDGET_SELECTS_ALL,
	BUDGET_SELECTS_SOME, /* by its selector */
	BUDGET_REACH_UNKNOWN /* its selector cannot be read */
};

struct budget_facts {
	struct str namespace, name, uid;
	uint64_t resource_version;
	enum budget_reach reach;
	struct label_selector selector; /* of SOME */
	int64_t allowed;                /* status.disruptionsAllowed, 0 where negative */
	bool settled;                   /* its status is of its spec as it is */
};

#endif
