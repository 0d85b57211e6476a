/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of the world as the cache takes them: names, uids, and facts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/world_api.h"
#include "lib/world_gates.h"
#include "lib/world_shell.h"

/* --- names */

/* Numbers go up to 99. */
enum { NUMBERED = 64 };

static struct str numbered(char texts[NUMBERED][16], const char *prefix, int number)
{
	assert_true(number >= 0 && number < NUMBERED);
	if (texts[number][0] == '\0')
		snprintf(texts[number], sizeof(texts[number]), "%s%d", prefix, number);
	return str_from(texts[number]);
}

static char spaces[NUMBERED][16], tenants[NUMBERED][16], quotas[NUMBERED][16];
static char pods[NUMBERED][16], nodes[NUMBERED][16], claims[NUMBERED][16], slices[NUMBERED][16];
static char jobs[NUMBERED][16], teams[NUMBERED][16];

struct str world_space_name(int space)
{
	return numbered(spaces, "ns", space);
}

struct str world_tenant_name(int tenant)
{
	return numbered(tenants, "tenant", tenant);
}

struct str world_quota_name(int quota)
{
	return numbered(quotas, "quota", quota);
}

struct str world_pod_name(int pod)
{
	return numbered(pods, "pod", pod);
}

struct str world_node_name(int node)
{
	return numbered(nodes, "node", node);
}

struct str world_claim_name(int claim)
{
	return numbered(claims, "claim", claim);
}

int world_number(struct str name)
{
	size_t at = name.len;
	int number = 0;

	while (at > 0 && name.data[at - 1] >= '0' && name.data[at - 1] <= '9')
		at--;
	for (; at < name.len; at++)
		number = 10 * number + (name.data[at] - '0');
	return number;
}

struct str world_canon(struct str text)
{
	int resource;

	if (str_empty(text))
		return STR_NONE;
	resource = world_resource_of(text);
	if (resource != WORLD_NONE)
		return world_resource_names[resource];
	for (int p = 0; p < WORLD_PRODUCTS; p++)
		if (str_equal(text, world_product_names[p]))
			return world_product_names[p];
	for (int c = 0; c < WORLD_CLASSES; c++)
		if (str_equal(text, str_from(world_classes[c].name)))
			return str_from(world_classes[c].name);
	if (str_starts_with(text, STR("tenant")))
		return world_tenant_name(world_number(text));
	if (str_starts_with(text, STR("pod")))
		return world_pod_name(world_number(text));
	if (str_starts_with(text, STR("ns")))
		return world_space_name(world_number(text));
	if (str_starts_with(text, STR("job")))
		return numbered(jobs, "job", world_number(text));
	if (str_starts_with(text, STR("claim")))
		return world_claim_name(world_number(text));
	if (str_equal(text, STR("Job")))
		return STR("Job");
	if (str_equal(text, STR("ResourceClaim")))
		return STR("ResourceClaim");
	if (str_equal(text, STR("Pod")))
		return STR("Pod");
	fail_msg("nobody has the name %.*s", STR_ARGS(text));
	return STR_NONE;
}

struct world_uid world_uid_text(uint64_t uid)
{
	struct world_uid text;

	snprintf(text.text, sizeof(text.text), "00000000-0000-0000-0000-%012llx",
		 (unsigned long long)uid);
	return text;
}

uint64_t world_uid_number(struct str text)
{
	uint64_t number = 0;

	assert_int_equal(text.len, 36);
	for (size_t i = 24; i < text.len; i++) {
		char c = text.data[i];

		number = number << 4 | (uint64_t)(c >= 'a' ? c - 'a' + 10 : c - '0');
	}
	return number;
}

/* --- statuses */

void world_status_fix(struct world_status *status)
{
	status->s.rows = status->rows;
	status->s.classes.list = status->classes;
	status->s.dry_run.rows = status->dry_rows;
}

void world_status_set(struct world_status *to, const struct quota_status *from)
{
	assert_true(from->n_rows <= WORLD_ROWS && from->dry_run.n_rows <= WORLD_DRY_ROWS &&
		    from->classes.n <= WORLD_CLASSES);
	to->exists = true;
	to->s = *from;
	to->s.tenant = world_canon(from->tenant);
	for (size_t i = 0; i < from->n_rows; i++) {
		to->rows[i] = from->rows[i];
		to->rows[i].resource = world_canon(from->rows[i].resource);
		to->rows[i].product = world_canon(from->rows[i].product);
	}
	for (size_t i = 0; i < from->classes.n; i++)
		to->classes[i] = (struct quota_class){
			world_canon(from->classes.list[i].name),
			world_canon(from->classes.list[i].resource),
		};
	for (size_t i = 0; i < from->dry_run.n_rows; i++) {
		to->dry_rows[i] = from->dry_run.rows[i];
		to->dry_rows[i].kind = world_canon(from->dry_run.rows[i].kind);
		to->dry_rows[i].name = world_canon(from->dry_run.rows[i].name);
	}
	world_status_fix(to);
}

/* --- facts */

static void tell_node(struct world *w, int i)
{
	const struct world_node *node = &w->seen.nodes[i];
	const struct world_profile *profile = &world_profiles[node->profile];
	struct world_uid uid = world_uid_text(node->meta.uid);
	struct device_offer offers[WORLD_OFFERS];
	struct node_facts facts = {
		.name = world_node_name(i),
		.uid = str_from(uid.text),
		.resource_version = node->meta.version,
		.ready = node->ready,
		.offers = offers,
		.n_offers = (size_t)profile->n_offers,
		.reconfiguring = node->reconfiguring,
	};

	for (int k = 0; k < profile->n_offers; k++) {
		const struct world_offer *offer = &profile->offers[k];

		offers[k] = (struct device_offer){
			.resource = world_resource_names[offer->resource],
			.product = world_product_names[offer->product],
			.unit_memory = offer->unit,
			.count = 8,
			.sharing = offer->sharing,
			.min_memory = offer->min,
			.source = offer->source,
			.other = offer->source,
		};
	}
	assert_int_equal(cluster_apply_node(w->shell->cluster, &facts, NULL), 0);
}

static void tell_slice(struct world *w, int i)
{
	static const char *const names[WORLD_DEVICES] = {"a", "b", "c"};
	const struct world_slice *slice = &w->seen.slices[i];
	const struct world_profile *profile = &world_profiles[slice->profile];
	struct world_uid uid = world_uid_text(slice->meta.uid);
	struct slice_device devices[WORLD_DEVICES];
	struct slice_facts facts = {
		.name = numbered(slices, "slice", i),
		.uid = str_from(uid.text),
		.resource_version = slice->meta.version,
		.driver = str_from(world_classes[profile->devices[0].class].driver),
		.pool = world_node_name(i),
		.generation = 1,
		.slice_count = 1,
		.node = world_node_name(i),
		.devices = devices,
		.n_devices = (size_t)profile->n_devices,
	};

	for (int k = 0; k < profile->n_devices; k++)
		devices[k] = (struct slice_device){
			.name = str_from(names[k]),
			.type = str_from(world_classes[profile->devices[k].class].type),
			.product = world_product_names[profile->devices[k].product],
			.node = world_node_name(i),
			.memory = profile->devices[k].memory,
		};
	assert_int_equal(cluster_apply_slice(w->shell->cluster, &facts, NULL), 0);
}

static void tell_class(struct world *w, int i)
{
	const struct world_class *class = &w->seen.classes[i];
	const struct world_class_text *text = &world_classes[i];
	struct world_uid uid = world_uid_text(class->meta.uid);
	struct class_facts facts = {
		.name = str_from(text->name),
		.uid = str_from(uid.text),
		.resource_version = class->meta.version,
		.created_us = class->meta.created_us,
		.extended_resource = text->extended ? str_from(text->extended) : STR_NONE,
		.driver = str_from(text->driver),
		.type_domain = str_from(text->driver),
		.type = str_from(text->type),
	};

	assert_int_equal(cluster_apply_class(w->shell->cluster, &facts, NULL), 0);
}

static void tell_space(struct world *w, int i)
{
	const struct world_space *space = &w->seen.spaces[i];
	struct world_uid uid = world_uid_text(space->meta.uid);
	struct label label = {STR("team"), STR_NONE};
	struct namespace_facts facts = {
		.name = world_space_name(i),
		.uid = str_from(uid.text),
		.resource_version = space->meta.version,
		.managed = space->managed,
		.quotaless = space->quotaless,
		.terminating = space->meta.terminating,
		.tenant = space->tenant_label == WORLD_NONE
				  ? STR_NONE
				  : world_tenant_name(space->tenant_label),
		.labels = &label,
		.n_labels = space->team == WORLD_NONE ? 0 : 1,
	};

	if (space->team != WORLD_NONE)
		label.value = numbered(teams, "team", space->team);
	assert_int_equal(cluster_apply_namespace(w->shell->cluster, &facts, NULL), 0);
}

static void tell_tenant(struct world *w, int i)
{
	const struct world_tenant *tenant = &w->seen.tenants[i];
	struct world_uid uid = world_uid_text(tenant->meta.uid);
	struct str values[WORLD_TEAMS];
	struct label_requirement requirement = {STR("team"), LABEL_IN, values, 0};
	struct tenant_facts facts = {
		.name = world_tenant_name(i),
		.uid = str_from(uid.text),
		.resource_version = tenant->meta.version,
		.created_us = tenant->meta.created_us,
		.generation = tenant->generation,
		.terminating = tenant->meta.terminating,
		.spec = {.namespaces = {&requirement, 1},
			 .tier = TIER_TRAINING,
			 .ceiling = tenant->ceiling,
			 .ceiling_gpus = tenant->ceiling_gpus},
		.has_status = tenant->has_status,
		.status = tenant->status,
	};

	facts.status.namespaces = tenant->names;
	for (int team = 0; team < WORLD_TEAMS; team++)
		if (tenant->teams & 1u << team)
			values[requirement.n_values++] = numbered(teams, "team", team);
	assert_int_equal(cluster_apply_tenant(w->shell->cluster, &facts, NULL), 0);
}

static void tell_quota(struct world *w, int i)
{
	struct world_quota *quota = &w->seen.quotas[i];
	struct world_uid uid = world_uid_text(quota->meta.uid);
	struct resource_amount cap = {world_resource_names[WORLD_GPU], quota->card_cap};
	struct quota_facts facts = {
		.namespace = world_space_name(i / WORLD_QUOTAS),
		.name = world_quota_name(i),
		.uid = str_from(uid.text),
		.resource_version = quota->meta.version,
		.created_us = quota->meta.created_us,
		.generation = quota->generation,
		.terminating = quota->meta.terminating,
		.spec = quota->spec,
		.invalid = quota->invalid ? "gpuMemory is no quantity" : NULL,
		.has_status = quota->status.exists,
	};

	facts.spec.caps = &cap;
	facts.spec.n_caps = quota->card_cap == AMOUNT_NONE ? 0 : 1;
	facts.spec.products = &quota->cap;
	facts.spec.n_products = str_empty(quota->cap.product) ? 0 : 1;
	world_status_fix(&quota->status);
	facts.status = quota->status.s;
	assert_int_equal(cluster_apply_quota(w->shell->cluster, &facts, NULL), 0);
}

static size_t amounts_of(const int64_t counts[WORLD_RESOURCES],
			 struct resource_amount ret_amounts[WORLD_RESOURCES])
{
	size_t n = 0;

	for (int r = 0; r < WORLD_RESOURCES; r++)
		if (counts[r] >= 0)
			ret_amounts[n++] =
				(struct resource_amount){world_resource_names[r], counts[r]};
	return n;
}

static void tell_rq(struct world *w, int i)
{
	const struct world_rq *rq = &w->seen.rqs[i];
	struct world_uid uid = world_uid_text(rq->meta.uid), owner = world_uid_text(rq->owner);
	struct resource_amount hard[WORLD_RESOURCES], status_hard[WORLD_RESOURCES];
	struct resource_quota_facts facts = {
		.namespace = world_space_name(i),
		.name = STR(OWNED_OBJECT_NAME),
		.uid = str_from(uid.text),
		.resource_version = rq->meta.version,
		.owner_uid = str_from(owner.text),
		.hard = hard,
		.n_hard = amounts_of(rq->hard, hard),
		.status_hard = status_hard,
		.n_status_hard = amounts_of(rq->status_hard, status_hard),
		.other_keys = rq->other_keys,
		.foreign_manager = rq->foreign ? STR("kubectl-edit") : STR_NONE,
	};

	assert_int_equal(cluster_apply_resource_quota(w->shell->cluster, &facts, w->now_us, NULL),
			 0);
}

static struct device_ask ask_of(const struct world_ask *ask)
{
	return (struct device_ask){world_resource_names[ask->resource], ask->count,
				   ask->device == WORLD_NONE ? STR_NONE
							     : world_resource_names[ask->device],
				   ask->devices, 0};
}

static void tell_pod(struct world *w, int i)
{
	const struct world_pod *pod = &w->seen.pods[i];
	const struct world_shape *shape = &world_shapes[pod->shape];
	struct world_uid uid = world_uid_text(pod->meta.uid);
	struct device_ask asks[WORLD_CONTAINERS][2], own;
	struct container_facts containers[WORLD_CONTAINERS];
	struct pod_facts facts = {
		.namespace = world_space_name(i / WORLD_PODS),
		.name = world_pod_name(i),
		.uid = str_from(uid.text),
		.resource_version = pod->meta.version,
		.node = pod->node == WORLD_NONE ? STR_NONE : world_node_name(pod->node),
		.product = world_product_names[pod->product],
		.phase = pod->phase,
		.terminating = pod->meta.terminating,
		.created_us = pod->meta.created_us,
		.extended_claim =
			pod->claim == WORLD_NONE ? STR_NONE : world_claim_name(pod->claim),
		.deletion_us = pod->deletion_us,
		.containers = containers,
		.n_containers = (size_t)shape->n_containers,
		.own = &own,
		.n_own = (size_t)shape->n_own,
	};

	if (pod->owner != WORLD_NONE) {
		facts.owner_kind = STR("Job");
		facts.owner_name = numbered(jobs, "job", pod->owner);
	}
	for (int c = 0; c < shape->n_containers; c++) {
		for (int k = 0; k < shape->containers[c].n; k++)
			asks[c][k] = ask_of(&shape->containers[c].asks[k]);
		containers[c] = (struct container_facts){shape->containers[c].kind, asks[c],
							 (size_t)shape->containers[c].n};
	}
	if (shape->n_own > 0)
		own = ask_of(&shape->own[0]);
	assert_int_equal(cluster_apply_pod(w->shell->cluster, &facts, NULL), 0);
}

static void tell_claim(struct world *w, int i)
{
	static const char *const names[] = {"a", "b", "c"};
	const struct world_claim *claim = &w->seen.claims[i];
	struct world_uid uid = world_uid_text(claim->meta.uid);
	struct world_uid owner = world_uid_text(claim->pod_uid);
	struct claim_choice choices[2] = {
		{str_from(world_classes[claim->class].name), claim->count}, {STR_NONE, 1}};
	struct claim_request request = {choices, claim->other_class == WORLD_NONE ? 1 : 2, false};
	struct claim_device devices[2];
	struct claim_facts facts = {
		.namespace = world_space_name(i / WORLD_CLAIMS),
		.name = world_claim_name(i),
		.uid = str_from(uid.text),
		.resource_version = claim->meta.version,
		.created_us = claim->meta.created_us,
		.terminating = claim->meta.terminating,
		.says_extended = claim->of_scheduler,
		.requests = &request,
		.n_requests = 1,
		.allocated = claim->allocated,
		.devices = devices,
	};

	if (claim->pod != WORLD_NONE) {
		facts.owner_kind = STR("Pod");
		facts.owner_name = world_pod_name(claim->pod);
		facts.owner_uid = str_from(owner.text);
	}
	if (claim->other_class != WORLD_NONE)
		choices[1].class = str_from(world_classes[claim->other_class].name);
	for (int k = 0; claim->allocated && k < world_claim_devices(claim); k++)
		devices[facts.n_devices++] = (struct claim_device){
			.driver = str_from(world_classes[claim->given].driver),
			.pool = world_node_name(claim->pool),
			.device = str_from(names[world_claim_device(claim, k)]),
			.class = str_from(world_classes[claim->given].name),
			.consumed_memory = AMOUNT_NONE,
		};
	assert_int_equal(cluster_apply_claim(w->shell->cluster, &facts, NULL), 0);
}

/* --- one of them */

static void tell_deleted(struct world *w, enum cluster_kind kind, int i)
{
	const struct {
		struct str namespace, name;
	} names[CLUSTER_KIND_COUNT] = {
		[CLUSTER_NODES] = {STR_NONE, world_node_name(i)},
		[CLUSTER_SLICES] = {STR_NONE, numbered(slices, "slice", i)},
		[CLUSTER_CLASSES] = {STR_NONE, str_from(world_classes[i % WORLD_CLASSES].name)},
		[CLUSTER_NAMESPACES] = {STR_NONE, world_space_name(i)},
		[CLUSTER_TENANTS] = {STR_NONE, world_tenant_name(i)},
		[CLUSTER_QUOTAS] = {world_space_name(i / WORLD_QUOTAS), world_quota_name(i)},
		[CLUSTER_RESOURCE_QUOTAS] = {world_space_name(i), STR(OWNED_OBJECT_NAME)},
		[CLUSTER_PODS] = {world_space_name(i / WORLD_PODS), world_pod_name(i)},
		[CLUSTER_CLAIMS] = {world_space_name(i / WORLD_CLAIMS), world_claim_name(i)},
	};

	cluster_delete(w->shell->cluster, kind, names[kind].namespace, names[kind].name);
}

void world_tell(struct world *w, enum cluster_kind kind, int index)
{
	static void (*const tellers[CLUSTER_KIND_COUNT])(struct world *, int) = {
		[CLUSTER_NODES] = tell_node,         [CLUSTER_SLICES] = tell_slice,
		[CLUSTER_CLASSES] = tell_class,      [CLUSTER_NAMESPACES] = tell_space,
		[CLUSTER_TENANTS] = tell_tenant,     [CLUSTER_QUOTAS] = tell_quota,
		[CLUSTER_RESOURCE_QUOTAS] = tell_rq, [CLUSTER_PODS] = tell_pod,
		[CLUSTER_CLAIMS] = tell_claim,
	};

	if (world_object_of(&w->seen, kind, index)->exists)
		tellers[kind](w, index);
	else
		tell_deleted(w, kind, index);
}
