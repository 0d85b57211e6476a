/* SPDX-License-Identifier: Apache-2.0 */
/* What a turn of a tenant or a namespace decides, in the order in which it is to be written. */
#include "lib/world_turn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "cluster/ledger/holders.h"
#include "cluster/read.h"
#include "lib/world_api.h"
#include "lib/world_watcher.h"
#include "quota/tenant_plan.h"

#define USE_INTERVAL_US WORLD_SECOND

static void look_again(struct world_key *key, int64_t at_us)
{
	key->again_us = MIN(key->again_us, at_us);
}

static struct world_write *add_write(struct world_key *key, enum world_write_kind kind, int index)
{
	struct world_write *write = &key->set.writes[key->set.n++];

	assert_true(key->set.n <= WORLD_WRITES);
	write->kind = kind;
	write->index = index;
	return write;
}

/* --- tenants */

static struct tenant_some some_of(const struct tenant_example *example)
{
	return (struct tenant_some){(int64_t)example->n, example->namespace};
}

static void decide_tenant_status(struct world *w, const struct tenant_lookup *lookup,
				 const struct tenant_sums *sums, struct tenant_plan *ret_plan)
{
	struct str names[WORLD_SPACES];
	struct tenant_plan_view view = {
		.facts = &lookup->facts,
		.sums = *sums,
		.namespaces = names,
		.n_namespaces = lookup->view.n_members,
		.elsewhere = some_of(&lookup->elsewhere),
		.elsewhere_tenant = lookup->elsewhere.tenant,
		.unenforced = some_of(&lookup->unenforced),
		.unpriced = some_of(&lookup->unpriced),
		.now_real_us = w->now_us,
	};

	for (size_t i = 0; i < lookup->view.n_members; i++)
		names[i] = lookup->view.members[i].name;
	assert_int_equal(tenant_plan_decide(&view, &w->shell->arena, ret_plan, NULL), 0);
}

static void write_tenant_status(struct world *w, int t, const struct tenant_lookup *lookup,
				const struct tenant_plan *plan)
{
	struct world_shell *shell = w->shell;
	struct world_key *key = &shell->tenants[t];
	int64_t due_us = key->status_written_us + USE_INTERVAL_US;
	struct world_write *write;

	if (!plan->write_status)
		return;
	if (!plan->status_urgent && w->now_us < due_us) {
		look_again(key, due_us);
		return;
	}
	if (w->seen.tenants[t].meta.version < shell->expected_tenants[t]) {
		look_again(key, w->now_us + WORLD_SECOND);
		return;
	}
	write = add_write(key, WORLD_WRITE_TENANT, t);
	write->uid = world_uid_number(lookup->facts.uid);
	write->tenant = plan->status;
	for (size_t i = 0; i < plan->status.n_namespaces_listed; i++)
		write->names[i] = world_canon(plan->status.namespaces[i]);
}

static void keep_grants(struct world *w, int t, const struct tenant_lookup *lookup,
			const struct tenant_grant *grants, const struct tenant_sums *sums)
{
	struct world_shell *shell = w->shell;

	for (int s = 0; s < WORLD_SPACES; s++)
		if (shell->granted_by[s] == t)
			shell->granted_by[s] = WORLD_NONE;
	for (size_t i = 0; i < lookup->view.n_members; i++) {
		int s = world_number(lookup->view.members[i].name);

		shell->granted_by[s] = t;
		shell->grants[s] = grants[i];
	}
	cluster_grant(shell->cluster, cluster_tenant_find(shell->cluster, world_tenant_name(t)),
		      &(struct tenant_decision){lookup->namespaces, grants, lookup->view.n_members,
						sums, THROTTLE_NOTHING});
}

void world_tenant_turn(struct world *w, int t)
{
	struct world_shell *shell = w->shell;
	uint32_t handle = cluster_tenant_find(shell->cluster, world_tenant_name(t));
	struct tenant_grant grants[WORLD_SPACES];
	struct tenant_lookup lookup;
	struct tenant_sums sums;
	struct tenant_plan plan;

	if (handle == UINT32_MAX)
		return;
	arena_reset(&shell->arena);
	cluster_refresh_tenant(shell->cluster, handle);
	assert_int_equal(cluster_tenant_view(shell->cluster, handle, &shell->arena, &lookup, NULL),
			 0);
	if (!lookup.exists)
		return;
	assert_int_equal(tenant_decide(&lookup.view, &shell->arena, grants, &sums, NULL), 0);
	decide_tenant_status(w, &lookup, &sums, &plan);
	write_tenant_status(w, t, &lookup, &plan);
	world_say("turn of tenant %d: granted %s, lent %s%s", t, amount_text(sums.granted).text,
		  amount_text(sums.lent).text, sums.moving ? ", moving" : "");
	for (size_t i = 0; i < lookup.view.n_members; i++)
		world_say(
			"    %.*s: before %s -%s +%s %s; granted %s lent %s borrowed %s effective %s of enforced %s "
			"used %s",
			STR_ARGS(lookup.view.members[i].name),
			amount_text(lookup.view.members[i].granted).text,
			amount_text(lookup.view.members[i].lent).text,
			amount_text(lookup.view.members[i].borrowed).text,
			amount_text(lookup.view.members[i].effective).text,
			amount_text(grants[i].granted).text, amount_text(grants[i].lent).text,
			amount_text(grants[i].borrowed).text, amount_text(grants[i].effective).text,
			amount_text(lookup.view.members[i].enforced).text,
			amount_text(lookup.view.members[i].used).text);
	world_check_grants(w, &lookup.view, grants, &sums);
	keep_grants(w, t, &lookup, grants, &sums);
}

/* --- namespaces */

struct turn {
	struct world *w;
	int space;
	uint32_t handle;
	struct world_key *key;
	struct namespace_view namespace;
	uint32_t tenant;
	struct tenant_summary summary;
};

static void write_quota(struct turn *turn, const struct quota_identity *identity,
			const struct quota_plan *plan)
{
	struct world_write *write;

	if (plan->delete_resource_quota || plan->remake_resource_quota)
		add_write(turn->key, WORLD_DELETE_QUOTA, turn->space);
	if (!plan->write_resource_quota)
		return;
	write = add_write(turn->key,
			  plan->replace_resource_quota && !plan->remake_resource_quota
				  ? WORLD_REPLACE_QUOTA
				  : WORLD_WRITE_QUOTA,
			  turn->space);
	write->uid = turn->tenant != UINT32_MAX ? world_uid_number(turn->summary.uid)
						: world_uid_number(identity->uid);
	for (int r = 0; r < WORLD_RESOURCES; r++)
		write->hard[r] = -1;
	for (size_t i = 0; i < plan->n_hard; i++)
		write->hard[world_resource_of(plan->hard[i].resource)] = plan->hard[i].count;
	cluster_note_sent(turn->w->shell->cluster, turn->handle, plan->hard, plan->n_hard);
}

static void write_labels(struct turn *turn, bool priced)
{
	bool quotaless = turn->tenant != UINT32_MAX && !priced;
	bool managed = turn->namespace.n_quotas > 0 || turn->tenant != UINT32_MAX;
	struct str tenant = turn->tenant != UINT32_MAX ? turn->summary.name : STR_NONE;
	struct world_write *write;

	if (!turn->namespace.exists ||
	    (turn->namespace.managed == managed && turn->namespace.quotaless == quotaless &&
	     str_equal(turn->namespace.tenant_label, tenant)))
		return;
	write = add_write(turn->key, WORLD_WRITE_LABELS, turn->space);
	write->uid = world_uid_number(turn->namespace.uid);
	write->managed = managed;
	write->quotaless = quotaless;
	write->tenant_label = str_empty(tenant) ? WORLD_NONE : world_number(tenant);
}

static void write_status(struct turn *turn, const struct quota_identity *identity,
			 const struct quota_plan *plan)
{
	struct world_shell *shell = turn->w->shell;
	int64_t due_us = turn->key->status_written_us + USE_INTERVAL_US;
	int q = world_number(identity->name);
	struct world_write *write;

	if (!plan->write_status)
		return;
	if (!plan->status_urgent && turn->w->now_us < due_us) {
		look_again(turn->key, due_us);
		return;
	}
	if (turn->w->seen.quotas[q].meta.version < shell->expected_quotas[q]) {
		look_again(turn->key, turn->w->now_us + WORLD_SECOND);
		return;
	}
	if (plan->governs)
		cluster_note_publishing(shell->cluster, turn->handle, plan->status.effective,
					plan->status.effective_gpus);
	write = add_write(turn->key, WORLD_WRITE_STATUS, q);
	write->uid = world_uid_number(identity->uid);
	world_status_set(&write->status, &plan->status);
}

static void decide(struct turn *turn, struct quota_view *view, struct quota_plan *ret_plan)
{
	struct world_shell *shell = turn->w->shell;
	struct holders holders;

	view->now_us = view->now_real_us = turn->w->now_us;
	assert_int_equal(quota_decide(view, &shell->arena, ret_plan, NULL), 0);
	if (!ret_plan->needs_holders)
		return;
	assert_true(cluster_holders(shell->cluster, turn->handle, turn->w->now_us, &shell->arena,
				    &holders));
	look_again(turn->key, holders.look_again_us);
	view->holders = holders.list;
	view->n_holders = holders.n;
	assert_int_equal(quota_decide(view, &shell->arena, ret_plan, NULL), 0);
}

static bool decide_quota(struct turn *turn, uint32_t index)
{
	struct world_shell *shell = turn->w->shell;
	uint32_t quota = cluster_quota_nth(shell->cluster, turn->handle, index);
	struct quota_lookup lookup;
	struct quota_plan plan;

	arena_reset(&shell->arena);
	assert_int_equal(cluster_quota_view(shell->cluster, quota, &shell->arena, &lookup, NULL),
			 0);
	decide(turn, &lookup.view, &plan);
	world_check_plan(turn->w, turn->space, &lookup.view, &plan);
	look_again(turn->key, plan.look_again_us);
	if (plan.governs) {
		write_labels(turn, plan.priced);
		write_quota(turn, &lookup.identity, &plan);
	}
	write_status(turn, &lookup.identity, &plan);
	if (plan.evict) {
		struct world_write *write =
			add_write(turn->key, WORLD_EVICT, world_number(plan.evict->name));

		write->uid = world_uid_number(plan.evict->uid);
	}
	return plan.governs;
}

static void decide_bare(struct turn *turn)
{
	struct world_shell *shell = turn->w->shell;
	struct quota_lookup bare;
	struct quota_plan plan;

	arena_reset(&shell->arena);
	assert_int_equal(
		cluster_bare_view(shell->cluster, turn->handle, &shell->arena, &bare, NULL), 0);
	bare.view.now_us = bare.view.now_real_us = turn->w->now_us;
	assert_int_equal(quota_decide_bare(&bare.view, &shell->arena, &plan, NULL), 0);
	world_check_plan(turn->w, turn->space, &bare.view, &plan);
	look_again(turn->key, plan.look_again_us);
	write_labels(turn, plan.priced);
	write_quota(turn, &bare.identity, &plan);
}

static bool own_writes_unseen(const struct world *w, int space)
{
	return w->seen.rqs[space].meta.version < w->shell->expected_rqs[space] ||
	       w->seen.spaces[space].meta.version < w->shell->expected_spaces[space];
}

static void refresh(struct turn *turn)
{
	int64_t next_us;

	cluster_refresh(turn->w->shell->cluster, turn->handle);
	cluster_release(turn->w->shell->cluster, turn->handle, turn->w->now_us, &next_us);
	look_again(turn->key, next_us);
	world_check_ledger(turn->w, turn->space);
}

void world_space_turn(struct world *w, int space)
{
	struct cluster *cluster = w->shell->cluster;
	struct turn turn = {.w = w, .space = space, .key = &w->shell->spaces[space]};
	bool governed = false;

	turn.handle = cluster_namespace_find(cluster, world_space_name(space));
	if (turn.handle == UINT32_MAX)
		return;
	refresh(&turn);
	cluster_namespace_view(cluster, turn.handle, &turn.namespace);
	if (turn.namespace.terminating || !turn.namespace.exists)
		return;
	if (own_writes_unseen(w, space)) {
		look_again(turn.key, w->now_us + WORLD_SECOND);
		return;
	}
	world_say("turn of namespace %d", space);
	turn.tenant = cluster_tenant_of(cluster, turn.handle);
	if (turn.tenant != UINT32_MAX)
		cluster_tenant_summary(cluster, turn.tenant, &turn.summary);
	if (turn.namespace.n_quotas == 0 && turn.tenant == UINT32_MAX) {
		if (turn.namespace.managed)
			add_write(turn.key, WORLD_DELETE_QUOTA, space);
		write_labels(&turn, false);
		return;
	}
	for (uint32_t i = 0; i < turn.namespace.n_quotas; i++)
		governed |= decide_quota(&turn, i);
	if (!governed && turn.tenant != UINT32_MAX)
		decide_bare(&turn);
}
