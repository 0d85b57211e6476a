/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PodDisruptionBudgets, and which pods each selects. A pod keeps its labels only for the keys that
 * budgets of its namespace ask for; while a key is new, those that were read before it are taken as
 * forbidden, until all pods are read anew. What selects a pod is worked out when it, or a budget,
 * changes: whoever plans asks for many.
 */
#include "cluster/leaving/budgets.h"

#include "base/checked.h"
#include "base/limits.h"
#include "base/mem.h"
#include "cluster/internal.h"
#include "cluster/pack/pack.h"

/* A packed label: the index of its key, the length of its value, the value. */
#define LABEL_HEAD 2
_Static_assert(LIMIT_BUDGET_KEYS <= UINT8_MAX && LIMIT_LABEL_VALUE <= UINT8_MAX,
	       "a label's head is two bytes");

static uint32_t find_in(const struct cluster *cluster, uint32_t namespace, struct str name)
{
	uint32_t interned = intern_find(cluster->intern, name);
	uint32_t budget;

	if (namespace == TABLE_NONE || interned == INTERN_NONE)
		return TABLE_NONE;
	budget = namespace_at(cluster, namespace)->budgets.first;
	while (budget != TABLE_NONE && budget_at(cluster, budget)->name != interned)
		budget = budget_at(cluster, budget)->next;
	return budget;
}

uint32_t budget_find(const struct cluster *cluster, struct str namespace, struct str name)
{
	return find_in(cluster, namespace_find(cluster, namespace), name);
}

/* --- keys */

static size_t key_index(const struct namespace_budgets *budgets, uint32_t key)
{
	size_t i = 0;

	while (i < budgets->n_keys && budgets->keys[i] != key)
		i++;
	return i;
}

/* False: there are too many. */
static bool add_key(struct cluster *cluster, struct namespace_record *record, struct str key)
{
	struct namespace_budgets *budgets = &record->budgets;
	uint32_t interned = intern_ref(cluster->intern, key);
	size_t i = key_index(budgets, interned);

	if (i < budgets->n_keys || i == LIMIT_BUDGET_KEYS) {
		intern_unref(cluster->intern, interned);
		return i < budgets->n_keys;
	}
	budgets->keys = mem_realloc_array(budgets->keys, i + 1, sizeof(*budgets->keys));
	budgets->keys[i] = interned;
	budgets->n_keys++;
	budgets->version = ++cluster->budget_versions;
	cluster->labels_wanted |= record->n_pods > 0;
	return true;
}

static bool add_keys(struct cluster *cluster, uint32_t namespace,
		     const struct label_selector *selector)
{
	for (size_t i = 0; i < selector->n_requirements; i++)
		if (!add_key(cluster, namespace_at(cluster, namespace),
			     selector->requirements[i].key))
			return false;
	return true;
}

void budget_keys_forget(struct cluster *cluster, struct namespace_record *record)
{
	struct namespace_budgets *budgets = &record->budgets;

	for (size_t i = 0; i < budgets->n_keys; i++)
		intern_unref(cluster->intern, budgets->keys[i]);
	mem_free(budgets->keys);
	budgets->keys = NULL;
	budgets->n_keys = 0;
}

/* --- labels */

/* Of a pod's labels those that count, in the order of the keys. False: no room for them. */
static bool pack(const struct cluster *cluster, const struct namespace_budgets *budgets,
		 const struct pod_exit *exit, struct buf *bytes)
{
	for (size_t i = 0; i < budgets->n_keys; i++) {
		struct str key = intern_str(cluster->intern, budgets->keys[i]);

		for (size_t k = 0; k < exit->n_labels; k++) {
			const struct label *label = &exit->labels[k];
			char head[LABEL_HEAD] = {(char)i, (char)label->value.len};

			if (!str_equal(label->key, key))
				continue;
			if (label->value.len > LIMIT_LABEL_VALUE)
				return false;
			buf_add(bytes, head, LABEL_HEAD);
			buf_add_str(bytes, label->value);
			break;
		}
	}
	return bytes->len <= LIMIT_INTERNED_STRING;
}

static size_t unpack(const struct cluster *cluster, const struct namespace_budgets *budgets,
		     struct str bytes, struct label labels[LIMIT_BUDGET_KEYS])
{
	size_t n = 0;

	/* Where the last budget went the keys did, and the labels that were kept for them stay. */
	while (bytes.len >= LABEL_HEAD) {
		size_t key = (unsigned char)bytes.data[0], len = (unsigned char)bytes.data[1];

		if (key >= budgets->n_keys)
			break;
		labels[n].key = intern_str(cluster->intern, budgets->keys[key]);
		labels[n].value = (struct str){bytes.data + LABEL_HEAD, len};
		bytes = str_skip(bytes, LABEL_HEAD + len);
		n++;
	}
	return n;
}

/* --- who selects a pod */

static bool selects(struct cluster *cluster, const struct budget_record *budget,
		    const struct label *labels, size_t n)
{
	struct label_selector selector;

	if (budget->reach != BUDGET_SELECTS_SOME)
		return budget->reach != BUDGET_SELECTS_NONE;
	arena_reset(&cluster->scratch_arena);
	/* What could be packed can be unpacked. */
	if (!unpack_label_selector((struct str){budget->selector, budget->selector_len},
				   &cluster->scratch_arena, &selector))
		return true;
	return label_selector_matches(&selector, labels, n);
}

static bool is_read(const struct namespace_budgets *budgets, const struct exit_record *exit)
{
	return exit->labels_version == budgets->version;
}

/* Sets what the exits of pods have of budgets. */
static void match(struct cluster *cluster, const struct namespace_budgets *budgets,
		  struct exit_record *exit)
{
	struct label labels[LIMIT_BUDGET_KEYS];
	size_t n;

	exit->budget = TABLE_NONE;
	exit->budgets = BUDGET_NONE;
	if (budgets->n == 0)
		return;
	exit->budgets = BUDGET_FORBIDS;
	if (!is_read(budgets, exit) || budgets->n > LIMIT_BUDGETS_PER_NAMESPACE)
		return;
	exit->budgets = BUDGET_NONE;
	n = unpack(cluster, budgets, intern_str(cluster->intern, exit->labels), labels);
	for (uint32_t budget = budgets->first; budget != TABLE_NONE;
	     budget = budget_at(cluster, budget)->next) {
		if (!selects(cluster, budget_at(cluster, budget), labels, n))
			continue;
		if (exit->budget != TABLE_NONE) {
			exit->budgets = BUDGET_SEVERAL;
			return;
		}
		exit->budget = budget;
		exit->budgets = BUDGET_ALLOWS;
	}
}

/* All pods of the namespace. Most have the labels of others. */
static void match_all(struct cluster *cluster, uint32_t namespace)
{
	const struct namespace_record *record = namespace_at(cluster, namespace);
	const struct exit_record *last = NULL;

	for (uint32_t pod = record->first_pod; pod != TABLE_NONE;
	     pod = pod_at(cluster, pod)->namespace_next) {
		struct exit_record *exit = exit_of(cluster, pod);

		if (last && last->labels == exit->labels &&
		    last->labels_version == exit->labels_version) {
			exit->budget = last->budget;
			exit->budgets = last->budgets;
		} else {
			match(cluster, &record->budgets, exit);
		}
		last = exit;
	}
}

void budget_follow(struct cluster *cluster, uint32_t pod, const struct pod_facts *facts)
{
	const struct namespace_budgets *budgets =
		&namespace_at(cluster, pod_at(cluster, pod)->namespace)->budgets;
	struct exit_record *exit = exit_of(cluster, pod);
	uint32_t before = exit->labels;
	bool read;

	buf_reset(&cluster->scratch);
	read = !facts->unreadable && pack(cluster, budgets, &facts->exit, &cluster->scratch);
	exit->labels =
		read ? intern_ref(cluster->intern, buf_str(&cluster->scratch)) : INTERN_EMPTY;
	exit->labels_version = read ? budgets->version : LABELS_UNREAD;
	intern_unref(cluster->intern, before);
	match(cluster, budgets, exit);
}

void budget_forget(struct cluster *cluster, struct exit_record *exit)
{
	intern_unref(cluster->intern, exit->labels);
	exit->labels = INTERN_EMPTY;
}

/* --- coming and going */

static uint32_t budget_add(struct cluster *cluster, uint32_t namespace, struct str name)
{
	struct namespace_budgets *budgets = &namespace_at(cluster, namespace)->budgets;
	uint32_t budget = table_add(&cluster->budgets);
	struct budget_record *record = budget_at(cluster, budget);

	record->namespace = namespace;
	record->name = intern_ref(cluster->intern, name);
	record->next = budgets->first;
	budgets->first = budget;
	budgets->n++;
	return budget;
}

static void set_selector(struct cluster *cluster, struct budget_record *record, struct str packed)
{
	cluster->packed_bytes[CLUSTER_BUDGETS] += packed.len - record->selector_len;
	mem_free(record->selector);
	record->selector = packed.len > 0 ? pack_copy(packed) : NULL;
	record->selector_len = packed.len;
}

void budget_remove(struct cluster *cluster, uint32_t budget)
{
	struct budget_record *record = budget_at(cluster, budget);
	uint32_t namespace = record->namespace;
	struct namespace_record *in = namespace_at(cluster, namespace);
	uint32_t *link = &in->budgets.first;

	while (*link != budget)
		link = &budget_at(cluster, *link)->next;
	*link = record->next;
	in->budgets.n--;
	set_selector(cluster, record, STR_NONE);
	intern_unref(cluster->intern, record->name);
	table_remove(&cluster->budgets, budget);
	if (in->budgets.n == 0)
		budget_keys_forget(cluster, in);
	match_all(cluster, namespace);
	namespace_release(cluster, namespace);
}

/* Whom it selects; true where that changed. What was packed into scratch is its selector. */
static bool set_reach(struct cluster *cluster, uint32_t budget, const struct budget_facts *facts)
{
	struct budget_record *record = budget_at(cluster, budget);
	struct str packed = buf_str(&cluster->scratch);
	struct str before = {record->selector, record->selector_len};
	uint8_t reach = (uint8_t)facts->reach;

	if (reach == BUDGET_SELECTS_SOME && !add_keys(cluster, record->namespace, &facts->selector))
		reach = BUDGET_REACH_UNKNOWN;
	if (record->known && record->reach == reach && str_equal(before, packed))
		return false;
	record->known = true;
	record->reach = reach;
	set_selector(cluster, record, packed);
	return true;
}

static int check(struct cluster *cluster, const struct budget_facts *facts, struct error *err)
{
	if (check_names(facts->namespace, facts->name, err) < 0)
		return -1;
	buf_reset(&cluster->scratch);
	if (facts->reach == BUDGET_SELECTS_SOME)
		pack_label_selector(&facts->selector, &cluster->scratch);
	if (cluster->scratch.overflowed)
		return error_set(err, ERROR_LIMIT, "it is larger than %d bytes", LIMIT_PACKED);
	return 0;
}

static int apply(struct cluster *cluster, const struct budget_facts *facts, struct error *err)
{
	struct uid uid = uid_from(&cluster->key, facts->uid);
	struct budget_record *record;
	uint32_t namespace, budget;

	if (check(cluster, facts, err) < 0)
		return -1;
	namespace = namespace_get(cluster, facts->namespace);
	budget = find_in(cluster, namespace, facts->name);
	if (budget == TABLE_NONE)
		budget = budget_add(cluster, namespace, facts->name);
	record = budget_at(cluster, budget);
	record->epoch = cluster->epochs[CLUSTER_BUDGETS];
	if (record->known && is_older(facts->resource_version, record->resource_version) &&
	    uid_equal(record->uid, uid))
		return 0;
	record->uid = uid;
	record->resource_version = facts->resource_version;
	record->allowed = facts->settled ? facts->allowed : 0;
	if (set_reach(cluster, budget, facts))
		match_all(cluster, namespace);
	return 0;
}

int cluster_apply_budget(struct cluster *cluster, const struct budget_facts *facts,
			 struct error *err)
{
	if (apply(cluster, facts, err) < 0)
		return refuse(cluster, CLUSTER_BUDGETS, facts->namespace, facts->name, err);
	return 0;
}

/* --- reading the pods anew */

bool cluster_labels_wanted(const struct cluster *cluster)
{
	return cluster->labels_wanted;
}

void budgets_begin_reading(struct cluster *cluster)
{
	cluster->labels_reading = cluster->labels_wanted;
	cluster->labels_wanted = false;
}

void budgets_abort_reading(struct cluster *cluster)
{
	cluster->labels_wanted |= cluster->labels_reading;
}

/* --- what they allow */

/* Evictions that were asked for and not seen yet: its status may be from before them. */
static int64_t issued(const struct cluster *cluster, uint32_t budget)
{
	int64_t n = 0;

	for (uint32_t h = table_next(&cluster->evictions, 0); h != TABLE_NONE;
	     h = table_next(&cluster->evictions, h + 1)) {
		const struct eviction_record *eviction = eviction_at(cluster, h);

		n += eviction->outcome == EVICTION_ISSUED && eviction->pod != TABLE_NONE &&
		     exit_of(cluster, eviction->pod)->budget == budget;
	}
	return n;
}

int64_t cluster_budget_left(const struct cluster *cluster, uint32_t budget)
{
	int64_t left;

	if (!table_has(&cluster->budgets, budget) ||
	    budget_at(cluster, budget)->reach == BUDGET_REACH_UNKNOWN)
		return 0;
	left = budget_at(cluster, budget)->allowed - issued(cluster, budget);
	return MAX(left, (int64_t)0);
}

struct str cluster_budget_name(const struct cluster *cluster, uint32_t budget)
{
	return intern_str(cluster->intern, budget_at(cluster, budget)->name);
}
