/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tenant has which namespace. The oldest that selects a namespace has it; younger ones that
 * select it too hold a selection, so that they can say so.
 *
 * Tenants and namespaces are not multiplied: an index has each tenant under one label that its
 * selector asks for, and a namespace is matched only with those found under its own labels. When
 * any selector changed, the index is made anew and all namespaces are looked up once, not before
 * somebody asks: a thousand tenants that arrive together cost what one does.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "cluster/internal.h"
#include "cluster/pack/pack.h"

/* --- the index */

/* Of a label; without a value: of the key alone; without a key: of what all namespaces have. */
static uint64_t label_hash(const struct cluster *cluster, struct str key, const struct str *value)
{
	uint64_t hash = hash_bytes(&cluster->key, key.data, key.len);

	if (!value)
		return hash;
	return hash_u64_pair(&cluster->key, hash,
			     hash_bytes(&cluster->key, value->data, value->len));
}

static void index_add(struct selector_index *index, uint64_t hash, uint32_t tenant)
{
	if (index->len == index->capacity) {
		index->capacity = MAX(2 * index->capacity, (size_t)64);
		index->entries =
			mem_realloc_array(index->entries, index->capacity, sizeof(*index->entries));
	}
	index->entries[index->len++] = (struct selector_entry){hash, tenant};
}

static void index_add_keys(struct cluster *cluster, const struct label_selector *selector)
{
	struct selector_index *index = &cluster->selectors;

	for (size_t i = 0; i < selector->n_requirements; i++) {
		if (index->n_keys == index->keys_capacity) {
			index->keys_capacity = MAX(2 * index->keys_capacity, (size_t)64);
			index->keys = mem_realloc_array(index->keys, index->keys_capacity,
							sizeof(*index->keys));
		}
		index->keys[index->n_keys++] =
			label_hash(cluster, selector->requirements[i].key, NULL);
	}
}

/* The requirement that fewest namespaces may meet: few values before any value. */
static const struct label_requirement *narrowest(const struct label_selector *selector)
{
	const struct label_requirement *best = NULL;

	for (size_t i = 0; i < selector->n_requirements; i++) {
		const struct label_requirement *one = &selector->requirements[i];

		if (one->op != LABEL_IN && one->op != LABEL_EXISTS)
			continue;
		if (!best || (one->op == LABEL_IN &&
			      (best->op == LABEL_EXISTS || one->n_values < best->n_values)))
			best = one;
	}
	return best;
}

static void index_tenant(struct cluster *cluster, uint32_t tenant)
{
	struct selector_index *index = &cluster->selectors;
	const struct tenant_record *record = tenant_at(cluster, tenant);
	const struct label_requirement *best;
	struct label_selector selector;

	if (!record->exists || record->terminating)
		return;
	arena_reset(&cluster->scratch_arena);
	if (!unpack_label_selector((struct str){record->selector, record->selector_len},
				   &cluster->scratch_arena, &selector) ||
	    selector.n_requirements == 0)
		return;
	index_add_keys(cluster, &selector);
	best = narrowest(&selector);
	if (!best)
		index_add(index, label_hash(cluster, STR_NONE, NULL), tenant);
	else if (best->op == LABEL_EXISTS)
		index_add(index, label_hash(cluster, best->key, NULL), tenant);
	for (size_t i = 0; best && best->op == LABEL_IN && i < best->n_values; i++)
		index_add(index, label_hash(cluster, best->key, &best->values[i]), tenant);
}

static int by_hash(const void *a, const void *b)
{
	const struct selector_entry *left = a, *right = b;

	if (left->hash != right->hash)
		return left->hash < right->hash ? -1 : 1;
	return left->tenant < right->tenant ? -1 : left->tenant > right->tenant;
}

static int by_number(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static void sort_keys(struct selector_index *index)
{
	size_t n = 0;

	if (index->n_keys > 1)
		qsort(index->keys, index->n_keys, sizeof(*index->keys), by_number);
	for (size_t i = 0; i < index->n_keys; i++)
		if (n == 0 || index->keys[i] != index->keys[n - 1])
			index->keys[n++] = index->keys[i];
	index->n_keys = n;
}

static void index_make(struct cluster *cluster)
{
	struct selector_index *index = &cluster->selectors;

	index->len = index->n_keys = 0;
	for (uint32_t tenant = table_next(&cluster->tenants, 0); tenant != TABLE_NONE;
	     tenant = table_next(&cluster->tenants, tenant + 1))
		index_tenant(cluster, tenant);
	if (index->len > 1)
		qsort(index->entries, index->len, sizeof(*index->entries), by_hash);
	sort_keys(index);
}

/* The first entry of a hash, or where it would be. */
static size_t index_find(const struct selector_index *index, uint64_t hash)
{
	size_t low = 0, high = index->len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (index->entries[middle].hash < hash)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* --- who selects a namespace */

/* Those that do, the eldest first. */
struct selecting {
	uint32_t tenants[LIMIT_SELECTING_TENANTS];
	size_t len;
};

static bool is_elder(const struct cluster *cluster, uint32_t a, uint32_t b)
{
	const struct tenant_record *left = tenant_at(cluster, a), *right = tenant_at(cluster, b);

	if (left->created_us != right->created_us)
		return left->created_us < right->created_us;
	return str_compare(intern_str(cluster->intern, left->name),
			   intern_str(cluster->intern, right->name)) < 0;
}

/* Of too many the eldest are kept. */
static void selecting_add(const struct cluster *cluster, struct selecting *selecting,
			  uint32_t tenant)
{
	size_t at = selecting->len;

	while (at > 0 && is_elder(cluster, tenant, selecting->tenants[at - 1]))
		at--;
	if (at > 0 && selecting->tenants[at - 1] == tenant)
		return;
	if (at == LIMIT_SELECTING_TENANTS)
		return;
	if (selecting->len < LIMIT_SELECTING_TENANTS)
		selecting->len++;
	memmove(&selecting->tenants[at + 1], &selecting->tenants[at],
		(selecting->len - 1 - at) * sizeof(selecting->tenants[0]));
	selecting->tenants[at] = tenant;
}

static bool selects(struct cluster *cluster, uint32_t tenant, const struct label *labels, size_t n)
{
	const struct tenant_record *record = tenant_at(cluster, tenant);
	struct arena arena = {0};
	struct label_selector selector;
	bool matches = unpack_label_selector((struct str){record->selector, record->selector_len},
					     &arena, &selector) &&
		       label_selector_matches(&selector, labels, n);

	arena_clear(&arena);
	return matches;
}

static void add_selecting(struct cluster *cluster, uint64_t hash, const struct label *labels,
			  size_t n, struct selecting *ret_selecting)
{
	const struct selector_index *index = &cluster->selectors;

	for (size_t i = index_find(index, hash); i < index->len && index->entries[i].hash == hash;
	     i++)
		if (selects(cluster, index->entries[i].tenant, labels, n))
			selecting_add(cluster, ret_selecting, index->entries[i].tenant);
}

/* Kubernetes' own namespaces (it reserves the prefix): a selector by what labels are not there
 * would have them too, and the policies for tenants would keep a cluster's own pods from starting.
 */
static bool is_reserved(const struct cluster *cluster, const struct namespace_record *record)
{
	return str_starts_with(intern_str(cluster->intern, record->name), STR("kube-"));
}

/*
 * Those labels of a namespace of which some selector speaks: it may have thousands, and what
 * follows takes a time for each and each tenant. In the scratch arena.
 */
static const struct label *labels_asked_for(struct cluster *cluster,
					    const struct namespace_record *record, size_t *ret_n)
{
	const struct selector_index *index = &cluster->selectors;
	const struct label *all;
	struct label *labels;
	size_t n_all, n = 0;

	*ret_n = 0;
	arena_reset(&cluster->scratch_arena);
	if (!unpack_labels((struct str){record->labels, record->labels_len},
			   &cluster->scratch_arena, &all, &n_all))
		return NULL;
	labels = arena_alloc(&cluster->scratch_arena, n_all * sizeof(*labels));
	for (size_t i = 0; labels && i < n_all; i++) {
		uint64_t key = label_hash(cluster, all[i].key, NULL);

		if (bsearch(&key, index->keys, index->n_keys, sizeof(key), by_number))
			labels[n++] = all[i];
	}
	*ret_n = n;
	return labels;
}

static void find_selecting(struct cluster *cluster, uint32_t namespace,
			   struct selecting *ret_selecting)
{
	const struct namespace_record *record = namespace_at(cluster, namespace);
	const struct label *labels;
	size_t n;

	ret_selecting->len = 0;
	if (!record->exists || cluster->selectors.len == 0 || is_reserved(cluster, record))
		return;
	labels = labels_asked_for(cluster, record, &n);
	if (!labels)
		return;
	add_selecting(cluster, label_hash(cluster, STR_NONE, NULL), labels, n, ret_selecting);
	for (size_t i = 0; i < n; i++) {
		add_selecting(cluster, label_hash(cluster, labels[i].key, NULL), labels, n,
			      ret_selecting);
		add_selecting(cluster, label_hash(cluster, labels[i].key, &labels[i].value), labels,
			      n, ret_selecting);
	}
}

/* --- members */

static void leave(struct cluster *cluster, uint32_t namespace)
{
	struct namespace_record *record = namespace_at(cluster, namespace);
	uint32_t tenant = record->tenant;

	if (tenant == TABLE_NONE)
		return;
	cluster_mark_dirty(cluster, namespace);
	checks_outdate(cluster, namespace);
	if (record->member_next != TABLE_NONE)
		namespace_at(cluster, record->member_next)->member_prev = record->member_prev;
	if (record->member_prev != TABLE_NONE)
		namespace_at(cluster, record->member_prev)->member_next = record->member_next;
	else
		tenant_at(cluster, tenant)->first_member = record->member_next;
	tenant_at(cluster, tenant)->n_members--;
	record->tenant = record->member_next = record->member_prev = TABLE_NONE;
	record->grant = (struct tenant_grant){0};
	record->decided = false;
}

static void join(struct cluster *cluster, uint32_t namespace, uint32_t tenant)
{
	struct namespace_record *record = namespace_at(cluster, namespace);
	struct tenant_record *to = tenant_at(cluster, tenant);

	record->tenant = tenant;
	record->member_prev = TABLE_NONE;
	record->member_next = to->first_member;
	if (to->first_member != TABLE_NONE)
		namespace_at(cluster, to->first_member)->member_prev = namespace;
	to->first_member = namespace;
	to->n_members++;
	cluster_mark_dirty(cluster, namespace);
	checks_outdate(cluster, namespace);
}

/* --- selections */

static void selection_remove(struct cluster *cluster, uint32_t selection)
{
	struct selection_cell *cell = selection_at(cluster, selection);
	struct tenant_record *tenant = tenant_at(cluster, cell->tenant);

	if (cell->tenant_next != TABLE_NONE)
		selection_at(cluster, cell->tenant_next)->tenant_prev = cell->tenant_prev;
	if (cell->tenant_prev != TABLE_NONE)
		selection_at(cluster, cell->tenant_prev)->tenant_next = cell->tenant_next;
	else
		tenant->first_selection = cell->tenant_next;
	tenant->n_selections--;
	cluster_mark_tenant_dirty(cluster, cell->tenant);
	table_remove(&cluster->selections, selection);
}

static uint32_t selection_add(struct cluster *cluster, uint32_t namespace, uint32_t tenant,
			      uint32_t next)
{
	uint32_t selection = table_add(&cluster->selections);
	struct tenant_record *of = tenant_at(cluster, tenant);

	*selection_at(cluster, selection) = (struct selection_cell){
		.tenant = tenant,
		.namespace = namespace,
		.namespace_next = next,
		.tenant_next = of->first_selection,
		.tenant_prev = TABLE_NONE,
	};
	if (of->first_selection != TABLE_NONE)
		selection_at(cluster, of->first_selection)->tenant_prev = selection;
	of->first_selection = selection;
	of->n_selections++;
	cluster_mark_tenant_dirty(cluster, tenant);
	return selection;
}

static bool selections_are(const struct cluster *cluster, uint32_t selection,
			   const uint32_t *tenants, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (selection == TABLE_NONE ||
		    selection_at(cluster, selection)->tenant != tenants[i])
			return false;
		selection = selection_at(cluster, selection)->namespace_next;
	}
	return selection == TABLE_NONE;
}

static void set_selections(struct cluster *cluster, uint32_t namespace, const uint32_t *tenants,
			   size_t n)
{
	struct namespace_record *record = namespace_at(cluster, namespace);

	if (selections_are(cluster, record->first_selection, tenants, n))
		return;
	while (record->first_selection != TABLE_NONE) {
		uint32_t selection = record->first_selection;

		record->first_selection = selection_at(cluster, selection)->namespace_next;
		selection_remove(cluster, selection);
	}
	while (n-- > 0)
		record->first_selection =
			selection_add(cluster, namespace, tenants[n], record->first_selection);
}

/* --- changes */

/* Whoever selects it too names the one that has it. */
static void tell_selecting(struct cluster *cluster, uint32_t namespace)
{
	uint32_t selection = namespace_at(cluster, namespace)->first_selection;

	for (; selection != TABLE_NONE;
	     selection = selection_at(cluster, selection)->namespace_next)
		cluster_mark_tenant_dirty(cluster, selection_at(cluster, selection)->tenant);
}

static void resolve(struct cluster *cluster, uint32_t namespace)
{
	struct selecting selecting;
	uint32_t tenant;

	find_selecting(cluster, namespace, &selecting);
	tenant = selecting.len > 0 ? selecting.tenants[0] : TABLE_NONE;
	if (namespace_at(cluster, namespace)->tenant != tenant) {
		leave(cluster, namespace);
		if (tenant != TABLE_NONE)
			join(cluster, namespace, tenant);
		tell_selecting(cluster, namespace);
	}
	set_selections(cluster, namespace, selecting.tenants + 1,
		       selecting.len > 0 ? selecting.len - 1 : 0);
}

void membership_resolve(struct cluster *cluster, uint32_t namespace)
{
	if (!cluster->selectors_stale || !namespace_at(cluster, namespace)->exists)
		resolve(cluster, namespace);
}

void membership_refresh(struct cluster *cluster)
{
	if (!cluster->selectors_stale)
		return;
	index_make(cluster);
	cluster->selectors_stale = false;
	for (uint32_t ns = table_next(&cluster->namespaces, 0); ns != TABLE_NONE;
	     ns = table_next(&cluster->namespaces, ns + 1))
		resolve(cluster, ns);
}

/* A selection is in the chain of its namespace too, which starts at the owner's younger ones. */
static void unselect(struct cluster *cluster, uint32_t selection)
{
	uint32_t *at = &namespace_at(cluster, selection_at(cluster, selection)->namespace)
				->first_selection;

	while (*at != selection)
		at = &selection_at(cluster, *at)->namespace_next;
	*at = selection_at(cluster, selection)->namespace_next;
	selection_remove(cluster, selection);
}

void membership_end(struct cluster *cluster, uint32_t tenant)
{
	const struct tenant_record *record = tenant_at(cluster, tenant);

	while (record->first_member != TABLE_NONE)
		leave(cluster, record->first_member);
	while (record->first_selection != TABLE_NONE)
		unselect(cluster, record->first_selection);
}
