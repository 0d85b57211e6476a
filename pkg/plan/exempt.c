/* SPDX-License-Identifier: Apache-2.0 */
/* Which pods are no victims: a check for each reason, in order; the first that says so counts. */
#include <stdlib.h>

#include "base/macros.h"
#include "plan/internal.h"

static bool is_self(const struct plan_ask *ask, uint32_t pod, const struct cluster_victim *v UNUSED)
{
	return pod == ask->pod;
}

static bool is_finished(const struct plan_ask *ask UNUSED, uint32_t pod UNUSED,
			const struct cluster_victim *v)
{
	return v->finished;
}

int plan_pod_compare(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

bool plan_is_going(const struct plan_ask *ask, uint32_t pod, const struct cluster_victim *v)
{
	const struct plan_left_alone *alone = &ask->left_alone;

	return v->terminating ||
	       (alone->n_pods > 0 &&
		bsearch(&pod, alone->pods, alone->n_pods, sizeof(pod), plan_pod_compare) != NULL);
}

static bool has_no_tenant(const struct plan_ask *ask UNUSED, uint32_t pod UNUSED,
			  const struct cluster_victim *v)
{
	return v->tenant == TABLE_NONE;
}

static bool is_as_high(const struct plan_ask *ask, uint32_t pod UNUSED,
		       const struct cluster_victim *v)
{
	return !ask->own && v->tier >= ask->tier;
}

static bool is_spared(const struct plan_ask *ask, uint32_t pod UNUSED,
		      const struct cluster_victim *v)
{
	return !ask->own && !(ask->protection.victim_tiers >> v->tier & 1);
}

static bool is_daemon(const struct plan_ask *ask UNUSED, uint32_t pod UNUSED,
		      const struct cluster_victim *v)
{
	return v->daemon;
}

static bool is_mirror(const struct plan_ask *ask UNUSED, uint32_t pod UNUSED,
		      const struct cluster_victim *v)
{
	return v->mirror;
}

/* The longer of what its own tenant is promised and what the other one asks for. */
static bool is_young(const struct plan_ask *ask, uint32_t pod UNUSED,
		     const struct cluster_victim *v)
{
	int64_t least_us = MAX(ask->protection.min_run_us, v->preemptible.min_run_us);

	return ask->now_real_us - v->started_us < least_us;
}

static bool is_budgeted(const struct plan_ask *ask UNUSED, uint32_t pod UNUSED,
			const struct cluster_victim *v)
{
	return v->budget == BUDGET_FORBIDS;
}

static bool has_budgets(const struct plan_ask *ask UNUSED, uint32_t pod UNUSED,
			const struct cluster_victim *v)
{
	return v->budget == BUDGET_SEVERAL;
}

static bool was_refused(const struct plan_ask *ask UNUSED, uint32_t pod UNUSED,
			const struct cluster_victim *v)
{
	return v->refused != NULL;
}

int plan_workload_compare(const void *a, const void *b)
{
	const struct plan_workload *left = a, *right = b;

	if (left->namespace != right->namespace)
		return left->namespace < right->namespace ? -1 : 1;
	return left->owner < right->owner ? -1 : left->owner > right->owner;
}

static bool is_left_alone(const struct plan_ask *ask, uint32_t pod UNUSED,
			  const struct cluster_victim *v)
{
	const struct plan_left_alone *alone = &ask->left_alone;
	struct plan_workload of = {v->namespace, v->owner};

	return alone->n_workloads > 0 && bsearch(&of, alone->workloads, alone->n_workloads,
						 sizeof(of), plan_workload_compare) != NULL;
}

enum plan_exemption plan_exempt(const struct plan_ask *ask, uint32_t pod,
				const struct cluster_victim *victim)
{
	static const struct {
		enum plan_exemption exemption;
		bool (*holds)(const struct plan_ask *ask, uint32_t pod,
			      const struct cluster_victim *victim);
	} checks[] = {
		{PLAN_SELF, is_self},
		{PLAN_FINISHED, is_finished},
		{PLAN_GOING, plan_is_going},
		{PLAN_NO_TENANT, has_no_tenant},
		{PLAN_TIER, is_as_high},
		{PLAN_TIER_SPARED, is_spared},
		{PLAN_DAEMON, is_daemon},
		{PLAN_MIRROR, is_mirror},
		{PLAN_YOUNG, is_young},
		{PLAN_BUDGET, is_budgeted},
		{PLAN_BUDGETS, has_budgets},
		{PLAN_REFUSED, was_refused},
		{PLAN_BACKED_OFF, is_left_alone},
	};

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		if (checks[i].holds(ask, pod, victim))
			return checks[i].exemption;
	return PLAN_NONE;
}

const char *plan_exemption_text(enum plan_exemption exemption)
{
	static const char *const texts[] = {
#define X(name, text) [PLAN_##name] = text,
		PLAN_EXEMPTIONS(X)
#undef X
	};

	return texts[exemption];
}
