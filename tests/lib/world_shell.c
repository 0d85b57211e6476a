/* SPDX-License-Identifier: Apache-2.0 */
/* Keys, turns, and what becomes of writes; what a turn decides is in world_turn.c. */
#include "lib/world_shell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cluster/ledger/holders.h"
#include "cluster/read.h"
#include "lib/world_api.h"
#include "lib/world_gates.h"
#include "lib/world_turn.h"
#include "lib/world_watcher.h"

/* --- keys */

static void take_dirty(struct world *w)
{
	struct world_shell *shell = w->shell;
	uint32_t handle;

	while (cluster_take_dirty_tenant(shell->cluster, &handle))
		shell->tenants[world_number(cluster_tenant_name(shell->cluster, handle))].dirty =
			true;
	while (cluster_take_dirty(shell->cluster, &handle))
		shell->spaces[world_number(cluster_namespace_name(shell->cluster, handle))].dirty =
			true;
}

static bool is_due(const struct world *w, const struct world_key *key)
{
	return key->set.n == 0 && (key->dirty || key->again_us <= w->now_us);
}

static bool take(const struct world *w, struct world_key *key)
{
	if (!is_due(w, key))
		return false;
	key->dirty = false;
	key->again_us = TIME_NEVER;
	w->shell->turns++;
	return true;
}

bool world_shell_turn(struct world *w)
{
	struct world_shell *shell = w->shell;
	int first = (int)world_below(w, WORLD_TENANTS + WORLD_SPACES);

	take_dirty(w);
	for (int i = 0; i < WORLD_TENANTS + WORLD_SPACES; i++) {
		int at = (first + i) % (WORLD_TENANTS + WORLD_SPACES);

		if (at < WORLD_TENANTS && take(w, &shell->tenants[at]))
			world_tenant_turn(w, at);
		else if (at >= WORLD_TENANTS && take(w, &shell->spaces[at - WORLD_TENANTS]))
			world_space_turn(w, at - WORLD_TENANTS);
		else
			continue;
		take_dirty(w);
		return true;
	}
	return false;
}

static void look_at(const struct world *w, const struct world_key *key, bool *idle,
		    int64_t *again_us)
{
	*idle = *idle && key->set.n == 0 && !is_due(w, key);
	*again_us = MIN(*again_us, key->again_us);
}

bool world_shell_is_idle(const struct world *w, int64_t *ret_again_us)
{
	bool idle = true;

	*ret_again_us = TIME_NEVER;
	for (int t = 0; t < WORLD_TENANTS; t++)
		look_at(w, &w->shell->tenants[t], &idle, ret_again_us);
	for (int s = 0; s < WORLD_SPACES; s++)
		look_at(w, &w->shell->spaces[s], &idle, ret_again_us);
	return idle;
}

/* --- what the API server makes of a write; 0: it refuses, else the object's version */

/* What changes nothing is no new version, and no watch tells of it. */
static uint64_t changed(struct world *w, enum cluster_kind kind, int index, const void *before,
			size_t size)
{
	struct world_object *object = world_object_of(&w->api, kind, index);

	if (memcmp(object, before, size) != 0)
		world_changed(w, kind, index);
	return object->version;
}

static uint64_t apply_quota(struct world *w, const struct world_write *write)
{
	struct world_rq *rq = &w->api.rqs[write->index];
	bool replace = write->kind == WORLD_REPLACE_QUOTA || !rq->meta.exists;
	struct world_rq before = *rq;

	if (!w->api.spaces[write->index].meta.exists ||
	    w->api.spaces[write->index].meta.terminating)
		return 0;
	if (!rq->meta.exists) {
		*rq = (struct world_rq){.meta = world_meta(w)};
		for (int r = 0; r < WORLD_RESOURCES; r++)
			rq->status_hard[r] = -1;
	}
	memcpy(rq->hard, write->hard, sizeof(rq->hard));
	rq->owner = write->uid;
	rq->foreign = false;
	if (replace)
		rq->other_keys = false;
	return changed(w, CLUSTER_RESOURCE_QUOTAS, write->index, &before, sizeof(before));
}

/* The API server's own caches are not behind by more than it takes us to see a status and answer
 * with a label. */
static uint64_t write_labels(struct world *w, const struct world_write *write)
{
	struct world_space *space = &w->api.spaces[write->index];

	if (!space->meta.exists || space->meta.uid != write->uid)
		return 0;
	space->managed = write->managed;
	space->quotaless = write->quotaless;
	for (int q = 0; q < WORLD_QUOTAS; q++)
		world_policy_sees(w, write->index * WORLD_QUOTAS + q);
	space->tenant_label = write->tenant_label;
	world_changed(w, CLUSTER_NAMESPACES, write->index);
	return space->meta.version;
}

/* Of an object that is gone there is no status to write, and that is fine. */
static uint64_t write_status(struct world *w, const struct world_write *write)
{
	struct world_quota *quota = &w->api.quotas[write->index], before;

	if (!quota->meta.exists || quota->meta.uid != write->uid)
		return quota->meta.exists ? 0 : 1;
	before = *quota;
	quota->status = write->status;
	world_status_fix(&quota->status);
	return changed(w, CLUSTER_QUOTAS, write->index, &before, sizeof(before));
}

static uint64_t write_tenant(struct world *w, const struct world_write *write)
{
	struct world_tenant *tenant = &w->api.tenants[write->index], before;

	if (!tenant->meta.exists || tenant->meta.uid != write->uid)
		return tenant->meta.exists ? 0 : 1;
	before = *tenant;
	tenant->has_status = true;
	tenant->status = write->tenant;
	memcpy(tenant->names, write->names, sizeof(tenant->names));
	return changed(w, CLUSTER_TENANTS, write->index, &before, sizeof(before));
}

static uint64_t delete_quota(struct world *w, const struct world_write *write)
{
	if (w->api.rqs[write->index].meta.exists)
		world_gone(w, CLUSTER_RESOURCE_QUOTAS, write->index);
	return 1;
}

static void note_eviction(struct world *w, const struct world_write *write,
			  enum eviction_outcome outcome)
{
	struct world_uid uid = world_uid_text(write->uid);
	struct eviction eviction = {world_space_name(write->index / WORLD_PODS),
				    world_pod_name(write->index), str_from(uid.text), outcome,
				    w->now_us};

	cluster_note_eviction(w->shell->cluster, &eviction);
}

/* As the API server does: a budget refuses, another pod of the name is a conflict. */
static uint64_t evict(struct world *w, const struct world_write *write, enum world_luck luck)
{
	struct world_pod *pod = &w->api.pods[write->index];
	enum eviction_outcome outcome = EVICTION_ISSUED;

	if (luck == WORLD_REFUSED_WRITE)
		outcome = EVICTION_THROTTLED;
	else if (pod->meta.exists && pod->meta.uid != write->uid)
		outcome = EVICTION_FAILED;
	else if (pod->meta.exists && pod->protected)
		outcome = EVICTION_BUDGET;
	if (outcome == EVICTION_ISSUED && pod->meta.exists && !pod->meta.terminating) {
		pod->meta.terminating = true;
		pod->deletion_us = world_second(w) + 30 * WORLD_SECOND;
		world_changed(w, CLUSTER_PODS, write->index);
	}
	note_eviction(w, write, outcome);
	return 1;
}

static uint64_t carry_out(struct world *w, const struct world_write *write, enum world_luck luck)
{
	if (write->kind == WORLD_EVICT)
		return evict(w, write, luck);
	if (luck == WORLD_REFUSED_WRITE)
		return 0;
	switch (write->kind) {
	case WORLD_WRITE_QUOTA:
	case WORLD_REPLACE_QUOTA:
		return apply_quota(w, write);
	case WORLD_DELETE_QUOTA:
		return delete_quota(w, write);
	case WORLD_WRITE_LABELS:
		return write_labels(w, write);
	case WORLD_WRITE_STATUS:
		return write_status(w, write);
	case WORLD_WRITE_TENANT:
		return write_tenant(w, write);
	case WORLD_EVICT:
		break;
	}
	return 0;
}

/* --- what the shell makes of an answer */

static bool is_quota_write(const struct world_write *write)
{
	return write->kind == WORLD_WRITE_QUOTA || write->kind == WORLD_REPLACE_QUOTA;
}

static void expect(struct world *w, const struct world_write *write, uint64_t version)
{
	struct world_shell *shell = w->shell;

	if (is_quota_write(write))
		shell->expected_rqs[write->index] = version;
	else if (write->kind == WORLD_WRITE_LABELS)
		shell->expected_spaces[write->index] = version;
	else if (write->kind == WORLD_WRITE_STATUS && version > 1)
		shell->expected_quotas[write->index] = version;
	else if (write->kind == WORLD_WRITE_TENANT && version > 1)
		shell->expected_tenants[write->index] = version;
}

static void note_answered(struct world *w, int space, enum cluster_kind kind, struct str name,
			  uint64_t version)
{
	struct cluster *cluster = w->shell->cluster;

	cluster_note_answered(cluster, cluster_namespace_find(cluster, world_space_name(space)),
			      kind, name, version);
}

static void answered(struct world *w, struct world_key *key, const struct world_write *write,
		     uint64_t version)
{
	if (write->kind == WORLD_WRITE_STATUS || write->kind == WORLD_WRITE_TENANT)
		key->status_written_us = w->now_us;
	expect(w, write, version);
	if (is_quota_write(write))
		note_answered(w, write->index, CLUSTER_RESOURCE_QUOTAS, STR(OWNED_OBJECT_NAME),
			      version);
	if (write->kind == WORLD_WRITE_STATUS)
		note_answered(w, write->index / WORLD_QUOTAS, CLUSTER_QUOTAS,
			      world_quota_name(write->index), version > 1 ? version : 0);
}

static void say_write(const struct world_write *write, enum world_luck luck, uint64_t version)
{
	static const char *const texts[] = {"apply quota",  "replace quota", "delete quota",
					    "write labels", "write status",  "evict",
					    "write tenant"};

	world_say("  write: %s %d%s", texts[write->kind], write->index,
		  luck == WORLD_ANSWER_LOST ? ", unanswered"
		  : version == 0            ? ", refused"
					    : "");
}

static void write_next(struct world *w, struct world_key *key, enum world_luck luck)
{
	const struct world_write *write = &key->set.writes[key->set.at];
	uint64_t version = carry_out(w, write, luck);

	w->written++;
	say_write(write, luck, version);
	if (luck != WORLD_ANSWER_LOST || write->kind == WORLD_EVICT)
		answered(w, key, write, version);
	key->set.at++;
	if (version > 0 && luck != WORLD_ANSWER_LOST) {
		if (key->set.at == key->set.n)
			key->set.n = key->set.at = 0;
		return;
	}
	key->set.n = key->set.at = 0;
	key->dirty = true;
}

bool world_shell_write(struct world *w, enum world_luck luck)
{
	int first = (int)world_below(w, WORLD_TENANTS + WORLD_SPACES);

	for (int i = 0; i < WORLD_TENANTS + WORLD_SPACES; i++) {
		int at = (first + i) % (WORLD_TENANTS + WORLD_SPACES);
		struct world_key *key = at < WORLD_TENANTS ? &w->shell->tenants[at]
							   : &w->shell->spaces[at - WORLD_TENANTS];

		if (key->set.n == 0)
			continue;
		write_next(w, key, luck);
		return true;
	}
	return false;
}

/* --- beginning and ending */

static void begin(struct world *w)
{
	struct world_shell *shell = w->shell;
	const struct hash_key key = {random_u64(&w->random), 1};

	memset(shell, 0, sizeof(*shell));
	shell->cluster = cluster_new(&key);
	assert_int_equal(cluster_know_resource(shell->cluster, world_resource_names[WORLD_TABLE],
					       DEVICE_WHOLE, NULL),
			 0);
	for (int t = 0; t < WORLD_TENANTS; t++)
		shell->tenants[t].again_us = TIME_NEVER;
	for (int s = 0; s < WORLD_SPACES; s++) {
		shell->spaces[s].again_us = TIME_NEVER;
		shell->granted_by[s] = WORLD_NONE;
	}
	arena_init(&shell->arena, 0);
}

static void end(struct world *w)
{
	arena_clear(&w->shell->arena);
	cluster_free(w->shell->cluster);
}

void world_shell_init(struct world *w)
{
	w->shell = mem_alloc(sizeof(*w->shell));
	begin(w);
}

void world_shell_clear(struct world *w)
{
	end(w);
	mem_free(w->shell);
}

void world_shell_look_at_all(struct world *w)
{
	cluster_mark_all_dirty(w->shell->cluster);
	take_dirty(w);
}

static void recount(struct world *w)
{
	struct recount total = {0};
	uint32_t cursor = 0;

	while (!cluster_recount(w->shell->cluster, &cursor, 1000, &total))
		;
}

void world_shell_restart(struct world *w)
{
	end(w);
	begin(w);
	world_list_all(w);
	recount(w);
	world_shell_look_at_all(w);
}

void world_shell_lead_again(struct world *w)
{
	struct world_shell *shell = w->shell;

	for (int t = 0; t < WORLD_TENANTS; t++)
		shell->tenants[t].set.n = shell->tenants[t].set.at = 0;
	for (int s = 0; s < WORLD_SPACES; s++) {
		shell->spaces[s].set.n = shell->spaces[s].set.at = 0;
		shell->granted_by[s] = WORLD_NONE;
	}
	cluster_forget_grants(shell->cluster);
	world_shell_look_at_all(w);
}
