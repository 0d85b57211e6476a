/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GpuMemoryQuota's spec. The CRD refuses most of what is refused here, with the same words; but
 * objects outlive the rules they were checked by, so nothing is taken on trust. The first problem
 * found is the one that is told.
 */
#include "api/pack.h"

#include <stdlib.h>

#include "api/pack_common.h"
#include "api/pack_quota.h"
#include "api/pack_spec.h"
#include "base/clock.h"
#include "base/macros.h"
#include "model/resource.h"

struct spec_pack {
	struct spec_check check;
	const struct wire_quota_spec *wire;
	struct quota_spec spec;
};

/* --- memory and cards */

static int check_gpu_memory(struct spec_pack *p)
{
	if (!wire_has(p->wire, WIRE_QUOTA_GPU_MEMORY))
		return spec_complain(&p->check,
				     "spec.gpuMemory is missing; say how much GPU memory the "
				     "namespace may hold, such as 320Gi");
	return spec_large_memory(&p->check, "gpuMemory", p->wire->gpu_memory, &p->spec.gpu_memory);
}

static int check_gpus(struct spec_pack *p)
{
	static const struct spec_range range = {"gpus", INT64_MAX};

	p->spec.gpus = wire_has(p->wire, WIRE_QUOTA_GPUS) ? p->wire->gpus : AMOUNT_NONE;
	return spec_number(&p->check, &range, p->wire->gpus);
}

static int check_per_pod(struct spec_pack *p)
{
	static const struct spec_range range = {"perPod.gpus", INT64_MAX};
	const struct wire_quota_per_pod *wire = &p->wire->per_pod;

	p->spec.pod_gpus = wire_has(wire, WIRE_PER_POD_GPUS) ? wire->gpus : AMOUNT_NONE;
	p->spec.pod_gpu_memory = AMOUNT_NONE;
	if (spec_number(&p->check, &range, wire->gpus) < 0)
		return -1;
	if (p->check.invalid || !wire_has(wire, WIRE_PER_POD_GPU_MEMORY))
		return 0;
	if (spec_memory(&p->check, "perPod.gpuMemory", wire->gpu_memory, &p->spec.pod_gpu_memory) <
	    0)
		return -1;
	if (p->check.invalid || p->spec.pod_gpu_memory <= p->spec.gpu_memory)
		return 0;
	return spec_complain(
		&p->check, "spec.perPod.gpuMemory %.*s is more than spec.gpuMemory %.*s",
		STR_ARGS(spec_shown(wire->gpu_memory)), STR_ARGS(spec_shown(p->wire->gpu_memory)));
}

/* --- amounts by resource */

static int check_amount(struct spec_pack *p, const char *field, const struct wire_pair *pair,
			int64_t *ret_count)
{
	struct str name = spec_shown(pair->key);

	if (!resource_is_extended(pair->key))
		return spec_complain(&p->check,
				     "spec.%s: %.*s is no extended resource; those are written "
				     "domain/name, such as nvidia.com/gpu",
				     field, STR_ARGS(name));
	if (!str_to_int64(pair->value, 0, INT64_MAX, ret_count))
		return spec_complain(
			&p->check, "spec.%s: %.*s must be a whole number, 0 or more, not \"%.*s\"",
			field, STR_ARGS(name), STR_ARGS(spec_shown(pair->value)));
	return 0;
}

static int read_amounts(struct spec_pack *p, const char *field, const struct wire_list *pairs,
			struct pack_amounts *ret_amounts)
{
	if (pairs->len > LIMIT_RESOURCE_NAMES)
		return spec_complain(&p->check, "spec.%s names more than %d resources", field,
				     LIMIT_RESOURCE_NAMES);
	if (pack_amounts_init(ret_amounts, pairs->len, &p->check.pack) < 0)
		return -1;
	wire_for_each(const struct wire_pair, pair, *pairs) {
		int64_t count = 0;

		if (check_amount(p, field, pair, &count) < 0)
			return -1;
		if (p->check.invalid)
			return 0;
		pack_amounts_set(ret_amounts, pair->key, count);
	}
	return 0;
}

/* A cap that nothing can enforce would be a false promise. */
static int check_caps(struct spec_pack *p)
{
	struct pack_amounts caps = {0};
	size_t i;

	if (read_amounts(p, "resources", &p->wire->resources, &caps) < 0)
		return -1;
	p->spec.caps = caps.rows;
	p->spec.n_caps = caps.len;
	for (i = 0; !p->check.invalid && i < caps.len; i++)
		if (!resource_is_gpu(caps.rows[i].resource))
			return spec_complain(
				&p->check, "spec.resources: %.*s is no GPU resource that is known",
				STR_ARGS(spec_shown(caps.rows[i].resource)));
	return 0;
}

static int check_defaults(struct spec_pack *p)
{
	struct pack_amounts defaults = {0};

	if (read_amounts(p, "containerDefaults", &p->wire->container_defaults, &defaults) < 0)
		return -1;
	p->spec.defaults = defaults.rows;
	p->spec.n_defaults = defaults.len;
	return 0;
}

/* --- products */

static int check_product(struct spec_pack *p, const struct wire_quota_product *wire,
			 struct product_cap *cap)
{
	static const struct spec_range range = {"products[].gpus", INT64_MAX};

	*cap = (struct product_cap){wire->product, AMOUNT_NONE, AMOUNT_NONE};
	if (str_empty(wire->product) || wire->product.len > LIMIT_NAME)
		return spec_complain(&p->check,
				     "spec.products[] has a product that no card can have; "
				     "write it as nodes are labelled, such as NVIDIA-H200");
	if (!wire_has(wire, WIRE_PRODUCT_GPU_MEMORY) && !wire_has(wire, WIRE_PRODUCT_GPUS))
		return spec_complain(&p->check,
				     "spec.products[]: %.*s has neither gpuMemory nor gpus",
				     STR_ARGS(spec_shown(wire->product)));
	if (wire_has(wire, WIRE_PRODUCT_GPUS))
		cap->gpus = wire->gpus;
	if (spec_number(&p->check, &range, wire->gpus) < 0)
		return -1;
	if (p->check.invalid || !wire_has(wire, WIRE_PRODUCT_GPU_MEMORY))
		return 0;
	return spec_large_memory_or_none(&p->check, "products[].gpuMemory", wire->gpu_memory,
					 &cap->gpu_memory);
}

static int by_product(const void *a, const void *b)
{
	return str_compare(((const struct product_cap *)a)->product,
			   ((const struct product_cap *)b)->product);
}

static int check_products(struct spec_pack *p)
{
	const struct wire_list *list = &p->wire->products;
	struct product_cap *caps;
	size_t i, n = 0;

	if (list->len > LIMIT_PRODUCTS)
		return spec_complain(&p->check, "spec.products names more than %d products",
				     LIMIT_PRODUCTS);
	if (list->len == 0)
		return 0;
	caps = arena_alloc(p->check.pack.arena, list->len * sizeof(*caps));
	if (!caps)
		return pack_no_memory(&p->check.pack);
	wire_for_each(const struct wire_quota_product, product, *list) {
		if (check_product(p, product, &caps[n++]) < 0 || p->check.invalid)
			return p->check.invalid ? 0 : -1;
	}
	qsort(caps, n, sizeof(*caps), by_product);
	for (i = 1; i < n; i++)
		if (str_equal(caps[i - 1].product, caps[i].product))
			return spec_complain(&p->check, "spec.products names %.*s twice",
					     STR_ARGS(spec_shown(caps[i].product)));
	p->spec.products = caps;
	p->spec.n_products = n;
	return 0;
}

/* --- borrowing, cuts, release */

static int check_borrow_limit(struct spec_pack *p)
{
	if (!wire_has(p->wire, WIRE_QUOTA_BORROW))
		return 0;
	return spec_large_memory_or_none(&p->check, "borrowLimit", p->wire->borrow_limit,
					 &p->spec.borrow_limit);
}

static int check_seconds(struct spec_pack *p, const struct spec_range *range, int64_t seconds,
			 int64_t *ret_us)
{
	if (spec_number(&p->check, range, seconds) < 0)
		return -1;
	if (!p->check.invalid)
		*ret_us = seconds * USEC_PER_SEC;
	return 0;
}

static int check_shrink(struct spec_pack *p)
{
	static const char *const choices[] = {
#define X(name, text) [SHRINK_##name] = text,
		SHRINK_POLICIES(X)
#undef X
			NULL,
	};
	static const struct spec_range range = {"shrinkDeadlineSeconds", SHRINK_DEADLINE_MOST_S};
	size_t choice = SHRINK_FREEZE;

	if (spec_choice(&p->check, "onShrink", p->wire->on_shrink, choices, &choice) < 0)
		return -1;
	p->spec.on_shrink = (enum shrink_policy)choice;
	if (p->check.invalid)
		return 0;
	return check_seconds(p, &range,
			     wire_has(p->wire, WIRE_QUOTA_DEADLINE) ? p->wire->shrink_deadline_s
								    : SHRINK_DEADLINE_S,
			     &p->spec.shrink_deadline_us);
}

static int check_release(struct spec_pack *p)
{
	static const char *const choices[] = {"Deletion", "Terminal", NULL};
	static const struct spec_range range = {"terminalTimeoutSeconds", TERMINAL_TIMEOUT_MOST_S};
	size_t choice = 0;

	if (spec_choice(&p->check, "releaseOn", p->wire->release_on, choices, &choice) < 0)
		return -1;
	p->spec.release_terminal = choice == 1;
	if (p->check.invalid)
		return 0;
	return check_seconds(p, &range,
			     wire_has(p->wire, WIRE_QUOTA_TIMEOUT) ? p->wire->terminal_timeout_s
								   : TERMINAL_TIMEOUT_S,
			     &p->spec.terminal_timeout_us);
}

static int check_enforcement(struct spec_pack *p)
{
	static const char *const choices[] = {"Enforce", "DryRun", NULL};
	size_t choice = 0;

	if (spec_choice(&p->check, "enforcement", p->wire->enforcement, choices, &choice) < 0)
		return -1;
	p->spec.dry_run = choice == 1;
	return 0;
}

static int pack_spec(struct spec_pack *p)
{
	static int (*const checks[])(struct spec_pack *) = {
		check_gpu_memory, check_gpus,        check_per_pod,      check_caps,
		check_defaults,   check_products,    check_borrow_limit, check_shrink,
		check_release,    check_enforcement,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(checks) && !p->check.invalid; i++)
		if (checks[i](p) < 0)
			return -1;
	return 0;
}

static struct quota_facts identity_of(const struct wire_meta *meta)
{
	return (struct quota_facts){
		.namespace = meta->namespace,
		.name = meta->name,
		.uid = meta->uid,
		.resource_version = api_version_number(meta->resource_version),
		.created_us = meta->creation_us,
		.generation = meta->generation,
		.terminating = wire_has(meta, WIRE_META_DELETION),
	};
}

int api_pack_quota(const struct wire_gpu_memory_quota *wire, struct arena *arena,
		   struct quota_facts *ret_facts, struct error *err)
{
	const struct wire_meta *meta = &wire->meta;
	struct spec_pack p = {.wire = &wire->spec, .check.pack = {arena, err}};
	struct quota_facts facts = identity_of(meta);

	if (pack_check_meta(meta, err) < 0 || pack_spec(&p) < 0 ||
	    pack_quota_status(wire, &p.check.pack, &facts) < 0)
		return pack_locate(err, "GpuMemoryQuota", meta);
	facts.spec = p.spec;
	facts.invalid = p.check.invalid;
	*ret_facts = facts;
	return 0;
}

int api_pack_quota_outline(const struct wire_object *wire, const char *invalid,
			   struct quota_facts *ret_facts, struct error *err)
{
	struct quota_facts facts = identity_of(&wire->meta);

	if (pack_check_meta(&wire->meta, err) < 0)
		return pack_locate(err, "GpuMemoryQuota", &wire->meta);
	facts.invalid = invalid;
	*ret_facts = facts;
	return 0;
}
