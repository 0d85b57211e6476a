/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A TenantQoS's status and bindings; its conditions are in tenant_conditions.c.
 */
#include "quota/tenant_plan.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/macros.h"
#include "quota/internal.h"
#include "quota/tenant_planning.h"

static bool is_in_force(const struct tenant_facts *facts)
{
	return !facts->terminating && !facts->invalid;
}

/* --- bindings */

static bool is_wanted(const struct tenant_spec *spec, enum tenant_binding which)
{
	if (which == TENANT_BINDING_QOS)
		return spec->qos != POD_QOS_ANY;
	/* To a policy, a selector that asks for nothing is one that takes all. */
	return which != TENANT_BINDING_LABELS || spec->namespaces.n_requirements > 0;
}

/* The namespaces that carry the tenant's label. */
static bool own_namespaces(struct planning *p, struct label_selector *ret_selector)
{
	struct label_requirement *requirement = arena_alloc(p->arena, sizeof(*requirement));
	struct str *value = arena_alloc(p->arena, sizeof(*value));

	if (!requirement || !value)
		return false;
	*value = p->view->facts->name;
	*requirement = (struct label_requirement){STR(TENANT_LABEL), LABEL_IN, value, 1};
	*ret_selector = (struct label_selector){requirement, 1};
	return true;
}

static bool describe_binding(struct planning *p, enum tenant_binding which,
			     struct tenant_binding_plan *binding)
{
	const struct tenant_spec *spec = &p->view->facts->spec;

	binding->spec.policy = str_from(tenant_binding_policy(which));
	binding->spec.param = p->view->facts->name;
	binding->spec.denies = which != TENANT_BINDING_QOS || spec->qos_denies;
	if (!tenant_binding_name(which, binding->spec.param, p->arena, &binding->name))
		return false;
	/* Who may set the labels that the tenant selects by concerns all namespaces that match. */
	if (which == TENANT_BINDING_LABELS) {
		binding->spec.objects = spec->namespaces;
		return true;
	}
	return own_namespaces(p, &binding->spec.namespaces);
}

static int decide_bindings(struct planning *p, struct error *err)
{
	const struct tenant_facts *facts = p->view->facts;

	for (int i = 0; i < TENANT_BINDING_COUNT; i++) {
		enum tenant_binding which = (enum tenant_binding)i;
		struct tenant_binding_plan *binding = &p->plan.bindings[i];
		const struct binding_facts *seen = p->view->bindings[i];
		bool ours = seen && str_equal(seen->owner_uid, facts->uid);

		if (!describe_binding(p, which, binding))
			return decide_no_memory(err);
		if (!p->in_force)
			continue;
		if (!is_wanted(&facts->spec, which)) {
			binding->remove = ours;
			continue;
		}
		binding->write =
			!ours || seen->other || !policy_binding_equal(&seen->spec, &binding->spec);
		binding->replace = seen && (seen->other || (!ours && !str_empty(seen->owner_uid)));
	}
	return 0;
}

/* --- amounts and names */

static int compare_names(const void *a, const void *b)
{
	return str_compare(*(const struct str *)a, *(const struct str *)b);
}

static int list_namespaces(struct planning *p, struct error *err)
{
	size_t n = p->view->n_namespaces;
	struct str *names = arena_alloc(p->arena, n * sizeof(*names));

	if (!names)
		return decide_no_memory(err);
	if (n > 0)
		memcpy(names, p->view->namespaces, n * sizeof(*names));
	if (n > 1)
		qsort(names, n, sizeof(*names), compare_names);
	p->plan.status.namespaces = names;
	p->plan.status.n_namespaces_listed = MIN(n, (size_t)LIMIT_STATUS_NAMESPACES);
	p->plan.status.n_namespaces = (int64_t)n;
	return 0;
}

static void set_amounts(struct planning *p)
{
	const struct tenant_facts *facts = p->view->facts;
	const struct tenant_sums *sums = &p->view->sums;
	struct tenant_status *status = &p->plan.status;

	status->observed_generation = facts->generation;
	status->ceiling = p->in_force ? facts->spec.ceiling : 0;
	status->ceiling_gpus = p->in_force ? facts->spec.ceiling_gpus : 0;
	status->granted = sums->granted;
	status->granted_gpus = sums->granted_gpus;
	status->used = sums->used;
	status->used_gpus = sums->used_gpus;
	status->lent = sums->lent;
}

/* --- objectives */

static const struct objective_status *seen_objective(const struct planning *p, struct str name)
{
	const struct tenant_facts *facts = p->view->facts;

	for (size_t i = 0; facts->has_status && i < facts->status.n_objectives; i++)
		if (str_equal(facts->status.objectives[i].name, name))
			return &facts->status.objectives[i];
	return NULL;
}

/* A state that goes on began when the status says it did, and a value may be told later. */
static struct objective_status told_objective(const struct planning *p,
					      const struct objective_status *now)
{
	const struct objective_status *seen = seen_objective(p, now->name);
	struct objective_status told = *now;

	told.since_us -= told.since_us % USEC_PER_SEC;
	if (!seen || seen->state != now->state || seen->reason != now->reason)
		return told;
	told.since_us = seen->since_us;
	if (p->view->keep_values)
		told.value = seen->value;
	return told;
}

static int list_objectives(struct planning *p, struct error *err)
{
	size_t n = p->in_force ? p->view->n_objectives : 0;
	struct objective_status *objectives = arena_alloc(p->arena, n * sizeof(*objectives));

	if (!objectives)
		return decide_no_memory(err);
	for (size_t i = 0; i < n; i++)
		objectives[i] = told_objective(p, &p->view->objectives[i]);
	p->plan.status.objectives = objectives;
	p->plan.status.n_objectives = n;
	return 0;
}

static const struct tenant_status *seen_status(const struct planning *p)
{
	return p->view->facts->has_status ? &p->view->facts->status : NULL;
}

/* --- whether to write it */

static bool same_names(const struct tenant_status *a, const struct tenant_status *b)
{
	if (a->n_namespaces != b->n_namespaces || a->n_namespaces_listed != b->n_namespaces_listed)
		return false;
	for (size_t i = 0; i < a->n_namespaces_listed; i++)
		if (!str_equal(a->namespaces[i], b->namespaces[i]))
			return false;
	return true;
}

static bool same_states(const struct tenant_status *a, const struct tenant_status *b)
{
	if (a->n_objectives != b->n_objectives)
		return false;
	for (size_t i = 0; i < a->n_objectives; i++) {
		const struct objective_status *left = &a->objectives[i], *right = &b->objectives[i];

		if (!str_equal(left->name, right->name) || left->state != right->state ||
		    left->reason != right->reason)
			return false;
	}
	return true;
}

static bool same_values(const struct tenant_status *a, const struct tenant_status *b)
{
	for (size_t i = 0; i < a->n_objectives; i++)
		if (a->objectives[i].value != b->objectives[i].value)
			return false;
	return true;
}

/* Their messages carry amounts in use, counts of pods, values, and what is not known now. */
static bool tells_amounts(int condition)
{
	return condition == TENANT_EXCEEDED || condition == TENANT_TOPOLOGY ||
	       condition == TENANT_OBJECTIVES || condition == TENANT_ABNORMAL ||
	       condition == TENANT_UNPROTECTED || condition == TENANT_IDLE;
}

static bool same_verdicts(const struct tenant_status *a, const struct tenant_status *b)
{
	for (int i = 0; i < TENANT_CONDITION_COUNT; i++) {
		const struct condition *left = &a->conditions[i], *right = &b->conditions[i];

		if (left->status != right->status || left->reason != right->reason)
			return false;
		if (!tells_amounts(i) && strcmp(left->message, right->message) != 0)
			return false;
	}
	return true;
}

static bool same_but_use(const struct tenant_status *a, const struct tenant_status *b)
{
	return a->observed_generation == b->observed_generation && a->ceiling == b->ceiling &&
	       a->ceiling_gpus == b->ceiling_gpus && a->granted == b->granted &&
	       a->granted_gpus == b->granted_gpus && throttle_equal(&a->throttle, &b->throttle) &&
	       same_names(a, b) && same_states(a, b) && same_verdicts(a, b);
}

/* Whether the server would show the same: everything but transition times. */
static bool same_status(const struct tenant_status *a, const struct tenant_status *b)
{
	for (int i = 0; i < TENANT_CONDITION_COUNT; i++)
		if (strcmp(a->conditions[i].message, b->conditions[i].message) != 0)
			return false;
	return a->unshown == b->unshown && same_but_use(a, b) && a->used == b->used &&
	       a->used_gpus == b->used_gpus && a->lent == b->lent && same_values(a, b);
}

int tenant_plan_decide(const struct tenant_plan_view *view, struct arena *arena,
		       struct tenant_plan *ret_plan, struct error *err)
{
	struct planning p = {.view = view, .arena = arena};
	const struct tenant_status *seen = seen_status(&p);

	p.in_force = is_in_force(view->facts);
	if (decide_bindings(&p, err) < 0 || list_namespaces(&p, err) < 0 ||
	    list_objectives(&p, err) < 0)
		return -1;
	set_amounts(&p);
	p.plan.status.throttle = view->throttle;
	tenant_set_conditions(&p);
	p.plan.write_status = !seen || !same_status(seen, &p.plan.status);
	p.plan.status_urgent = !seen || !same_but_use(seen, &p.plan.status);
	*ret_plan = p.plan;
	return 0;
}
