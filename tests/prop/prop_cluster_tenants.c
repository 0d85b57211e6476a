/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories of tenants, the namespaces that they select, and what is in these, against a
 * model that works everything out from the objects themselves. After each step: every namespace is
 * its tenant's, a view shows of each member what the model says, pods that are stuck are released
 * and charged again when they should be, a recount agrees, and every tenant whose view changed was
 * marked dirty.
 *
 * size: the model stays beside the objects that it looks at
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "base/random.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"

#define HISTORIES 30
#define STEPS     500
#define SECOND    ((int64_t)USEC_PER_SEC)
#define MIG       (10 * GIB)

enum { TENANTS = 4, NAMESPACES = 5, QUOTAS = 2, PODS = 4, NODES = 3, KEYS = 2, VALUES = 3 };

static const struct str keys[KEYS] = {{"team", 4}, {"stage", 5}};
static const struct str values[VALUES] = {{"a", 1}, {"b", 1}, {"c", 1}};
static const struct str gpu = {"nvidia.com/gpu", 14}, mig = {"nvidia.com/mig-1g.10gb", 22};

struct requirement {
	int key;
	enum label_operator op;
	int mask; /* of values */
};

struct tenant {
	bool exists, terminating;
	uint64_t uid;
	int64_t created_us, ceiling;
	struct requirement requirements[2];
	int n_requirements;
};

struct quota {
	bool exists, terminating, invalid, has_status;
	uint64_t uid;
	int64_t created_us, memory, gpus, borrow, timeout_us; /* timeout_us -1: Deletion */
	int64_t granted, effective;
	int status_tenant; /* -1: none */
};

struct owned {
	bool exists;
	uint64_t version;
	int64_t hard, status_hard, migs;
};

struct pod {
	bool exists, terminating;
	uint64_t uid;
	int node; /* -1: not bound */
	enum pod_phase phase;
	int64_t count, deletion_us;
	bool is_mig;
};

struct space {
	bool exists;
	int labels[KEYS]; /* -1: not there */
	struct quota quotas[QUOTAS];
	struct owned owned;
	struct pod pods[PODS];
	/* What was decided, for whom. */
	bool decided;
	int decided_for;
	uint64_t decided_quota;
	int64_t decided_granted;
	/* What was sent. */
	int64_t sent, sent_gpus;
	uint64_t sent_version;
};

struct world {
	struct random random;
	struct cluster *cluster;
	uint64_t counter; /* of uids and versions */
	int64_t now_us, unit;
	struct tenant tenants[TENANTS];
	struct space spaces[NAMESPACES];
	bool node_exists[NODES];
	enum node_ready ready[NODES];
	bool dirty[TENANTS];
	bool wrote; /* in this step: what follows from a decision is no news to its tenant */
};

static int64_t below(struct world *w, int64_t bound)
{
	return (int64_t)random_below(&w->random, (uint64_t)bound);
}

static bool chance(struct world *w, int one_in)
{
	return below(w, one_in) == 0;
}

struct name {
	char text[24];
};

static struct name name_of(const char *kind, int64_t number)
{
	struct name name = {""};

	snprintf(name.text, sizeof(name.text), "%s-%d", kind, (int)number);
	return name;
}

/* --- telling the cluster */

static void tell_tenant(struct world *w, int t)
{
	const struct tenant *tenant = &w->tenants[t];
	struct name name = name_of("tenant", t), uid = name_of("uid", (int64_t)tenant->uid);
	struct label_requirement requirements[2];
	struct str wanted[2][VALUES];
	struct tenant_facts facts = {
		.name = str_from(name.text),
		.uid = str_from(uid.text),
		.created_us = tenant->created_us,
		.terminating = tenant->terminating,
		.spec = {.namespaces = {requirements, (size_t)tenant->n_requirements},
			 .ceiling = tenant->ceiling,
			 .ceiling_gpus = AMOUNT_NONE},
	};

	for (int r = 0; r < tenant->n_requirements; r++) {
		const struct requirement *from = &tenant->requirements[r];

		requirements[r] = (struct label_requirement){
			.key = keys[from->key], .op = from->op, .values = wanted[r]};
		for (int v = 0; v < VALUES; v++)
			if (from->mask & 1 << v)
				wanted[r][requirements[r].n_values++] = values[v];
	}
	assert_int_equal(cluster_apply_tenant(w->cluster, &facts, NULL), 0);
}

static void tell_space(struct world *w, int ns)
{
	struct name name = name_of("ns", ns);
	struct label labels[KEYS];
	struct namespace_facts facts = {
		.name = str_from(name.text), .uid = STR("uid"), .labels = labels};

	for (int k = 0; k < KEYS; k++)
		if (w->spaces[ns].labels[k] >= 0)
			labels[facts.n_labels++] =
				(struct label){keys[k], values[w->spaces[ns].labels[k]]};
	assert_int_equal(cluster_apply_namespace(w->cluster, &facts, NULL), 0);
}

static void tell_quota(struct world *w, int ns, int q)
{
	const struct quota *quota = &w->spaces[ns].quotas[q];
	struct name space = name_of("ns", ns), name = name_of("quota", q);
	struct name uid = name_of("uid", (int64_t)quota->uid);
	struct name tenant = name_of("tenant", quota->status_tenant);
	struct quota_facts facts = {
		.namespace = str_from(space.text),
		.name = str_from(name.text),
		.uid = str_from(uid.text),
		.created_us = quota->created_us,
		.terminating = quota->terminating,
		.invalid = quota->invalid ? "why" : NULL,
		.spec = {.gpu_memory = quota->memory,
			 .gpus = quota->gpus,
			 .pod_gpu_memory = AMOUNT_NONE,
			 .pod_gpus = AMOUNT_NONE,
			 .borrow_limit = quota->borrow,
			 .release_terminal = quota->timeout_us >= 0,
			 .terminal_timeout_us = MAX(quota->timeout_us, 0)},
		.has_status = quota->has_status,
		.status = {.granted = quota->granted,
			   .effective = quota->effective,
			   .tenant = quota->status_tenant < 0 ? STR_NONE : str_from(tenant.text)},
	};

	assert_int_equal(cluster_apply_quota(w->cluster, &facts, NULL), 0);
}

static void tell_owned(struct world *w, int ns)
{
	const struct owned *owned = &w->spaces[ns].owned;
	struct name space = name_of("ns", ns);
	const struct resource_amount hard[] = {{gpu, owned->hard}, {mig, owned->migs}};
	const struct resource_amount status[] = {{gpu, owned->status_hard}, {mig, owned->migs}};
	struct resource_quota_facts facts = {
		.namespace = str_from(space.text),
		.name = STR("gpuqos"),
		.uid = STR("uid"),
		.resource_version = owned->version,
		.hard = hard,
		.n_hard = 2,
		.status_hard = status,
		.n_status_hard = 2,
	};

	assert_int_equal(cluster_apply_resource_quota(w->cluster, &facts, 5, NULL), 0);
}

static void tell_pod(struct world *w, int ns, int i)
{
	const struct pod *pod = &w->spaces[ns].pods[i];
	struct name space = name_of("ns", ns), name = name_of("pod", i);
	struct name uid = name_of("uid", (int64_t)pod->uid), node = name_of("node", pod->node);
	struct device_ask ask = {.resource = pod->is_mig ? mig : gpu, .count = pod->count};
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct pod_facts facts = {
		.namespace = str_from(space.text),
		.name = str_from(name.text),
		.uid = str_from(uid.text),
		.node = pod->node < 0 ? STR_NONE : str_from(node.text),
		.phase = pod->phase,
		.terminating = pod->terminating,
		.deletion_us = pod->deletion_us,
		.containers = &container,
		.n_containers = 1,
	};

	assert_int_equal(cluster_apply_pod(w->cluster, &facts, NULL), 0);
}

static void tell_node(struct world *w, int i)
{
	struct name name = name_of("node", i);
	const struct device_offer offers[] = {
		{.resource = gpu, .product = STR("H"), .unit_memory = w->unit, .count = 8},
		{.resource = mig,
		 .product = STR("H"),
		 .unit_memory = MIG,
		 .count = 7,
		 .sharing = DEVICE_MIG},
	};
	struct node_facts facts = {.name = str_from(name.text),
				   .uid = STR("uid"),
				   .ready = w->ready[i],
				   .offers = offers,
				   .n_offers = 2};

	assert_int_equal(cluster_apply_node(w->cluster, &facts, NULL), 0);
}

static void tell_deleted(struct world *w, enum cluster_kind kind, const char *type, int ns, int i)
{
	struct name space = name_of("ns", ns), name = name_of(type, i);

	cluster_delete(w->cluster, kind, ns < 0 ? STR_NONE : str_from(space.text),
		       str_from(name.text));
}

/* --- changing the objects; deliver: the cluster hears of it */

static void change_tenant(struct world *w, bool deliver)
{
	int t = (int)below(w, TENANTS);
	struct tenant *tenant = &w->tenants[t];

	if (tenant->exists && chance(w, 5)) {
		tenant->exists = false;
		if (deliver)
			tell_deleted(w, CLUSTER_TENANTS, "tenant", -1, t);
		return;
	}
	if (!tenant->exists)
		*tenant = (struct tenant){
			.exists = true, .uid = ++w->counter, .created_us = below(w, 3)};
	tenant->terminating |= chance(w, 6);
	tenant->ceiling = chance(w, 4) ? AMOUNT_NONE : below(w, 10) * GIB;
	if (chance(w, 2)) {
		tenant->n_requirements = (int)below(w, 3);
		for (int r = 0; r < tenant->n_requirements; r++)
			tenant->requirements[r] = (struct requirement){
				(int)below(w, KEYS), (enum label_operator)below(w, 4),
				1 + (int)below(w, (1 << VALUES) - 1)};
	}
	if (deliver)
		tell_tenant(w, t);
}

static void change_space(struct world *w, bool deliver)
{
	int ns = (int)below(w, NAMESPACES);
	struct space *space = &w->spaces[ns];

	if (space->exists && chance(w, 5)) {
		space->exists = false;
		if (deliver)
			tell_deleted(w, CLUSTER_NAMESPACES, "ns", -1, ns);
		return;
	}
	space->exists = true;
	for (int k = 0; k < KEYS; k++)
		space->labels[k] = (int)below(w, VALUES + 1) - 1;
	if (deliver)
		tell_space(w, ns);
}

static void change_quota(struct world *w, bool deliver)
{
	int ns = (int)below(w, NAMESPACES), q = (int)below(w, QUOTAS);
	struct quota *quota = &w->spaces[ns].quotas[q];

	if (quota->exists && chance(w, 4)) {
		quota->exists = false;
		if (deliver)
			tell_deleted(w, CLUSTER_QUOTAS, "quota", ns, q);
		return;
	}
	if (!quota->exists || chance(w, 8)) /* also under the same name, deletion unseen */
		*quota = (struct quota){
			.exists = true, .uid = ++w->counter, .created_us = below(w, 3)};
	quota->terminating |= chance(w, 6);
	quota->invalid = chance(w, 6);
	quota->memory = (1 + below(w, 400)) * GIB;
	quota->gpus = chance(w, 2) ? AMOUNT_NONE : below(w, 4);
	quota->borrow = below(w, 3) * GIB;
	quota->timeout_us = chance(w, 2) ? -1 : below(w, 100) * SECOND;
	quota->has_status = chance(w, 2);
	quota->granted = below(w, 3) * GIB;
	quota->effective = below(w, 400) * GIB;
	quota->status_tenant = (int)below(w, TENANTS + 1) - 1;
	if (deliver)
		tell_quota(w, ns, q);
}

static void settle(struct world *w, int ns)
{
	struct space *space = &w->spaces[ns];

	if (!space->owned.exists || space->sent_version == 0 ||
	    space->owned.version < space->sent_version)
		return;
	space->sent = space->sent_gpus = 0;
	space->sent_version = 0;
}

static void change_owned(struct world *w)
{
	int ns = (int)below(w, NAMESPACES);
	struct owned *owned = &w->spaces[ns].owned;

	if (owned->exists && chance(w, 5)) {
		struct name space = name_of("ns", ns);

		owned->exists = false;
		cluster_delete(w->cluster, CLUSTER_RESOURCE_QUOTAS, str_from(space.text),
			       STR("gpuqos"));
		return;
	}
	*owned = (struct owned){true, ++w->counter, below(w, 5), below(w, 5), below(w, 60)};
	tell_owned(w, ns);
	settle(w, ns);
}

static uint32_t handle_of(const struct world *w, int ns)
{
	struct name name = name_of("ns", ns);

	return cluster_namespace_find(w->cluster, str_from(name.text));
}

static void write_owned(struct world *w)
{
	int ns = (int)below(w, NAMESPACES);
	struct space *space = &w->spaces[ns];
	struct resource_amount hard = {gpu, below(w, 6)};

	if (handle_of(w, ns) == UINT32_MAX || !space->exists)
		return;
	cluster_note_sent(w->cluster, handle_of(w, ns), &hard, 1);
	w->wrote = true;
	space->sent = MAX(space->sent, hard.count * w->unit);
	space->sent_gpus = MAX(space->sent_gpus, hard.count);
	space->sent_version = 0;
	if (chance(w, 3))
		return;
	if (chance(w, 3)) {
		cluster_note_answered(w->cluster, handle_of(w, ns), CLUSTER_RESOURCE_QUOTAS,
				      STR(OWNED_OBJECT_NAME), 0);
		space->sent = space->sent_gpus = 0;
		return;
	}
	space->sent_version = w->counter + (uint64_t)below(w, 3);
	if (space->sent_version == 0)
		space->sent_version = 1;
	cluster_note_answered(w->cluster, handle_of(w, ns), CLUSTER_RESOURCE_QUOTAS,
			      STR(OWNED_OBJECT_NAME), space->sent_version);
	settle(w, ns);
}

static void change_pod(struct world *w, bool deliver)
{
	int ns = (int)below(w, NAMESPACES), i = (int)below(w, PODS);
	struct pod *pod = &w->spaces[ns].pods[i];

	if (pod->exists && chance(w, 5)) {
		pod->exists = false;
		if (deliver)
			tell_deleted(w, CLUSTER_PODS, "pod", ns, i);
		return;
	}
	if (!pod->exists || chance(w, 8))
		*pod = (struct pod){.exists = true,
				    .uid = ++w->counter,
				    .node = -1,
				    .count = 1 + below(w, 3),
				    .is_mig = chance(w, 3)};
	else if (pod->node < 0 && chance(w, 2))
		pod->node = (int)below(w, NODES);
	else if (!pod->terminating && chance(w, 2))
		pod->deletion_us = w->now_us + (1 + below(w, 60)) * SECOND;
	else
		pod->phase = (enum pod_phase)below(w, 5);
	pod->terminating = pod->deletion_us != 0;
	if (deliver)
		tell_pod(w, ns, i);
}

/* Node 0 is always there, so that there are prices. */
static void change_node(struct world *w, bool deliver)
{
	int i = (int)below(w, NODES);

	if (i > 0 && w->node_exists[i] && chance(w, 3)) {
		w->node_exists[i] = false;
		if (deliver)
			tell_deleted(w, CLUSTER_NODES, "node", -1, i);
		return;
	}
	w->node_exists[i] = true;
	w->ready[i] = (enum node_ready)below(w, 3);
	if (deliver)
		tell_node(w, i);
}

static void change_prices(struct world *w)
{
	w->unit = (80 + 20 * below(w, 2)) * GIB;
	for (int i = 0; i < NODES; i++)
		if (w->node_exists[i])
			tell_node(w, i);
}

static int governing(const struct space *space)
{
	int best = -1;

	for (int q = 0; q < QUOTAS; q++)
		if (space->quotas[q].exists && !space->quotas[q].terminating &&
		    (best < 0 || space->quotas[q].created_us < space->quotas[best].created_us))
			best = q;
	return best;
}

/* What somebody decided for one namespace, nonsense as it is. */
static void decide(struct world *w)
{
	int ns = (int)below(w, NAMESPACES), t = (int)below(w, TENANTS), q;
	uint32_t handle = handle_of(w, ns), tenant;
	struct name name = name_of("tenant", t);
	struct tenant_grant grant = {.granted = below(w, 5) * GIB, .outcome = GRANT_FULL};
	struct tenant_sums sums = {.granted = grant.granted};
	struct tenant_decision decision = {&handle, &grant, 1, &sums, THROTTLE_NOTHING};

	tenant = cluster_tenant_find(w->cluster, str_from(name.text));
	if (handle == UINT32_MAX || tenant == UINT32_MAX)
		return;
	cluster_grant(w->cluster, tenant, &decision);
	if (cluster_tenant_of(w->cluster, handle) != tenant)
		return;
	q = governing(&w->spaces[ns]);
	w->spaces[ns].decided = true;
	w->spaces[ns].decided_for = t;
	w->spaces[ns].decided_quota = q < 0 ? 0 : w->spaces[ns].quotas[q].uid;
	w->spaces[ns].decided_granted = grant.granted;
}

static void forget(struct world *w)
{
	cluster_forget_grants(w->cluster);
	for (int ns = 0; ns < NAMESPACES; ns++)
		w->spaces[ns].decided = false;
}

static void tell_all_in(struct world *w, int ns, enum cluster_kind kind)
{
	const struct space *space = &w->spaces[ns];

	if (kind == CLUSTER_NAMESPACES && space->exists)
		tell_space(w, ns);
	for (int q = 0; kind == CLUSTER_QUOTAS && q < QUOTAS; q++)
		if (space->quotas[q].exists)
			tell_quota(w, ns, q);
	for (int i = 0; kind == CLUSTER_PODS && i < PODS; i++)
		if (space->pods[i].exists)
			tell_pod(w, ns, i);
}

static void tell_all(struct world *w, enum cluster_kind kind)
{
	for (int t = 0; kind == CLUSTER_TENANTS && t < TENANTS; t++)
		if (w->tenants[t].exists)
			tell_tenant(w, t);
	for (int i = 0; kind == CLUSTER_NODES && i < NODES; i++)
		if (w->node_exists[i])
			tell_node(w, i);
	for (int ns = 0; ns < NAMESPACES; ns++)
		tell_all_in(w, ns, kind);
}

static const struct {
	enum cluster_kind kind;
	void (*change)(struct world *w, bool deliver);
} changes[] = {
	{CLUSTER_TENANTS, change_tenant},   {CLUSTER_TENANTS, change_tenant},
	{CLUSTER_NAMESPACES, change_space}, {CLUSTER_QUOTAS, change_quota},
	{CLUSTER_QUOTAS, change_quota},     {CLUSTER_PODS, change_pod},
	{CLUSTER_PODS, change_pod},         {CLUSTER_NODES, change_node},
};

/* Grants are forgotten first: how long they outlive what changed unseen depends on the order. */
static void replace(struct world *w, size_t change)
{
	enum cluster_kind kind = changes[change].kind;

	forget(w);
	for (int64_t missed = below(w, 5); missed > 0; missed--)
		changes[change].change(w, false);
	cluster_begin_replace(w->cluster, kind);
	tell_all(w, kind);
	cluster_end_replace(w->cluster, kind);
}

static void step(struct world *w)
{
	size_t change = (size_t)below(w, ARRAY_SIZE(changes));

	w->now_us += below(w, 40) * SECOND;
	w->wrote = false;
	if (chance(w, 10))
		replace(w, change);
	else if (chance(w, 6))
		decide(w);
	else if (chance(w, 6))
		change_owned(w);
	else if (chance(w, 6))
		write_owned(w);
	else if (chance(w, 20))
		change_prices(w);
	else if (chance(w, 40))
		forget(w);
	else
		changes[change].change(w, true);
}

/* --- the model: everything from the objects themselves */

static bool selects(const struct tenant *tenant, const struct space *space)
{
	if (!tenant->exists || tenant->terminating || !space->exists)
		return false;
	for (int r = 0; r < tenant->n_requirements; r++) {
		const struct requirement *one = &tenant->requirements[r];
		int value = space->labels[one->key];
		bool among = value >= 0 && (one->mask & 1 << value) != 0, holds = false;

		if (one->op == LABEL_IN)
			holds = among;
		else if (one->op == LABEL_NOT_IN)
			holds = !among;
		else
			holds = (value >= 0) == (one->op == LABEL_EXISTS);
		if (!holds)
			return false;
	}
	return tenant->n_requirements > 0;
}

static int owner(const struct world *w, int ns)
{
	int best = -1;

	for (int t = 0; t < TENANTS; t++)
		if (selects(&w->tenants[t], &w->spaces[ns]) &&
		    (best < 0 || w->tenants[t].created_us < w->tenants[best].created_us))
			best = t;
	return best;
}

/* Of a namespace. All of one type: compared as bytes. */
struct expected {
	int64_t owner, asks, wants, wants_gpus, borrow, created_us, granted;
	int64_t enforced, enforced_gpus, used, used_gpus, reserve, pods, released, released_pods;
};

static bool is_finished(const struct pod *pod)
{
	return pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED;
}

/* When a pod is released; TIME_NEVER. */
static int64_t release_us(const struct world *w, const struct pod *pod, int64_t timeout_us)
{
	bool lost = pod->node < 0 || !w->node_exists[pod->node] ||
		    w->ready[pod->node] == NODE_NOT_READY;

	if (!pod->terminating || !lost || timeout_us < 0)
		return TIME_NEVER;
	return pod->deletion_us + timeout_us;
}

static void expect_pods(const struct world *w, const struct space *space, struct expected *e)
{
	int q = governing(space);
	int64_t timeout_us = q < 0 || space->quotas[q].invalid ? -1 : space->quotas[q].timeout_us;

	for (int i = 0; i < PODS; i++) {
		const struct pod *pod = &space->pods[i];
		int64_t unit = pod->is_mig ? MIG : w->unit;

		if (!pod->exists || is_finished(pod))
			continue;
		if (release_us(w, pod, timeout_us) <= w->now_us) {
			e->released += pod->count * unit;
			e->released_pods++;
			continue;
		}
		e->used += pod->count * unit;
		e->used_gpus += pod->is_mig ? 0 : pod->count;
		e->reserve = MAX(e->reserve, unit);
		e->pods++;
	}
	if (e->reserve == 0)
		e->reserve = w->unit;
}

static void expect_quota(const struct world *w, int ns, struct expected *e)
{
	const struct space *space = &w->spaces[ns];
	int q = governing(space);
	const struct quota *quota = q < 0 ? NULL : &space->quotas[q];

	if (space->decided && space->decided_for == e->owner &&
	    space->decided_quota == (quota ? quota->uid : 0))
		e->granted = space->decided_granted;
	else if (quota && quota->has_status && quota->status_tenant == e->owner)
		e->granted = quota->granted;
	if (!quota)
		return;
	e->created_us = quota->created_us;
	e->asks = !quota->invalid;
	if (quota->has_status)
		e->enforced = quota->effective;
	if (quota->invalid)
		return;
	e->wants = quota->memory;
	e->borrow = quota->borrow;
	e->wants_gpus = MAX(quota->memory / w->unit, 1);
	if (quota->gpus != AMOUNT_NONE)
		e->wants_gpus = MIN(quota->memory / w->unit, quota->gpus);
}

static struct expected expect(const struct world *w, int ns)
{
	const struct space *space = &w->spaces[ns];
	struct expected e = {.owner = owner(w, ns)};

	expect_pods(w, space, &e);
	expect_quota(w, ns, &e);
	e.enforced = MAX(e.enforced, space->sent);
	e.enforced_gpus = space->sent_gpus;
	if (space->owned.exists) {
		int64_t gpus = MAX(space->owned.hard, space->owned.status_hard);

		e.enforced = MAX(e.enforced, MAX(gpus * w->unit, space->owned.migs * MIG));
		e.enforced_gpus = MAX(e.enforced_gpus, gpus);
	}
	return e;
}

/* --- comparing */

static void check_member(const struct tenant_member *member, const struct expected *e)
{
	assert_int_equal(member->asks, e->asks);
	assert_int_equal(member->wants, e->wants);
	assert_int_equal(member->wants_gpus, e->wants_gpus);
	assert_int_equal(member->borrow_limit, e->borrow);
	assert_int_equal(member->created_us, e->created_us);
	assert_int_equal(member->granted, e->granted);
	assert_int_equal(member->enforced, e->enforced);
	assert_int_equal(member->enforced_gpus, e->enforced_gpus);
	assert_int_equal(member->used, e->used);
	assert_int_equal(member->used_gpus, e->used_gpus);
	assert_int_equal(member->reserve, e->reserve);
}

static void check_tenant(struct world *w, int t, const struct expected *all)
{
	struct name name = name_of("tenant", t);
	uint32_t tenant = cluster_tenant_find(w->cluster, str_from(name.text));
	size_t n_members = 0, n_elsewhere = 0;
	struct tenant_lookup lookup;
	struct arena arena = {0};

	for (int ns = 0; ns < NAMESPACES; ns++) {
		n_members += all[ns].owner == t;
		n_elsewhere += all[ns].owner != t && selects(&w->tenants[t], &w->spaces[ns]);
	}
	if (tenant == UINT32_MAX) {
		assert_false(w->tenants[t].exists);
		return;
	}
	cluster_refresh_tenant(w->cluster, tenant);
	assert_int_equal(cluster_tenant_view(w->cluster, tenant, &arena, &lookup, NULL), 0);
	assert_int_equal(lookup.exists, w->tenants[t].exists);
	assert_int_equal(lookup.view.n_members, n_members);
	assert_int_equal(lookup.elsewhere.n, n_elsewhere);
	for (size_t i = 0; i < n_members; i++) {
		int ns = lookup.view.members[i].name.data[3] - '0';

		assert_int_equal(lookup.namespaces[i], handle_of(w, ns));
		assert_int_equal(all[ns].owner, t);
		check_member(&lookup.view.members[i], &all[ns]);
	}
	arena_clear(&arena);
}

static void check_space(struct world *w, int ns, const struct expected *e)
{
	struct namespace_view view = {0};
	uint32_t handle = handle_of(w, ns);

	if (handle != UINT32_MAX)
		cluster_namespace_view(w->cluster, handle, &view);
	assert_int_equal(view.used, e->used);
	assert_int_equal(view.pods, e->pods);
	assert_int_equal(view.released, e->released);
}

static void release(struct world *w, int ns)
{
	uint32_t handle = handle_of(w, ns);
	int q = governing(&w->spaces[ns]);
	int64_t timeout_us =
		q < 0 || w->spaces[ns].quotas[q].invalid ? -1 : w->spaces[ns].quotas[q].timeout_us;
	int64_t next_us, expected_us = TIME_NEVER;

	for (int i = 0; i < PODS; i++) {
		const struct pod *pod = &w->spaces[ns].pods[i];
		int64_t at_us = release_us(w, pod, timeout_us);

		if (pod->exists && !is_finished(pod) && at_us > w->now_us)
			expected_us = MIN(expected_us, at_us);
	}
	cluster_refresh(w->cluster, handle);
	cluster_release(w->cluster, handle, w->now_us, &next_us);
	assert_int_equal(next_us, expected_us);
}

static void take_all_dirty(struct world *w)
{
	uint32_t handle;

	memset(w->dirty, 0, sizeof(w->dirty));
	while (cluster_take_dirty_tenant(w->cluster, &handle)) {
		int t = cluster_tenant_name(w->cluster, handle).data[7] - '0';

		assert_false(w->dirty[t]);
		w->dirty[t] = true;
	}
	while (cluster_take_dirty(w->cluster, &handle))
		;
}

/* A decision is for one quota of one tenant, and gone with either. */
static void outlive(struct world *w, int ns)
{
	struct space *space = &w->spaces[ns];
	int q = governing(space);

	if (owner(w, ns) != space->decided_for ||
	    (q < 0 ? 0 : space->quotas[q].uid) != space->decided_quota)
		space->decided = false;
}

/* Whether a decision about the tenant would see a difference. */
static bool differs(const struct expected *before, const struct expected *now, int t)
{
	for (int ns = 0; ns < NAMESPACES; ns++)
		if ((before[ns].owner == t || now[ns].owner == t) &&
		    memcmp(&before[ns], &now[ns], sizeof(now[ns])) != 0)
			return true;
	return false;
}

static void check_recount(struct world *w)
{
	struct recount total = {0};
	uint32_t cursor = 0;

	while (!cluster_recount(w->cluster, &cursor, 3, &total))
		;
	assert_int_equal(total.differing, 0);
}

/* A decision is no news to its tenant: only what it was made of is. */
static void copy_granted(struct expected *to, const struct expected *from)
{
	for (int ns = 0; ns < NAMESPACES; ns++)
		to[ns].granted = from[ns].granted;
}

static void check_empty(struct world *w)
{
	static const enum cluster_kind kinds[] = {CLUSTER_PODS,       CLUSTER_QUOTAS,
						  CLUSTER_NAMESPACES, CLUSTER_RESOURCE_QUOTAS,
						  CLUSTER_TENANTS,    CLUSTER_NODES};
	struct cluster_stats stats;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		cluster_begin_replace(w->cluster, kinds[i]);
		cluster_end_replace(w->cluster, kinds[i]);
	}
	take_all_dirty(w);
	assert_int_equal(cluster_namespace_next(w->cluster, 0), UINT32_MAX);
	assert_int_equal(cluster_tenant_next(w->cluster, 0), UINT32_MAX);
	cluster_stats(w->cluster, &stats);
	assert_int_equal(stats.objects[CLUSTER_TENANTS], 0);
}

static void run_history(struct world *w, uint64_t seed)
{
	const struct hash_key key = {seed, 1};
	struct expected seen[NAMESPACES], now[NAMESPACES];

	memset(w, 0, sizeof(*w));
	random_init(&w->random, seed);
	w->cluster = cluster_new(&key);
	w->node_exists[0] = true;
	change_prices(w);
	for (int ns = 0; ns < NAMESPACES; ns++)
		seen[ns] = expect(w, ns);
	for (int i = 0; i < STEPS; i++) {
		step(w);
		for (int ns = 0; ns < NAMESPACES; ns++) {
			release(w, ns);
			outlive(w, ns);
			now[ns] = expect(w, ns);
		}
		take_all_dirty(w);
		for (int ns = 0; ns < NAMESPACES; ns++)
			check_space(w, ns, &now[ns]);
		for (int t = 0; t < TENANTS; t++) {
			check_tenant(w, t, now);
			copy_granted(seen, now);
			assert_true(w->dirty[t] || w->wrote || !differs(seen, now, t));
		}
		memcpy(seen, now, sizeof(seen));
		check_recount(w);
	}
	check_empty(w);
	cluster_free(w->cluster);
}

static void test_tenants_are_what_their_objects_say(void **state)
{
	static struct world world;

	(void)state;
	for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
		print_message("seed %d\n", (int)seed);
		run_history(&world, seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tenants_are_what_their_objects_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
