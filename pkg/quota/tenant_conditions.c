/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conditions of a TenantQoS. As for a quota, `checks` lists in order what they look at: the
 * first check of a condition that applies fills it, the last one always does.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "base/macros.h"
#include "quota/internal.h"
#include "quota/tenant_planning.h"

/* --- Accepted */

static bool accepted_terminating(struct planning *p, struct condition *c)
{
	if (!p->view->facts->terminating)
		return false;
	return condition_say(c, CONDITION_FALSE, QUOTA_REASON_TERMINATING,
			     "This TenantQoS is being deleted: until it is gone, nothing new is "
			     "allowed in its namespaces.");
}

static bool accepted_invalid(struct planning *p, struct condition *c)
{
	if (!p->view->facts->invalid)
		return false;
	return condition_say(c, CONDITION_FALSE, QUOTA_REASON_INVALID,
			     "No GPU is allowed in the tenant's namespaces until the spec is "
			     "corrected: %s.",
			     p->view->facts->invalid);
}

static bool accepted_elsewhere(struct planning *p, struct condition *c)
{
	const struct tenant_some *elsewhere = &p->view->elsewhere;

	if (elsewhere->n <= 0)
		return false;
	condition_say(c, CONDITION_FALSE, QUOTA_REASON_NAMESPACE_CONFLICT,
		      "A namespace belongs to the oldest TenantQoS that selects it: %" PRId64
		      " of those that this one selects belong to others",
		      elsewhere->n);
	if (!str_empty(elsewhere->namespace))
		condition_say_more(c, ", as %.*s does to %.*s", STR_ARGS(elsewhere->namespace),
				   STR_ARGS(p->view->elsewhere_tenant));
	condition_say_more(c, ". Change one of the namespaceSelectors.");
	return true;
}

static bool accepted(struct planning *p, struct condition *c)
{
	condition_say(c, CONDITION_TRUE, QUOTA_REASON_ACCEPTED,
		      "The TenantQoS governs all namespaces that it selects.");
	if (p->view->n_namespaces == 0)
		condition_say_more(c, " There are none at present.");
	return true;
}

/* --- Ready */

static bool ready_not_accepted(struct planning *p, struct condition *c)
{
	bool has_nothing = p->view->n_namespaces == 0 && p->view->elsewhere.n > 0;

	if (p->in_force && !has_nothing)
		return false;
	return condition_say(c, CONDITION_FALSE, QUOTA_REASON_NOT_ACCEPTED,
			     "The spec is not in force: see condition Accepted.");
}

static bool ready_to_be_written(struct planning *p, struct condition *c)
{
	for (int i = 0; i < TENANT_BINDING_COUNT; i++) {
		const struct tenant_binding_plan *binding = &p->plan.bindings[i];

		if (binding->write || binding->remove)
			return condition_say(c, CONDITION_FALSE, QUOTA_REASON_PENDING,
					     "ValidatingAdmissionPolicyBinding %.*s is about to be "
					     "%s.",
					     STR_ARGS(binding->name),
					     binding->write ? "written" : "deleted");
	}
	return false;
}

static bool ready_not_enforced(struct planning *p, struct condition *c)
{
	const struct tenant_some *unenforced = &p->view->unenforced;

	if (unenforced->n <= 0)
		return false;
	condition_say(c, CONDITION_FALSE, QUOTA_REASON_PENDING,
		      "In %" PRId64 " of %zu namespaces the API server does not enforce yet what "
		      "the tenant gives them",
		      unenforced->n, p->view->n_namespaces);
	if (!str_empty(unenforced->namespace))
		condition_say_more(c, ", %.*s among them", STR_ARGS(unenforced->namespace));
	condition_say_more(c, ".");
	return true;
}

static bool ready(struct planning *p, struct condition *c)
{
	size_t n = p->view->n_namespaces;

	if (n == 0)
		return condition_say(c, CONDITION_TRUE, QUOTA_REASON_ENFORCED,
				     "It has no namespaces yet.");
	if (n == 1)
		return condition_say(c, CONDITION_TRUE, QUOTA_REASON_ENFORCED,
				     "The API server enforces in its one namespace what the "
				     "tenant gives it.");
	return condition_say(c, CONDITION_TRUE, QUOTA_REASON_ENFORCED,
			     "The API server enforces in all %zu namespaces what the tenant gives "
			     "them.",
			     n);
}

/* --- what is measured only where the spec is in force */

static bool not_measured(struct planning *p, struct condition *c)
{
	if (p->in_force)
		return false;
	return condition_say(c, CONDITION_UNKNOWN, QUOTA_REASON_NOT_ACCEPTED,
			     "The spec is not in force: nothing is measured against it.");
}

/* --- Exceeded */

#define UNTIL "nobody is given more until it falls."

static bool exceeded_memory(struct planning *p, struct condition *c)
{
	const struct tenant_status *status = &p->plan.status;

	if (status->ceiling == AMOUNT_NONE || status->used <= status->ceiling)
		return false;
	return condition_say(c, CONDITION_TRUE, QUOTA_REASON_OVER_LIMIT,
			     "%s of GPU memory are held where the ceiling is %s: " UNTIL,
			     amount_text(status->used).text, amount_text(status->ceiling).text);
}

static bool exceeded_gpus(struct planning *p, struct condition *c)
{
	const struct tenant_status *status = &p->plan.status;

	if (status->ceiling_gpus == AMOUNT_NONE || status->used_gpus <= status->ceiling_gpus)
		return false;
	return condition_say(
		c, CONDITION_TRUE, QUOTA_REASON_OVER_LIMIT,
		"%" PRId64 " whole GPU%s held where the ceiling is %" PRId64 ": " UNTIL,
		status->used_gpus, status->used_gpus == 1 ? " is" : "s are", status->ceiling_gpus);
}

static bool exceeded_unknown(struct planning *p, struct condition *c)
{
	const struct tenant_some *unpriced = &p->view->unpriced;

	if (unpriced->n <= 0)
		return false;
	condition_say(c, CONDITION_UNKNOWN, QUOTA_REASON_UNKNOWN_MEMORY,
		      "Nothing tells the memory of devices in use in %" PRId64 " of the namespaces",
		      unpriced->n);
	if (!str_empty(unpriced->namespace))
		condition_say_more(c, ", %.*s among them", STR_ARGS(unpriced->namespace));
	condition_say_more(c, ": they keep what they hold and have lent, and see whether their "
			      "nodes are there.");
	return true;
}

static bool exceeded_not(struct planning *p, struct condition *c)
{
	const struct tenant_status *status = &p->plan.status;
	bool bounded = status->ceiling != AMOUNT_NONE || status->ceiling_gpus != AMOUNT_NONE;

	return condition_say(c, CONDITION_FALSE, QUOTA_REASON_WITHIN_LIMIT,
			     bounded ? "What the namespaces hold is within the ceiling."
				     : "The tenant as a whole has no ceiling.");
}

/* --- TopologyMismatch */

static void say_spans(const struct topology_count *required, uint32_t spans, struct condition *c)
{
	const char *before = " (";

	condition_say(c, CONDITION_TRUE, QUOTA_REASON_SPANS_DOMAINS,
		      "The cards of %u of %u pods do not lie within the scope that is required",
		      spans, required->pods);
	for (int i = 0; i < LAYOUT_SCOPE_COUNT; i++) {
		if (required->spans[i] == 0)
			continue;
		condition_say_more(c, "%s%s: %u", before, layout_scope_text((enum layout_scope)i),
				   required->spans[i]);
		before = ", ";
	}
	condition_say_more(c, ")");
	if (required->apart > 0)
		condition_say_more(c, ", the CPUs of %u are on another NUMA node than their cards",
				   required->apart);
}

static bool topology_mismatched(struct planning *p, struct condition *c)
{
	const struct topology_count *required = &p->view->topology.of[TOPOLOGY_REQUIRED];
	uint32_t spans = topology_count_spans(required);

	if (spans + required->apart == 0)
		return false;
	if (spans > 0)
		say_spans(required, spans, c);
	else
		condition_say(c, CONDITION_TRUE, QUOTA_REASON_CPUS_APART,
			      "The CPUs of %u of %u pods are on another NUMA node than their cards",
			      required->apart, required->pods);
	condition_say_more(c, ", %.*s/%.*s among them.", STR_ARGS(p->view->mismatch_namespace),
			   STR_ARGS(p->view->mismatch_pod));
	if (!str_empty(p->view->unmoved))
		condition_say_more(c, " %.*s", STR_ARGS(p->view->unmoved));
	return true;
}

static bool topology_unknown(struct planning *p, struct condition *c)
{
	const struct topology_count *required = &p->view->topology.of[TOPOLOGY_REQUIRED];

	if (required->unknown == 0)
		return false;
	return condition_say(c, CONDITION_UNKNOWN, QUOTA_REASON_DEVICES_UNKNOWN,
			     "Of %u of %u pods nothing tells which cards they have, or how these "
			     "are wired.",
			     required->unknown, required->pods);
}

static bool topology_not_asked(struct planning *p, struct condition *c)
{
	const struct topology_counts *counts = &p->view->topology;
	const struct topology_spec *spec = &p->view->facts->spec.topology;

	if (counts->of[TOPOLOGY_REQUIRED].pods + counts->of[TOPOLOGY_PREFERRED].pods > 0)
		return false;
	if (spec->policy == TOPOLOGY_NONE)
		return condition_say(c, CONDITION_FALSE, QUOTA_REASON_NOT_ASKED,
				     "Nothing is asked of where the cards of its pods lie.");
	if (spec->on_mismatch == MISMATCH_IGNORE)
		return condition_say(c, CONDITION_FALSE, QUOTA_REASON_NOT_ASKED,
				     "onMismatch is Ignore: nobody looks.");
	return false;
}

static bool topology_as_asked(struct planning *p, struct condition *c)
{
	const struct topology_counts *counts = &p->view->topology;
	const struct topology_count *preferred = &counts->of[TOPOLOGY_PREFERRED];
	uint32_t required = counts->of[TOPOLOGY_REQUIRED].pods;
	uint32_t other = counts->of[TOPOLOGY_REQUIRED].other + preferred->other;

	if (required + preferred->pods == 0)
		return condition_say(c, CONDITION_FALSE, QUOTA_REASON_AS_ASKED,
				     "No pod of it has cards at present.");
	condition_say(c, CONDITION_FALSE, QUOTA_REASON_AS_ASKED,
		      "Cards lie as is required in all of %u pods.", required);
	if (preferred->pods > 0)
		condition_say_more(
			c,
			" Of %u that only prefer it, %u do not lie so, and of %u it is not known.",
			preferred->pods, topology_count_mismatches(preferred), preferred->unknown);
	if (other > 0)
		condition_say_more(c, " Pods with other cards than were chosen: %u.", other);
	return true;
}

/* --- Unprotected */

static bool unprotected_not_asked(struct planning *p, struct condition *c)
{
	if (p->view->facts->spec.protection.mode != PROTECTION_OFF)
		return false;
	return condition_say(c, CONDITION_FALSE, QUOTA_REASON_NOT_ASKED,
			     "The spec has no protection: nobody is evicted for its pods.");
}

static bool unprotected_in_vain(struct planning *p, struct condition *c)
{
	if (str_empty(p->view->unhelped))
		return false;
	return condition_say(c, CONDITION_TRUE, QUOTA_REASON_NOBODY_MAY_GO, "%.*s",
			     STR_ARGS(p->view->unhelped));
}

/* There is a protection, and nothing that it could be used for. */
static bool unprotected_without_effect(struct planning *p, struct condition *c)
{
	const struct tenant_spec *spec = &p->view->facts->spec;
	bool moves = spec->topology.on_mismatch == MISMATCH_MIGRATE; /* its own pods, of any tier */

	if (moves)
		return false;
	if (spec->pending_us == AMOUNT_NONE && spec->n_objectives == 0)
		return condition_say(c, CONDITION_FALSE, QUOTA_REASON_NOT_ASKED,
				     "protection has no effect without any of pendingSeconds, "
				     "objectives and topology.onMismatch: Migrate.");
	if (!(spec->protection.victim_tiers & ((1U << spec->tier) - 1)))
		return condition_say(
			c, CONDITION_FALSE, QUOTA_REASON_NOT_ASKED,
			"protection has no effect: its tier is %s, and pods of no lower "
			"one may be evicted.",
			tenant_tier_text(spec->tier));
	return false;
}

static bool unprotected_not(struct planning *p UNUSED, struct condition *c)
{
	return condition_say(c, CONDITION_FALSE, QUOTA_REASON_AS_ASKED,
			     "Of its pods there is none for which somebody should go and may not.");
}

/* --- all of them */

static const struct check {
	enum tenant_condition condition;
	bool (*applies)(struct planning *p, struct condition *c); /* fills @c where it does */
} checks[] = {
	{TENANT_ACCEPTED, accepted_terminating},   {TENANT_ACCEPTED, accepted_invalid},
	{TENANT_ACCEPTED, accepted_elsewhere},     {TENANT_ACCEPTED, accepted},
	{TENANT_READY, ready_not_accepted},        {TENANT_READY, ready_to_be_written},
	{TENANT_READY, ready_not_enforced},        {TENANT_READY, ready},
	{TENANT_EXCEEDED, not_measured},           {TENANT_EXCEEDED, exceeded_memory},
	{TENANT_EXCEEDED, exceeded_gpus},          {TENANT_EXCEEDED, exceeded_unknown},
	{TENANT_EXCEEDED, exceeded_not},           {TENANT_TOPOLOGY, not_measured},
	{TENANT_TOPOLOGY, topology_mismatched},    {TENANT_TOPOLOGY, topology_unknown},
	{TENANT_TOPOLOGY, topology_not_asked},     {TENANT_TOPOLOGY, topology_as_asked},
	{TENANT_OBJECTIVES, not_measured},         {TENANT_OBJECTIVES, tenant_say_objectives},
	{TENANT_ABNORMAL, tenant_say_abnormal},    {TENANT_THROTTLED, tenant_say_throttled},
	{TENANT_UNPROTECTED, not_measured},        {TENANT_UNPROTECTED, unprotected_not_asked},
	{TENANT_UNPROTECTED, unprotected_in_vain}, {TENANT_UNPROTECTED, unprotected_without_effect},
	{TENANT_UNPROTECTED, unprotected_not},     {TENANT_IDLE, tenant_say_idle},
};

static const struct tenant_status *seen_status(const struct planning *p)
{
	return p->view->facts->has_status ? &p->view->facts->status : NULL;
}

/* A transition is a change of the condition's status, not of its reason. */
static int64_t since(const struct planning *p, enum tenant_condition which,
		     enum condition_status status)
{
	const struct tenant_status *seen = seen_status(p);

	if (seen && seen->conditions[which].status == status &&
	    seen->conditions[which].since_us > 0)
		return seen->conditions[which].since_us;
	return p->view->now_real_us - p->view->now_real_us % USEC_PER_SEC;
}

void tenant_set_conditions(struct planning *p)
{
	bool filled[TENANT_CONDITION_COUNT] = {false};

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		enum tenant_condition which = checks[i].condition;
		struct condition *c = &p->plan.status.conditions[which];

		if (filled[which] || !checks[i].applies(p, c))
			continue;
		filled[which] = true;
		c->since_us = since(p, which, c->status);
	}
}
