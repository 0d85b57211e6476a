/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A TenantQoS. The CRD refuses most of what is refused here; but objects outlive the rules they
 * were checked by, so nothing is taken on trust. The first problem found is the one that is told.
 */
#include "api/pack.h"
#include "api/pack_evictions.h"
#include "api/pack_feedback.h"
#include "api/pack_objective.h"
#include "api/pack_selector.h"
#include "api/pack_spec.h"
#include "api/pack_status.h"
#include "base/macros.h"

struct spec_pack {
	struct spec_check check;
	const struct wire_tenant *wire;
	struct tenant_spec spec;
};

/* --- which namespaces */

/* Our label on a namespace has the name as its value. */
static int check_name(struct spec_pack *p)
{
	if (p->wire->meta.name.len <= LIMIT_LABEL_VALUE)
		return 0;
	return spec_complain(&p->check,
			     "metadata.name is longer than %d characters, and so cannot "
			     "be a label of the tenant's namespaces",
			     LIMIT_LABEL_VALUE);
}

static int check_namespaces(struct spec_pack *p)
{
	const struct wire_selector *wire = &p->wire->spec.namespaces;
	enum pack_selector_verdict verdict;

	if (wire->labels.len + wire->requirements.len == 0)
		return spec_complain(&p->check,
				     "spec.namespaceSelector is empty; name at least one "
				     "label, since no tenant has every namespace");
	if (pack_selector(wire, &p->check.pack, &p->spec.namespaces, &verdict) < 0)
		return -1;
	if (verdict == SELECTOR_TOO_LARGE)
		return spec_complain(&p->check,
				     "spec.namespaceSelector has more than %d "
				     "requirements and values",
				     LIMIT_SELECTOR_VALUES);
	if (verdict == SELECTOR_ODD)
		return spec_complain(&p->check, "spec.namespaceSelector.matchExpressions has an "
						"operator or values that do not go together");
	return 0;
}

/* --- how much, and what its pods are */

static int check_tier(struct spec_pack *p)
{
	static const char *const choices[] = {
#define X(name, text) [TIER_##name] = text,
		TENANT_TIERS(X)
#undef X
			NULL,
	};
	size_t choice = TIER_BEST_EFFORT;

	if (str_empty(p->wire->spec.tier))
		return spec_complain(&p->check,
				     "spec.tier is missing; it is Inference, Training or "
				     "BestEffort");
	if (spec_choice(&p->check, "tier", p->wire->spec.tier, choices, &choice) < 0)
		return -1;
	p->spec.tier = (enum tenant_tier)choice;
	return 0;
}

static int check_ceiling(struct spec_pack *p)
{
	static const struct spec_range range = {"ceiling.gpus", INT64_MAX};
	const struct wire_ceiling *wire = &p->wire->spec.ceiling;

	p->spec.ceiling_gpus = wire_has(wire, WIRE_CEILING_GPUS) ? wire->gpus : AMOUNT_NONE;
	p->spec.ceiling = AMOUNT_NONE;
	if (spec_number(&p->check, &range, wire->gpus) < 0)
		return -1;
	if (p->check.invalid || !wire_has(wire, WIRE_CEILING_GPU_MEMORY))
		return 0;
	return spec_large_memory(&p->check, "ceiling.gpuMemory", wire->gpu_memory,
				 &p->spec.ceiling);
}

static int check_qos_class(struct spec_pack *p)
{
	static const char *const classes[] = {"Guaranteed", "Burstable", NULL};
	static const char *const actions[] = {"Warn", "Deny", NULL};
	const struct wire_qos_class *wire = &p->wire->spec.qos;
	size_t class = 0, action = 0;

	if (!wire_has(&p->wire->spec, WIRE_TENANT_QOS))
		return 0;
	if (str_empty(wire->class))
		return spec_complain(&p->check,
				     "spec.qosClass.class is missing; it is Guaranteed or "
				     "Burstable");
	if (spec_choice(&p->check, "qosClass.class", wire->class, classes, &class) < 0)
		return -1;
	if (p->check.invalid)
		return 0;
	p->spec.qos = class == 0 ? POD_QOS_GUARANTEED : POD_QOS_BURSTABLE;
	if (spec_choice(&p->check, "qosClass.action", wire->action, actions, &action) < 0)
		return -1;
	p->spec.qos_denies = action == 1;
	return 0;
}

static int check_priority_classes(struct spec_pack *p)
{
	const struct wire_list *list = &p->wire->spec.priority_classes;

	if (list->len > LIMIT_PRIORITY_CLASSES)
		return spec_complain(&p->check, "spec.priorityClasses names more than %d classes",
				     LIMIT_PRIORITY_CLASSES);
	wire_for_each(const struct str, class, *list) {
		if (str_empty(*class) || class->len > LIMIT_NAME)
			return spec_complain(&p->check,
					     "spec.priorityClasses has \"%.*s\", which no "
					     "PriorityClass can be called",
					     STR_ARGS(spec_shown(*class)));
	}
	p->spec.priority_classes = list->items;
	p->spec.n_priority_classes = list->len;
	return 0;
}

/* Left out, or empty, it stays as @value is. */
static int check_choice(struct spec_pack *p, const char *field, struct str text,
			const char *const *choices, size_t *value)
{
	return str_empty(text) ? 0 : spec_choice(&p->check, field, text, choices, value);
}

static int check_topology(struct spec_pack *p)
{
#define X(name, text) text,
	static const char *const policies[] = {TOPOLOGY_POLICIES(X) NULL};
	static const char *const scopes[] = {LAYOUT_SCOPES(X) NULL};
	static const char *const mismatches[] = {TOPOLOGY_MISMATCHES(X) NULL};
#undef X
	const struct wire_topology *wire = &p->wire->spec.topology;
	struct topology_spec *topology = &p->spec.topology;
	size_t policy = TOPOLOGY_NONE, scope = topology->scope, mismatch = topology->on_mismatch;

	if (!wire_has(&p->wire->spec, WIRE_TENANT_TOPOLOGY))
		return 0;
	if (str_empty(wire->policy))
		return spec_complain(&p->check,
				     "spec.topology.policy is missing; it is Required, Preferred "
				     "or None");
	if (spec_choice(&p->check, "topology.policy", wire->policy, policies, &policy) < 0 ||
	    check_choice(p, "topology.scope", wire->scope, scopes, &scope) < 0 ||
	    check_choice(p, "topology.onMismatch", wire->on_mismatch, mismatches, &mismatch) < 0)
		return -1;
	*topology = (struct topology_spec){(enum topology_policy)policy, (enum layout_scope)scope,
					   (enum topology_mismatch)mismatch};
	return 0;
}

static int check_protection(struct spec_pack *p)
{
	return pack_protection(&p->check, &p->wire->spec, &p->spec.protection);
}

static int check_preemptible(struct spec_pack *p)
{
	return pack_preemptible(&p->check, &p->wire->spec.preemptible, &p->spec.preemptible);
}

static int check_objectives(struct spec_pack *p)
{
	return pack_objectives(&p->check, &p->wire->spec, &p->spec);
}

static int check_isolation(struct spec_pack *p)
{
	return pack_isolation(&p->check, &p->wire->spec.isolation, &p->spec.isolation);
}

static int check_feedback(struct spec_pack *p)
{
	return pack_feedback(&p->check, &p->wire->spec.feedback, &p->spec.feedback);
}

static int pack_spec(struct spec_pack *p)
{
	static int (*const checks[])(struct spec_pack *) = {
		check_name,        check_namespaces,       check_tier,      check_ceiling,
		check_qos_class,   check_priority_classes, check_topology,  check_protection,
		check_preemptible, check_objectives,       check_isolation, check_feedback,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(checks) && !p->check.invalid; i++)
		if (checks[i](p) < 0)
			return -1;
	return 0;
}

/* --- status, as body_tenant.c writes it */

static void read_condition(const struct wire_condition *wire, struct tenant_status *status)
{
	int i;

	for (i = 0; i < TENANT_CONDITION_COUNT; i++)
		if (str_equal(wire->type,
			      str_from(tenant_condition_text((enum tenant_condition)i))))
			pack_condition(wire, &status->conditions[i]);
}

static bool read_namespaces(const struct wire_tenant_status *wire, struct tenant_status *status)
{
	if (wire->namespaces.len > LIMIT_STATUS_NAMESPACES)
		return false;
	wire_for_each(const struct str, name, wire->namespaces) {
		if (str_empty(*name) || name->len > LIMIT_NAME)
			return false;
	}
	status->namespaces = wire->namespaces.items;
	status->n_namespaces_listed = wire->namespaces.len;
	status->n_namespaces = wire->n_namespaces;
	return true;
}

static bool read_ceiling(const struct wire_ceiling *wire, struct tenant_status *status)
{
	status->ceiling = AMOUNT_NONE;
	status->ceiling_gpus = wire_has(wire, WIRE_CEILING_GPUS) ? wire->gpus : AMOUNT_NONE;
	return wire->gpus >= 0 && (!wire_has(wire, WIRE_CEILING_GPU_MEMORY) ||
				   pack_bytes(wire->gpu_memory, &status->ceiling));
}

static bool read_status(const struct wire_tenant_status *wire, struct arena *arena,
			struct tenant_status *ret_status)
{
	struct tenant_status status = {
		.observed_generation = wire->observed_generation,
		.granted_gpus = wire->granted_gpus,
		.used_gpus = wire->used_gpus,
		.unshown = !wire_has(wire, WIRE_TENANT_STATUS_SHOWN),
		.throttle = pack_throttle(&wire->throttle),
	};
	const struct pack_bytes_field amounts[] = {
		{wire->granted, &status.granted},
		{wire->used, &status.used},
		{wire->lent, &status.lent},
	};
	const int64_t counts[] = {wire->n_namespaces, wire->granted_gpus, wire->used_gpus};

	if (!pack_counts_sane(counts, ARRAY_SIZE(counts)) ||
	    !pack_bytes_fields(amounts, ARRAY_SIZE(amounts)) || !read_namespaces(wire, &status) ||
	    !read_ceiling(&wire->ceiling, &status) ||
	    !pack_objective_statuses(&wire->objectives, arena, &status))
		return false;
	wire_for_each(const struct wire_condition, condition, wire->conditions)
		read_condition(condition, &status);
	*ret_status = status;
	return true;
}

static struct tenant_facts identity_of(const struct wire_meta *meta)
{
	return (struct tenant_facts){
		.name = meta->name,
		.uid = meta->uid,
		.resource_version = api_version_number(meta->resource_version),
		.created_us = meta->creation_us,
		.generation = meta->generation,
		.terminating = wire_has(meta, WIRE_META_DELETION),
	};
}

int api_pack_tenant(const struct wire_tenant *wire, struct arena *arena,
		    struct tenant_facts *ret_facts, struct error *err)
{
	const struct wire_meta *meta = &wire->meta;
	struct spec_pack p = {.wire = wire,
			      .check.pack = {arena, err},
			      .spec.topology = TOPOLOGY_SPEC_DEFAULT,
			      .spec.protection = PROTECTION_DEFAULT,
			      .spec.preemptible = PREEMPTIBLE_DEFAULT,
			      .spec.pending_us = AMOUNT_NONE,
			      .spec.isolation = ISOLATION_SPEC_DEFAULT,
			      .spec.feedback = FEEDBACK_SPEC_DEFAULT};
	struct tenant_facts facts = identity_of(meta);

	if (pack_check_meta(meta, err) < 0 || pack_spec(&p) < 0)
		return pack_locate(err, "TenantQoS", meta);
	facts.spec = p.spec;
	facts.invalid = p.check.invalid;
	facts.has_status = wire_has(wire, WIRE_TENANT_STATUS) &&
			   read_status(&wire->status, arena, &facts.status);
	if (pack_evictions(&wire->status.evictions, &p.check.pack, &facts.status) < 0)
		return pack_locate(err, "TenantQoS", meta);
	*ret_facts = facts;
	return 0;
}

int api_pack_tenant_outline(const struct wire_object *wire, const char *invalid,
			    struct tenant_facts *ret_facts, struct error *err)
{
	struct tenant_facts facts = identity_of(&wire->meta);

	if (pack_check_meta(&wire->meta, err) < 0)
		return pack_locate(err, "TenantQoS", &wire->meta);
	facts.spec.ceiling = facts.spec.ceiling_gpus = AMOUNT_NONE;
	facts.spec.topology = TOPOLOGY_SPEC_DEFAULT;
	facts.spec.protection = PROTECTION_DEFAULT;
	facts.spec.preemptible = PREEMPTIBLE_DEFAULT;
	facts.spec.pending_us = AMOUNT_NONE;
	facts.spec.isolation = ISOLATION_SPEC_DEFAULT;
	facts.spec.feedback = FEEDBACK_SPEC_DEFAULT;
	facts.invalid = invalid;
	*ret_facts = facts;
	return 0;
}
