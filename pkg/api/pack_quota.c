/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GpuMemoryQuota's spec. The CRD refuses most of what is refused here, with the same words; but
 * objects outlive the rules they were checked by, so nothing is taken on trust. The first problem
 * found is the one that is told.
 */
#include "api/pack.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "api/pack_common.h"
#include "api/pack_quota.h"
#include "api/quantity.h"
#include "base/macros.h"
#include "base/utf8.h"
#include "model/resource.h"

/* Texts of tenants are shown up to this length. */
#define SHOWN 64

struct spec_pack {
	const struct wire_quota_spec *wire;
	struct pack pack;
	struct quota_spec spec;
	const char *invalid; /* in the arena */
};

/* Sets `invalid`; -1 only when the arena is full. */
PRINTF_LIKE(2, 3) static int complain(struct spec_pack *p, const char *format, ...)
{
	char text[QUOTA_MESSAGE_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	p->invalid = arena_strndup(p->pack.arena, text, strlen(text));
	return p->invalid ? 0 : pack_no_memory(&p->pack);
}

static struct str shown(struct str text)
{
	return utf8_prefix(text, SHOWN);
}

/* --- memory */

static int read_memory(struct spec_pack *p, const char *field, struct str text, int64_t *ret_bytes)
{
	struct str show = shown(text);

	if (!quantity_parse(text, ret_bytes))
		return complain(p, "spec.%s \"%.*s\" is no amount of memory; write it like 320Gi",
				field, STR_ARGS(show));
	if (*ret_bytes <= 0)
		return complain(p, "spec.%s %.*s must be more than 0", field, STR_ARGS(show));
	return 0;
}

static int check_gpu_memory(struct spec_pack *p)
{
	struct str text = p->wire->gpu_memory;
	int64_t bare;

	if (!wire_has(p->wire, WIRE_QUOTA_GPU_MEMORY))
		return complain(p, "spec.gpuMemory is missing; say how much GPU memory the "
				   "namespace may hold, such as 320Gi");
	if (read_memory(p, "gpuMemory", text, &p->spec.gpu_memory) < 0 || p->invalid)
		return p->invalid ? 0 : -1;
	if (p->spec.gpu_memory >= GIB)
		return 0;
	if (str_to_int64(text, 1, GIB, &bare))
		return complain(p,
				"spec.gpuMemory %" PRId64 " means %" PRId64
				" bytes; did you mean %" PRId64 "Gi?",
				bare, bare, bare);
	return complain(p, "spec.gpuMemory %.*s is less than 1Gi, the least there is",
			STR_ARGS(shown(text)));
}

/* --- counts */

static int check_gpus(struct spec_pack *p)
{
	p->spec.gpus = AMOUNT_NONE;
	if (!wire_has(p->wire, WIRE_QUOTA_GPUS))
		return 0;
	p->spec.gpus = p->wire->gpus;
	if (p->spec.gpus >= 0)
		return 0;
	return complain(p, "spec.gpus %" PRId64 " must be 0 or more", p->spec.gpus);
}

static int check_per_pod(struct spec_pack *p)
{
	const struct wire_quota_per_pod *wire = &p->wire->per_pod;

	p->spec.pod_gpus = p->spec.pod_gpu_memory = AMOUNT_NONE;
	if (wire_has(wire, WIRE_PER_POD_GPUS)) {
		p->spec.pod_gpus = wire->gpus;
		if (wire->gpus < 0)
			return complain(p, "spec.perPod.gpus %" PRId64 " must be 0 or more",
					wire->gpus);
	}
	if (!wire_has(wire, WIRE_PER_POD_GPU_MEMORY))
		return 0;
	if (read_memory(p, "perPod.gpuMemory", wire->gpu_memory, &p->spec.pod_gpu_memory) < 0)
		return -1;
	if (p->invalid || p->spec.pod_gpu_memory <= p->spec.gpu_memory)
		return 0;
	return complain(p, "spec.perPod.gpuMemory %.*s is more than spec.gpuMemory %.*s",
			STR_ARGS(shown(wire->gpu_memory)), STR_ARGS(shown(p->wire->gpu_memory)));
}

/* --- amounts by resource */

static int check_amount(struct spec_pack *p, const char *field, const struct wire_pair *pair,
			int64_t *ret_count)
{
	struct str name = shown(pair->key);

	if (!resource_is_extended(pair->key))
		return complain(p,
				"spec.%s: %.*s is no extended resource; those are written "
				"domain/name, such as nvidia.com/gpu",
				field, STR_ARGS(name));
	if (!str_to_int64(pair->value, 0, INT64_MAX, ret_count))
		return complain(p, "spec.%s: %.*s must be a whole number, 0 or more, not \"%.*s\"",
				field, STR_ARGS(name), STR_ARGS(shown(pair->value)));
	return 0;
}

static int read_amounts(struct spec_pack *p, const char *field, const struct wire_list *pairs,
			struct pack_amounts *ret_amounts)
{
	if (pairs->len > LIMIT_RESOURCE_NAMES)
		return complain(p, "spec.%s names more than %d resources", field,
				LIMIT_RESOURCE_NAMES);
	if (pack_amounts_init(ret_amounts, pairs->len, &p->pack) < 0)
		return -1;
	wire_for_each(const struct wire_pair, pair, *pairs) {
		int64_t count = 0;

		if (check_amount(p, field, pair, &count) < 0)
			return -1;
		if (p->invalid)
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
	for (i = 0; !p->invalid && i < caps.len; i++)
		if (!resource_is_gpu(caps.rows[i].resource))
			return complain(p, "spec.resources: %.*s is no GPU resource that is known",
					STR_ARGS(shown(caps.rows[i].resource)));
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

/* --- choices */

static int check_choice(struct spec_pack *p, const char *field, struct str value, const char *only)
{
	if (str_empty(value) || str_equal(value, str_from(only)))
		return 0;
	return complain(p, "spec.%s %.*s is not known to this version; it may be %s", field,
			STR_ARGS(shown(value)), only);
}

static int check_choices(struct spec_pack *p)
{
	if (check_choice(p, "onShrink", p->wire->on_shrink, "Freeze") < 0)
		return -1;
	if (!p->invalid && check_choice(p, "releaseOn", p->wire->release_on, "Deletion") < 0)
		return -1;
	return p->invalid ? 0 : check_choice(p, "enforcement", p->wire->enforcement, "Enforce");
}

static int pack_spec(struct spec_pack *p)
{
	static int (*const checks[])(struct spec_pack *) = {
		check_gpu_memory, check_gpus,     check_per_pod,
		check_caps,       check_defaults, check_choices,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(checks) && !p->invalid; i++)
		if (checks[i](p) < 0)
			return -1;
	return 0;
}

int api_pack_quota(const struct wire_gpu_memory_quota *wire, struct arena *arena,
		   struct quota_facts *ret_facts, struct error *err)
{
	const struct wire_meta *meta = &wire->meta;
	struct spec_pack p = {.wire = &wire->spec, .pack = {arena, err}};
	struct quota_facts facts = {
		.namespace = meta->namespace,
		.name = meta->name,
		.uid = meta->uid,
		.resource_version = api_version_number(meta->resource_version),
		.created_us = meta->creation_us,
		.generation = meta->generation,
		.terminating = wire_has(meta, WIRE_META_DELETION),
	};

	if (pack_check_meta(meta, err) < 0 || pack_spec(&p) < 0 ||
	    pack_quota_status(wire, &p.pack, &facts) < 0)
		return pack_locate(err, "GpuMemoryQuota", meta);
	facts.spec = p.spec;
	facts.invalid = p.invalid;
	*ret_facts = facts;
	return 0;
}
