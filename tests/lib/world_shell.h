/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_WORLD_SHELL_H
#define GPUQOS_TESTS_WORLD_SHELL_H

#include "cluster/tenants/tenants.h"
#include "lib/world.h"
#include "quota/decide.h"

/*
 * Our controller as its pure code wants to be driven: dirty tenants and namespaces become keys; a
 * key's turn gathers, decides and makes a set of writes, which leave one after the other, one set
 * per key; a key is looked at again when its set is done, or at a time that it said.
 */
enum world_write_kind {
	WORLD_WRITE_QUOTA,   /* apply of our ResourceQuota */
	WORLD_REPLACE_QUOTA, /* the same, by update */
	WORLD_DELETE_QUOTA,
	WORLD_WRITE_LABELS,
	WORLD_WRITE_STATUS,
	WORLD_EVICT,
	WORLD_WRITE_TENANT
};

struct world_write {
	enum world_write_kind kind;
	int index;    /* of the object */
	uint64_t uid; /* that it must have; of the owner, for a ResourceQuota */
	int64_t hard[WORLD_RESOURCES];
	bool managed, quotaless;
	int tenant_label;
	struct world_status status;
	struct tenant_status tenant;
	struct str names[WORLD_SPACES];
};

enum { WORLD_WRITES = 10 };

struct world_set {
	int n, at;
	struct world_write writes[WORLD_WRITES];
};

struct world_key {
	bool dirty;
	int64_t again_us; /* TIME_NEVER */
	int64_t status_written_us;
	struct world_set set;
};

struct world_shell {
	struct cluster *cluster;
	struct world_key spaces[WORLD_SPACES], tenants[WORLD_TENANTS];
	/* Versions that our writes were answered with: decisions wait until they are seen. */
	uint64_t expected_rqs[WORLD_SPACES], expected_spaces[WORLD_SPACES];
	uint64_t expected_quotas[WORLD_SPACES * WORLD_QUOTAS], expected_tenants[WORLD_TENANTS];
	struct tenant_grant grants[WORLD_SPACES]; /* as last decided, for the checks */
	int granted_by[WORLD_SPACES];             /* tenant, or WORLD_NONE */
	struct arena arena;
	uint64_t turns;
};

void world_shell_init(struct world *w);
void world_shell_clear(struct world *w);

/* One key's turn, whichever is due; false when none is. */
bool world_shell_turn(struct world *w);
/* The next write of some set reaches the API server; false when there is none. */
enum world_luck { WORLD_ANSWERED, WORLD_REFUSED_WRITE, WORLD_ANSWER_LOST };
bool world_shell_write(struct world *w, enum world_luck luck);
/* Whether there is nothing to do before the time returned; TIME_NEVER. */
bool world_shell_is_idle(const struct world *w, int64_t *ret_again_us);
/* The process ends, and another begins with what the API server has. */
void world_shell_restart(struct world *w);
/* The lease went and came back. */
void world_shell_lead_again(struct world *w);
/* Looks at everything, as after a relist. */
void world_shell_look_at_all(struct world *w);
/* world_api.c: the caches are told all that the API server has. */
void world_list_all(struct world *w);

#endif
