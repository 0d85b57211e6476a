/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views of tenants. A member is read from flat fields that were kept when its objects were applied:
 * nothing of a member is unpacked here.
 */
#include "base/checked.h"
#include "base/macros.h"
#include "cluster/internal.h"
#include "cluster/pack/pack.h"
#include "cluster/tenants/tenants.h"
#include "model/resource.h"

uint32_t cluster_tenant_find(const struct cluster *cluster, struct str name)
{
	return tenant_find(cluster, name);
}

bool cluster_tenant_has(const struct cluster *cluster, uint32_t tenant)
{
	return table_has(&cluster->tenants, tenant);
}

struct str cluster_tenant_name(const struct cluster *cluster, uint32_t tenant)
{
	return intern_str(cluster->intern, tenant_at(cluster, tenant)->name);
}

uint32_t cluster_tenant_next(const struct cluster *cluster, uint32_t from)
{
	return table_next(&cluster->tenants, from);
}

uint32_t cluster_tenant_of(const struct cluster *cluster, uint32_t namespace)
{
	if (!table_has(&cluster->namespaces, namespace))
		return TABLE_NONE;
	return namespace_at(cluster, namespace)->tenant;
}

struct topology_spec cluster_topology_of(const struct cluster *cluster, uint32_t namespace)
{
	uint32_t tenant = cluster_tenant_of(cluster, namespace);

	return tenant == TABLE_NONE ? TOPOLOGY_SPEC_DEFAULT : tenant_at(cluster, tenant)->topology;
}

void cluster_tenant_summary(const struct cluster *cluster, uint32_t tenant,
			    struct tenant_summary *ret_summary)
{
	const struct tenant_record *record = tenant_at(cluster, tenant);

	*ret_summary = (struct tenant_summary){
		.name = intern_str(cluster->intern, record->name),
		.uid = intern_str(cluster->intern, record->uid),
		.exists = record->exists,
		.tier = (enum tenant_tier)record->tier,
		.ceiling = record->ceiling,
		.ceiling_gpus = record->ceiling_gpus,
		.n_namespaces = record->n_members,
		.n_elsewhere = record->n_selections,
		.sums = record->sums,
		.percent = record->throttle.percent,
		.idle = record->idle,
	};
	if (record->throttle.step == THROTTLE_NONE && record->throttle.percent == 0)
		ret_summary->percent = AMOUNT_NONE;
}

void cluster_refresh_tenant(struct cluster *cluster, uint32_t tenant)
{
	prices_refresh(cluster);
	membership_refresh(cluster);
	if (!table_has(&cluster->tenants, tenant))
		return;
	for (uint32_t ns = tenant_at(cluster, tenant)->first_member; ns != TABLE_NONE;
	     ns = namespace_at(cluster, ns)->member_next)
		ledger_refresh(cluster, ns);
}

/* --- whole cards */

/* What the price list says of cards that are offered whole: bytes, or AMOUNT_UNKNOWN. */
struct cards {
	int64_t smallest, largest;
};

static struct cards cards_of(const struct cluster *cluster)
{
	struct cards cards = {AMOUNT_UNKNOWN, AMOUNT_UNKNOWN};

	for (size_t i = 0; i < cluster->n_prices; i++) {
		const struct price_row *row = &cluster->prices[i];

		if (row->sharing != DEVICE_WHOLE)
			continue;
		if (row->smallest != AMOUNT_UNKNOWN &&
		    (cards.smallest == AMOUNT_UNKNOWN || row->smallest < cards.smallest))
			cards.smallest = row->smallest;
		if (row->largest != AMOUNT_UNKNOWN)
			cards.largest = MAX(cards.largest, row->largest);
	}
	return cards;
}

/*
 * How many cards the quota stands for: those of its own cap, as far as it buys so many of the
 * smallest; without a cap, as many of the largest, and one at least. What was granted for no more
 * memory stays: another node takes nothing from those who have.
 */
static int64_t cards_for(const struct cards *cards, const struct quota_amounts *amounts,
			 const struct tenant_grant *grant)
{
	int64_t bytes = amounts->limit, cap = amounts->limit_gpus, n = 0;
	int64_t before = bytes >= grant->granted ? grant->granted_gpus : 0;

	if (bytes <= 0)
		return 0;
	if (cap != AMOUNT_NONE) {
		if (cards->smallest > 0)
			n = bytes / cards->smallest;
		return MIN(cap, MAX(n, before));
	}
	if (cards->largest > 0)
		n = MAX(bytes / cards->largest, 1);
	return MAX(n, before);
}

/* --- members */

static int64_t unit_of(const struct cluster *cluster, const struct price_row *row)
{
	struct price_list prices = prices_of(cluster);
	struct str name = intern_str(cluster->intern, row->resource);

	return price_unit(&prices, row->resource, row->product, resource_memory_by_name(name));
}

/* Cards in use, and the dearest unit in use. */
static void read_uses(const struct cluster *cluster, const struct sums *sums,
		      struct tenant_member *member)
{
	member->used_gpus = sum_clamp(sums->gpus);
	for (uint32_t use = sums->first_use; use != TABLE_NONE; use = use_at(cluster, use)->next)
		member->reserve =
			MAX(member->reserve,
			    unit_of(cluster, &cluster->prices[use_at(cluster, use)->row]));
}

static void read_quota(const struct quota_record *quota, struct tenant_member *member)
{
	const struct quota_amounts *amounts = &quota->amounts;

	member->created_us = quota->created_us;
	member->asks = !amounts->invalid;
	member->wants = amounts->limit;
	member->borrow_limit = amounts->borrow_limit;
}

struct tenant_grant grant_of(const struct cluster *cluster, uint32_t namespace)
{
	const struct namespace_record *record = namespace_at(cluster, namespace);
	uint32_t governing = quota_governing(cluster, namespace);
	const struct quota_amounts *amounts;
	struct tenant_grant grant = {.outcome = GRANT_WAITS};

	if (record->decided)
		return record->grant;
	if (governing == TABLE_NONE)
		return grant;
	amounts = &quota_at(cluster, governing)->amounts;
	if (amounts->tenant != tenant_at(cluster, record->tenant)->name)
		return grant;
	grant.granted = amounts->granted;
	grant.granted_gpus = amounts->granted_gpus;
	grant.effective_gpus = amounts->effective_gpus;
	grant.borrowed = amounts->borrowed;
	grant.lent = amounts->lent;
	grant.effective = amounts->effective;
	if (grant.granted == amounts->limit)
		grant.outcome = GRANT_FULL;
	return grant;
}

/*
 * Devices whose memory nothing tells are not nothing, as when their nodes are gone for a while and
 * the pods are not: the member then counts as using what it did when all was told, and at least
 * what keeps its loans, and those of others, as they are.
 */
static void assume_use(const struct namespace_record *record, struct tenant_member *member)
{
	int64_t own = saturating_sub(member->granted, member->lent);
	int64_t kept = member->borrowed > 0
			       ? saturating_add(member->granted, member->borrowed)
			       : saturating_sub(own, saturating_mul(member->reserve, 2));

	member->unknown |= record->known_used == AMOUNT_UNKNOWN;
	member->assumed = MAX(MAX(kept, record->known_used) - member->used, 0);
	member->assumed_gpus = MAX(record->known_gpus - member->used_gpus, 0);
}

static void read_member(const struct cluster *cluster, uint32_t namespace,
			const struct cards *cards, struct tenant_member *ret_member)
{
	const struct namespace_record *record = namespace_at(cluster, namespace);
	uint32_t quota = quota_governing(cluster, namespace);
	struct enforced enforced = enforced_of(cluster, namespace);
	struct tenant_grant grant = grant_of(cluster, namespace);
	struct tenant_member member = {
		.name = intern_str(cluster->intern, record->name),
		.granted = grant.granted,
		.granted_gpus = grant.granted_gpus,
		.borrowed = grant.borrowed,
		.lent = grant.lent,
		.effective = grant.effective,
		.effective_gpus = grant.effective_gpus,
		.enforced = enforced.bytes,
		.enforced_gpus = enforced.gpus,
		.unknown = enforced.unknown,
		.used = sum_clamp(record->sums.used),
	};

	if (quota != TABLE_NONE) {
		read_quota(quota_at(cluster, quota), &member);
		member.wants_gpus = cards_for(cards, &quota_at(cluster, quota)->amounts, &grant);
	}
	if (record->price_version == cluster->price_version)
		read_uses(cluster, &record->sums, &member);
	if (member.reserve == 0)
		member.reserve = MAX(cards->largest, 0);
	if (record->sums.unpriced > 0)
		assume_use(record, &member);
	*ret_member = member;
}

/* Whether the API server does not yet enforce what the namespace may hold. */
static bool is_unenforced(const struct cluster *cluster, uint32_t namespace)
{
	const struct namespace_record *record = namespace_at(cluster, namespace);
	uint32_t owned = record->owned[OWNED_RESOURCE_QUOTA];
	uint32_t governing = quota_governing(cluster, namespace);

	if (governing != TABLE_NONE) {
		const struct quota_record *quota = quota_at(cluster, governing);

		if (quota->dry_run)
			return false;
		if (record->decided &&
		    quota->amounts.effective != record->grant.effective - record->grant.withheld)
			return true;
	}
	return owned == TABLE_NONE ||
	       owned_at(cluster, OWNED_RESOURCE_QUOTA, owned)->differs_since_us != 0;
}

static void view_checks(const struct cluster *cluster, const struct namespace_record *record,
			struct tenant_lookup *lookup)
{
	topology_counts_add(&lookup->topology, &record->checks);
	if (record->mismatched == TABLE_NONE || !str_empty(lookup->mismatch_pod))
		return;
	lookup->mismatch_namespace = intern_str(cluster->intern, record->name);
	lookup->mismatch_pod =
		intern_str(cluster->intern, pod_at(cluster, record->mismatched)->name);
}

static bool view_members(const struct cluster *cluster, const struct tenant_record *record,
			 struct arena *arena, struct tenant_lookup *lookup)
{
	struct tenant_member *members = arena_alloc(arena, record->n_members * sizeof(*members));
	uint32_t *namespaces = arena_alloc(arena, record->n_members * sizeof(*namespaces));
	struct cards cards = cards_of(cluster);
	size_t n = 0;

	if (!members || !namespaces)
		return false;
	for (uint32_t ns = record->first_member; ns != TABLE_NONE;
	     ns = namespace_at(cluster, ns)->member_next) {
		namespaces[n] = ns;
		read_member(cluster, ns, &cards, &members[n]);
		if (is_unenforced(cluster, ns) && lookup->unenforced.n++ == 0)
			lookup->unenforced.namespace = members[n].name;
		view_checks(cluster, namespace_at(cluster, ns), lookup);
		if (namespace_at(cluster, ns)->sums.unpriced > 0 && lookup->unpriced.n++ == 0)
			lookup->unpriced.namespace = members[n].name;
		n++;
	}
	lookup->namespaces = namespaces;
	lookup->view.members = members;
	lookup->view.n_members = n;
	return true;
}

/* --- the tenant */

static void view_elsewhere(const struct cluster *cluster, const struct tenant_record *record,
			   struct tenant_example *ret_example)
{
	uint32_t namespace;

	ret_example->n = record->n_selections;
	if (record->first_selection == TABLE_NONE)
		return;
	namespace = selection_at(cluster, record->first_selection)->namespace;
	ret_example->namespace =
		intern_str(cluster->intern, namespace_at(cluster, namespace)->name);
	if (namespace_at(cluster, namespace)->tenant != TABLE_NONE)
		ret_example->tenant =
			cluster_tenant_name(cluster, namespace_at(cluster, namespace)->tenant);
}

static bool view_bindings(const struct cluster *cluster, const struct tenant_record *record,
			  struct arena *arena, struct tenant_lookup *lookup)
{
	for (int i = 0; i < TENANT_BINDING_COUNT; i++) {
		const struct binding_record *binding;
		struct binding_facts *facts;

		if (record->bindings[i] == TABLE_NONE)
			continue;
		binding = binding_at(cluster, record->bindings[i]);
		facts = arena_alloc(arena, sizeof(*facts));
		if (!facts ||
		    !unpack_binding((struct str){binding->bytes, binding->len}, arena, facts) ||
		    !tenant_binding_name((enum tenant_binding)i,
					 intern_str(cluster->intern, record->name), arena,
					 &facts->name))
			return false;
		facts->resource_version = binding->resource_version;
		lookup->bindings[i] = facts;
	}
	return true;
}

static bool view_objectives(const struct cluster *cluster, uint32_t tenant, struct arena *arena,
			    struct tenant_lookup *lookup)
{
	size_t n = cluster_objective_count(cluster, tenant);
	struct cluster_objective *objectives = arena_alloc(arena, n * sizeof(*objectives));

	if (!objectives)
		return false;
	for (size_t i = 0; i < n; i++)
		objectives[i] = cluster_objective(cluster, tenant, i);
	lookup->objectives = objectives;
	lookup->n_objectives = n;
	return true;
}

static bool view_facts(const struct tenant_record *record, struct arena *arena,
		       struct tenant_facts *facts)
{
	if (!record->exists)
		return true;
	return unpack_tenant((struct str){record->bytes, record->len}, arena, facts) &&
	       unpack_receipts((struct str){record->receipts, record->receipts_len}, arena,
			       &facts->status.receipts, &facts->status.n_receipts) &&
	       unpack_label_selector((struct str){record->selector, record->selector_len}, arena,
				     &facts->spec.namespaces);
}

bool cluster_tenant_facts(const struct cluster *cluster, uint32_t tenant, struct arena *arena,
			  struct tenant_facts *ret_facts)
{
	const struct tenant_record *record = tenant_at(cluster, tenant);

	if (!record->exists || !view_facts(record, arena, ret_facts))
		return false;
	ret_facts->name = intern_str(cluster->intern, record->name);
	ret_facts->resource_version = record->resource_version;
	return true;
}

int cluster_tenant_view(const struct cluster *cluster, uint32_t tenant, struct arena *arena,
			struct tenant_lookup *ret_lookup, struct error *err)
{
	struct tenant_lookup lookup = {0};
	const struct tenant_record *record;

	if (!table_has(&cluster->tenants, tenant))
		return error_set(err, ERROR_NOT_FOUND, "there is no such TenantQoS");
	record = tenant_at(cluster, tenant);
	lookup.exists = record->exists;
	lookup.view.ceiling = record->ceiling;
	lookup.view.ceiling_gpus = record->ceiling_gpus;
	if (!view_facts(record, arena, &lookup.facts) ||
	    !view_members(cluster, record, arena, &lookup) ||
	    !view_bindings(cluster, record, arena, &lookup) ||
	    !view_objectives(cluster, tenant, arena, &lookup))
		return error_set(err, ERROR_LIMIT, "TenantQoS %.*s takes more memory than it may",
				 STR_ARGS(intern_str(cluster->intern, record->name)));
	lookup.facts.name = intern_str(cluster->intern, record->name);
	lookup.facts.resource_version = record->resource_version;
	lookup.unmoved = intern_str(cluster->intern, record->unmoved);
	lookup.unhelped = intern_str(cluster->intern, record->unhelped);
	lookup.kept = intern_str(cluster->intern, record->kept);
	view_elsewhere(cluster, record, &lookup.elsewhere);
	*ret_lookup = lookup;
	return 0;
}
