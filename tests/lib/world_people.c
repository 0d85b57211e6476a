/* SPDX-License-Identifier: Apache-2.0 */
/* Admins of tenants and of the platform, node operators, and other controllers. */
#include <string.h>

#include "lib/world_api.h"
#include "lib/world_events.h"
#include "lib/world_gates.h"
#include "lib/world_recount.h"
#include "lib/world_watcher.h"

/* --- quotas */

static int64_t some_memory(struct world *w)
{
	return (1 + world_below(w, 8)) * 40 * GIB + (world_chance(w, 4) ? 7 * MIB + 3 : 0);
}

static void fill_spec(struct world *w, struct quota_spec *spec)
{
	spec->gpu_memory = some_memory(w);
	spec->gpus = world_chance(w, 4) ? world_below(w, 5) : AMOUNT_NONE;
	spec->borrow_limit = world_chance(w, 2) ? world_below(w, 5) * 40 * GIB : 0;
	spec->pod_gpu_memory = world_chance(w, 6) ? 100 * GIB : AMOUNT_NONE;
	spec->pod_gpus = world_chance(w, 8) ? 1 : AMOUNT_NONE;
	spec->on_shrink = (enum shrink_policy)world_below(w, 3);
	spec->shrink_deadline_us = world_below(w, 120) * WORLD_SECOND;
	spec->release_terminal = world_chance(w, 3);
	spec->terminal_timeout_us = world_below(w, 300) * WORLD_SECOND;
}

static void change_rights(struct world *w, struct world_quota *quota)
{
	quota->spec.dry_run = !w->calm && world_chance(w, 8);
	quota->invalid = !w->calm && world_chance(w, 12);
	quota->card_cap = world_chance(w, 6) ? world_below(w, 6) : AMOUNT_NONE;
	quota->cap = (struct product_cap){.product = STR_NONE};
	if (world_chance(w, 6))
		quota->cap = (struct product_cap){world_product_names[WORLD_H100],
						  world_chance(w, 2) ? 160 * GIB : AMOUNT_NONE,
						  1 + world_below(w, 4)};
}

static void say_quota(const struct world *w, const char *what, int q)
{
	const struct world_quota *quota = &w->api.quotas[q];

	world_say("%s: quota %d of namespace %d, %s, borrows %s, onShrink %s%s%s", what, q,
		  q / WORLD_QUOTAS, amount_text(quota->spec.gpu_memory).text,
		  amount_text(quota->spec.borrow_limit).text,
		  shrink_policy_text(quota->spec.on_shrink), quota->spec.dry_run ? ", DryRun" : "",
		  quota->invalid ? ", invalid" : "");
}

static void edit_quota(struct world *w, int q)
{
	struct world_quota *quota = &w->api.quotas[q];

	quota->generation++;
	if (world_chance(w, 3)) {
		fill_spec(w, &quota->spec);
		change_rights(w, quota);
	} else if (world_chance(w, 2)) {
		quota->spec.gpu_memory = some_memory(w);
	} else {
		quota->spec.borrow_limit = world_below(w, 5) * 40 * GIB;
	}
	world_changed(w, CLUSTER_QUOTAS, q);
	say_quota(w, "edited", q);
}

static void make_quota(struct world *w, int q)
{
	struct world_quota *quota = &w->api.quotas[q];

	memset(quota, 0, sizeof(*quota));
	quota->meta = world_meta(w);
	quota->generation = 1;
	fill_spec(w, &quota->spec);
	change_rights(w, quota);
	world_changed(w, CLUSTER_QUOTAS, q);
	say_quota(w, "created", q);
}

/* Deleting may take a while: somebody's finalizer. */
static void delete_quota(struct world *w, int q)
{
	struct world_quota *quota = &w->api.quotas[q];

	if (!quota->meta.terminating && world_chance(w, 3)) {
		quota->meta.terminating = true;
		world_changed(w, CLUSTER_QUOTAS, q);
	} else {
		world_gone(w, CLUSTER_QUOTAS, q);
	}
	world_say("%s: quota %d", quota->meta.exists ? "being deleted" : "deleted", q);
}

/* Namespaces of the tenant of a strict world. */
enum { STRICT_SPACES = 3 };

static void change_quota(struct world *w)
{
	int spaces = w->strict ? STRICT_SPACES : WORLD_SPACES;
	int q = (int)world_below(w, spaces * WORLD_QUOTAS);
	const struct world_space *space = &w->api.spaces[q / WORLD_QUOTAS];
	bool younger = q % WORLD_QUOTAS != 0;

	if (!space->meta.exists || space->meta.terminating)
		return;
	if (!w->api.quotas[q].meta.exists) {
		if (!younger || world_chance(w, 6))
			make_quota(w, q);
	} else if (world_chance(w, younger ? 3 : 14)) {
		delete_quota(w, q);
	} else if (!w->api.quotas[q].meta.terminating) {
		edit_quota(w, q);
	}
}

/* --- tenants */

static void fill_tenant(struct world *w, struct world_tenant *tenant)
{
	tenant->ceiling = world_chance(w, 8) ? AMOUNT_NONE : (2 + world_below(w, 15)) * 40 * GIB;
	tenant->ceiling_gpus = world_chance(w, 3) ? 1 + world_below(w, 12) : AMOUNT_NONE;
	tenant->teams = 1u << world_below(w, WORLD_TEAMS);
	if (world_chance(w, 5))
		tenant->teams |= 1u << world_below(w, WORLD_TEAMS);
}

static void say_tenant(const struct world *w, const char *what, int t)
{
	const struct world_tenant *tenant = &w->api.tenants[t];

	world_say("%s: tenant %d, teams %u, ceiling %s and %d cards", what, t, tenant->teams,
		  amount_text(tenant->ceiling).text, (int)tenant->ceiling_gpus);
}

static void change_tenant(struct world *w)
{
	int t = (int)world_below(w, WORLD_TENANTS);
	struct world_tenant *tenant = &w->api.tenants[t];

	if (!tenant->meta.exists) {
		memset(tenant, 0, sizeof(*tenant));
		tenant->meta = world_meta(w);
		fill_tenant(w, tenant);
	} else if (world_chance(w, 8)) {
		world_gone(w, CLUSTER_TENANTS, t);
		world_say("deleted: tenant %d", t);
		return;
	} else if (world_chance(w, 10)) {
		tenant->meta.terminating = true;
	} else if (world_chance(w, 4)) {
		fill_tenant(w, tenant);
	} else {
		tenant->ceiling = (2 + world_below(w, 15)) * 40 * GIB;
	}
	tenant->generation++;
	world_changed(w, CLUSTER_TENANTS, t);
	say_tenant(w, tenant->meta.terminating ? "being deleted" : "made or edited", t);
}

/* --- namespaces */

static void make_space(struct world *w, int s)
{
	w->api.spaces[s] = (struct world_space){.meta = world_meta(w),
						.tenant_label = WORLD_NONE,
						.team = (int)world_below(w, WORLD_TEAMS + 1) - 1};
	world_changed(w, CLUSTER_NAMESPACES, s);
	world_say("created: namespace %d of team %d", s, w->api.spaces[s].team);
}

static void delete_all(struct world *w, enum cluster_kind kind, int first, int n)
{
	for (int i = first; i < first + n; i++)
		if (world_object_of(&w->api, kind, i)->exists)
			world_gone(w, kind, i);
}

static void remove_space(struct world *w, int s)
{
	delete_all(w, CLUSTER_PODS, s * WORLD_PODS, WORLD_PODS);
	delete_all(w, CLUSTER_CLAIMS, s * WORLD_CLAIMS, WORLD_CLAIMS);
	delete_all(w, CLUSTER_QUOTAS, s * WORLD_QUOTAS, WORLD_QUOTAS);
	delete_all(w, CLUSTER_RESOURCE_QUOTAS, s, 1);
	world_gone(w, CLUSTER_NAMESPACES, s);
	world_say("gone: namespace %d", s);
}

static void change_space(struct world *w)
{
	int s = (int)world_below(w, WORLD_SPACES);
	struct world_space *space = &w->api.spaces[s];

	if (!space->meta.exists) {
		make_space(w, s);
	} else if (space->meta.terminating) {
		remove_space(w, s);
	} else if (world_chance(w, 6)) {
		space->meta.terminating = true;
		world_changed(w, CLUSTER_NAMESPACES, s);
		world_say("being deleted: namespace %d", s);
	} else {
		space->team = (int)world_below(w, WORLD_TEAMS + 1) - 1;
		world_changed(w, CLUSTER_NAMESPACES, s);
		world_say("labelled: namespace %d is of team %d", s, space->team);
	}
}

/* --- hardware */

static void publish(struct world *w, int i)
{
	struct world_slice *slice = &w->api.slices[i];
	int profile = w->api.nodes[i].profile;

	if (world_profiles[profile].n_devices > 0) {
		if (!slice->meta.exists)
			slice->meta = world_meta(w);
		slice->profile = profile;
		world_changed(w, CLUSTER_SLICES, i);
	} else if (slice->meta.exists) {
		world_gone(w, CLUSTER_SLICES, i);
	}
}

static void make_node(struct world *w, int i)
{
	int profile = w->only_profile != WORLD_NONE ? w->only_profile
						    : (int)world_below(w, WORLD_PROFILES);

	w->api.nodes[i] =
		(struct world_node){.meta = world_meta(w), .profile = profile, .ready = NODE_READY};
	world_changed(w, CLUSTER_NODES, i);
	publish(w, i);
	world_say("made: node %d, %s", i, world_profiles[profile].name);
}

static void lose_node(struct world *w, int i)
{
	struct world_node *node = &w->api.nodes[i];

	node->ready = node->ready == NODE_READY ? NODE_NOT_READY : NODE_READY;
	world_changed(w, CLUSTER_NODES, i);
	world_say("node %d is %s", i, node->ready == NODE_READY ? "back" : "lost");
}

/* MIG manager at work, or somebody else who cuts cards anew or labels them otherwise. */
static void cut_node(struct world *w, int i)
{
	struct world_node *node = &w->api.nodes[i];

	if (w->only_profile != WORLD_NONE)
		return;
	if (!node->reconfiguring) {
		node->reconfiguring = true;
		world_changed(w, CLUSTER_NODES, i);
		return;
	}
	node->reconfiguring = false;
	node->profile = (int)world_below(w, WORLD_PROFILES);
	world_changed(w, CLUSTER_NODES, i);
	publish(w, i);
	world_say("node %d was cut anew: %s", i, world_profiles[node->profile].name);
}

static void change_node(struct world *w)
{
	int i = (int)world_below(w, WORLD_NODES);

	if (!w->api.nodes[i].meta.exists)
		make_node(w, i);
	else if ((i > 0 || w->only_profile != WORLD_NONE) && world_chance(w, 8))
		world_gone(w, CLUSTER_NODES, i);
	else if (world_chance(w, 2))
		lose_node(w, i);
	else
		cut_node(w, i);
}

/* To nothing, and from nothing. */
static void scale_pool(struct world *w)
{
	bool gone = w->api.nodes[0].meta.exists;

	for (int i = 0; i < WORLD_NODES; i++)
		if (gone)
			world_gone(w, CLUSTER_NODES, i);
		else
			make_node(w, i);
	if (gone)
		world_say("the pool is scaled to zero");
}

static void change_class(struct world *w)
{
	int i = (int)world_below(w, WORLD_CLASSES);

	if (w->api.classes[i].meta.exists && world_chance(w, 4)) {
		world_gone(w, CLUSTER_CLASSES, i);
	} else {
		w->api.classes[i].meta = world_meta(w);
		world_changed(w, CLUSTER_CLASSES, i);
	}
	world_say("%s: class %s", w->api.classes[i].meta.exists ? "created" : "deleted",
		  world_classes[i].name);
}

/* --- who has no business there */

static void meddle(struct world *w)
{
	int s = (int)world_below(w, WORLD_SPACES);
	struct world_rq *rq = &w->api.rqs[s];

	if (!rq->meta.exists)
		return;
	world_excuse(w, world_tenant_of(&w->api, s), "somebody edits our ResourceQuota");
	world_excuse_use(w, s, "somebody edits our ResourceQuota");
	if (world_chance(w, 4)) {
		world_gone(w, CLUSTER_RESOURCE_QUOTAS, s);
		world_say("somebody deletes the ResourceQuota of namespace %d", s);
		return;
	}
	rq->foreign = true;
	rq->other_keys = world_chance(w, 3);
	for (int r = 0; r < WORLD_RESOURCES; r++)
		if (rq->hard[r] >= 0 && world_chance(w, 3))
			rq->hard[r] = world_below(w, 10);
	world_changed(w, CLUSTER_RESOURCE_QUOTAS, s);
	world_say("somebody edits the ResourceQuota of namespace %d", s);
}

void world_people_step(struct world *w)
{
	static void (*const storms[])(struct world *) = {change_tenant, change_space, change_node,
							 change_node,   change_class, meddle,
							 change_quota};

	if (w->strict && world_chance(w, 6))
		scale_pool(w);
	else if (w->calm)
		change_quota(w);
	else
		storms[world_below(w, ARRAY_SIZE(storms))](w);
}

/* --- from nothing, and to nothing */

static void begin_strict(struct world *w)
{
	struct world_tenant *tenant = &w->api.tenants[0];

	w->only_profile = WORLD_NODE_H100;
	w->only_shape = 0;
	w->calm = true;
	if (world_chance(w, 2))
		scale_pool(w);
	tenant->meta = world_meta(w);
	tenant->generation = 1;
	tenant->teams = 1;
	tenant->ceiling = (2 + world_below(w, 5)) * 80 * GIB;
	tenant->ceiling_gpus = AMOUNT_NONE;
	world_changed(w, CLUSTER_TENANTS, 0);
	say_tenant(w, "created", 0);
	for (int s = 0; s < WORLD_SPACES; s++) {
		make_space(w, s);
		w->api.spaces[s].team = s < STRICT_SPACES ? 0 : WORLD_NONE;
		world_changed(w, CLUSTER_NAMESPACES, s);
	}
}

void world_begin(struct world *w)
{
	if (w->strict) {
		begin_strict(w);
		return;
	}
	for (int i = 0; i < WORLD_CLASSES; i++) {
		w->api.classes[i].meta = world_meta(w);
		world_changed(w, CLUSTER_CLASSES, i);
	}
	for (int i = 0; i < WORLD_NODES; i++)
		make_node(w, i);
	for (int t = 0; t < WORLD_TENANTS - 1; t++) {
		struct world_tenant *tenant = &w->api.tenants[t];

		tenant->meta = world_meta(w);
		tenant->generation = 1;
		fill_tenant(w, tenant);
		world_changed(w, CLUSTER_TENANTS, t);
		say_tenant(w, "created", t);
	}
	for (int s = 0; s < WORLD_SPACES; s++)
		make_space(w, s);
}

void world_empty(struct world *w)
{
	delete_all(w, CLUSTER_PODS, 0, WORLD_SPACES * WORLD_PODS);
	delete_all(w, CLUSTER_CLAIMS, 0, WORLD_SPACES * WORLD_CLAIMS);
	world_say("everybody goes home");
}

void world_remove_all(struct world *w)
{
	delete_all(w, CLUSTER_TENANTS, 0, WORLD_TENANTS);
	for (int s = 0; s < WORLD_SPACES; s++)
		remove_space(w, s);
	delete_all(w, CLUSTER_NODES, 0, WORLD_NODES);
	delete_all(w, CLUSTER_SLICES, 0, WORLD_NODES);
	delete_all(w, CLUSTER_CLASSES, 0, WORLD_CLASSES);
	world_deliver_all(w);
}
