/* SPDX-License-Identifier: Apache-2.0 */
/* One container after the other: hints of all providers, their merging, and what is given. */
#include "kubelet_model.h"

#include "base/macros.h"

#define MASKS 64 /* sets of up to 6 NUMA nodes; a set of masks is a word */

static uint32_t count_of(uint64_t set)
{
	uint32_t n = 0;

	for (; set != 0; set &= set - 1)
		n++;
	return n;
}

/* A random part of @set with @n units, or all of it. */
static uint64_t some_of(uint64_t set, uint32_t n, struct random *random)
{
	uint64_t left = set, chosen = 0;

	while (left != 0 && count_of(chosen) < n) {
		uint64_t nth = random_below(random, count_of(left)), at = left;

		while (nth-- > 0)
			at &= at - 1;
		chosen |= at & (~at + 1);
		left = set & ~chosen;
	}
	return chosen;
}

static uint32_t formula(const struct kubelet_pod *pod, const uint32_t *asks)
{
	uint32_t sidecars = 0, sum = 0, most = 0;

	for (size_t i = 0; i < pod->n; i++) {
		if (pod->containers[i].kind == CONTAINER_INIT)
			most = MAX(most, asks[i] + sidecars);
		else
			sum += asks[i];
		if (pod->containers[i].kind == CONTAINER_SIDECAR)
			sidecars += asks[i];
	}
	return MAX(most, sum);
}

uint32_t kubelet_pod_asks(const struct kubelet_pod *pod, int resource)
{
	uint32_t asks[KUBELET_CONTAINERS] = {0};

	for (size_t i = 0; i < pod->n; i++)
		asks[i] = pod->containers[i].asks[resource];
	return formula(pod, asks);
}

uint32_t kubelet_pod_cpus(const struct kubelet_pod *pod)
{
	uint32_t cpus[KUBELET_CONTAINERS] = {0};

	for (size_t i = 0; i < pod->n; i++)
		cpus[i] = pod->containers[i].cpus;
	return formula(pod, cpus);
}

/* --- hints */

static uint64_t under(const struct kubelet_resource *resource, uint64_t set, uint64_t mask)
{
	uint64_t found = 0;

	for (uint32_t i = 0; i < KUBELET_UNITS; i++)
		if (set >> i & 1 && resource->numa[i] != LAYOUT_NONE &&
		    mask >> resource->numa[i] & 1)
			found |= UINT64_C(1) << i;
	return found;
}

static bool tells_places(const struct kubelet_model *model, const struct kubelet_resource *resource)
{
	uint64_t all = (UINT64_C(1) << model->n_numas) - 1;

	return under(resource, resource->registered, all) != 0;
}

static uint64_t available(const struct kubelet_resource *resource)
{
	return resource->registered & resource->healthy & ~resource->given;
}

/* generateDeviceTopologyHints(): the masks that are preferred, as a set of masks. */
static uint64_t preferred_masks(const struct kubelet_model *model,
				const struct kubelet_resource *resource, uint64_t reusable,
				uint32_t request)
{
	uint32_t least = model->n_numas;
	uint64_t masks = 0, all = (UINT64_C(1) << model->n_numas) - 1;

	if (count_of(available(resource) | reusable) < request)
		return 0;
	for (uint64_t mask = 1; mask <= all; mask++)
		if (count_of(under(resource, resource->registered, mask)) >= request)
			least = MIN(least, count_of(mask));
	for (uint64_t mask = 1; mask <= all; mask++) {
		uint64_t places = under(resource, reusable, all);

		if (places & ~under(resource, reusable, mask))
			continue;
		if (count_of(places | under(resource, available(resource), mask)) >= request &&
		    count_of(mask) == least)
			masks |= UINT64_C(1) << mask;
	}
	return masks;
}

/* All masks with one node. */
static uint64_t single_masks(const struct kubelet_model *model)
{
	uint64_t masks = 0;

	for (uint32_t numa = 0; numa < model->n_numas; numa++)
		masks |= UINT64_C(1) << (UINT64_C(1) << numa);
	return masks;
}

/* What can come of one mask of each. */
static uint64_t merge(uint64_t a, uint64_t b)
{
	uint64_t merged = 0;

	for (uint32_t i = 1; i < MASKS; i++)
		for (uint32_t j = 1; j < MASKS; j++)
			if (a >> i & 1 && b >> j & 1 && (i & j) != 0)
				merged |= UINT64_C(1) << (i & j);
	return merged;
}

/* CPUs that a container gets for itself. */
static uint32_t pinned(const struct kubelet_model *model, const struct kubelet_pod *pod,
		       uint32_t cpus)
{
	return model->settings.static_cpu && pod->guaranteed ? cpus : 0;
}

static uint32_t cpus_under(const uint32_t *cpus, uint64_t mask)
{
	uint32_t n = 0;

	for (uint32_t numa = 0; numa < KUBELET_NUMAS; numa++)
		n += mask >> numa & 1 ? cpus[numa] : 0;
	return n;
}

/* generateCPUTopologyHints(), likewise. */
static uint64_t preferred_cpu_masks(const struct kubelet_model *model, const uint32_t *reusable,
				    uint32_t request)
{
	uint32_t least = model->n_numas;
	uint64_t masks = 0, all = (UINT64_C(1) << model->n_numas) - 1;

	for (uint64_t mask = 1; mask <= all; mask++)
		if (cpus_under(model->cpus, mask) >= request)
			least = MIN(least, count_of(mask));
	for (uint64_t mask = 1; mask <= all; mask++)
		if (cpus_under(reusable, all & ~mask) == 0 && count_of(mask) == least &&
		    cpus_under(reusable, mask) + cpus_under(model->free_cpus, mask) >= request)
			masks |= UINT64_C(1) << mask;
	return masks;
}

/* One pod on its way through. */
struct admission {
	struct kubelet_model *model;
	const struct kubelet_pod *pod;
	struct random *random;
	uint64_t reusable[KUBELET_RESOURCES]; /* that its init containers got */
	uint32_t reusable_cpus[KUBELET_NUMAS];
	bool any; /* nobody hints anything, or nobody listens; else mask counts */
	uint64_t mask;
	struct kubelet_answer answer;
};

/* False: the topology manager rejects the pod. */
static bool align(struct admission *a, const uint32_t *asks, uint32_t cpus)
{
	const struct kubelet_model *model = a->model;
	bool single = model->settings.policy == LAYOUT_POLICY_SINGLE_NUMA;
	uint64_t wanted = single ? single_masks(model) : UINT64_MAX;
	uint64_t merged = UINT64_C(1) << ((UINT64_C(1) << model->n_numas) - 1), at;

	a->any = true;
	a->mask = 0;
	if (!single && model->settings.policy != LAYOUT_POLICY_RESTRICTED)
		return true;
	for (int r = 0; r < KUBELET_RESOURCES; r++) {
		const struct kubelet_resource *resource = &model->resources[r];

		if (asks[r] == 0 || !tells_places(model, resource))
			continue;
		merged = merge(merged,
			       wanted & preferred_masks(model, resource, a->reusable[r], asks[r]));
		a->any = false;
	}
	cpus = pinned(model, a->pod, cpus);
	if (cpus > 0) {
		merged = merge(merged, wanted & preferred_cpu_masks(model, a->reusable_cpus, cpus));
		a->any = false;
	}
	if (a->any)
		return true;
	at = some_of(merged, 1, a->random);
	while (at >>= 1)
		a->mask++;
	return merged != 0;
}

/* --- giving */

/* devicesToAllocate(). False: there are too few. */
static bool give(struct admission *a, int r, uint32_t request, uint64_t *ret_units)
{
	struct kubelet_resource *resource = &a->model->resources[r];
	uint64_t units = some_of(a->reusable[r], request, a->random);
	uint64_t left = available(resource);
	uint32_t needed = request - count_of(units);

	if (needed > count_of(left))
		return false;
	a->reusable[r] &= ~units;
	if (!a->any && tells_places(a->model, resource)) {
		uint64_t near = some_of(under(resource, left, a->mask), needed, a->random);

		units |= near;
		left &= ~near;
		needed -= count_of(near);
	}
	units |= some_of(left, needed, a->random);
	resource->given |= units;
	*ret_units = units;
	return true;
}

/* One of the CPUs of these NUMA nodes; false where none is left. */
static bool give_cpu(struct admission *a, uint64_t mask, uint32_t *given, uint32_t *reused)
{
	uint32_t *free = a->model->free_cpus;
	uint32_t left = cpus_under(free, mask) + cpus_under(a->reusable_cpus, mask), nth;

	if (left == 0)
		return false;
	nth = (uint32_t)random_below(a->random, left);
	for (uint32_t numa = 0; numa < KUBELET_NUMAS; numa++) {
		if (!(mask >> numa & 1))
			continue;
		if (nth < free[numa]) {
			free[numa]--;
			given[numa]++;
			return true;
		}
		nth -= free[numa];
		if (nth < a->reusable_cpus[numa]) {
			a->reusable_cpus[numa]--;
			reused[numa]++;
			return true;
		}
		nth -= a->reusable_cpus[numa];
	}
	return false;
}

/* allocateCPUs(): first those of the mask. False: there are too few. */
static bool give_cpus(struct admission *a, const struct kubelet_container *container, bool asks)
{
	uint64_t all = (UINT64_C(1) << a->model->n_numas) - 1, mask = a->any ? all : a->mask;
	uint32_t given[KUBELET_NUMAS] = {0}, reused[KUBELET_NUMAS] = {0};
	uint32_t request = pinned(a->model, a->pod, container->cpus);

	for (uint32_t i = 0; i < request; i++)
		if (!give_cpu(a, mask, given, reused) && !give_cpu(a, all, given, reused))
			return false;
	for (uint32_t numa = 0; numa < KUBELET_NUMAS; numa++) {
		a->answer.own_cpus[numa] += given[numa];
		if (container->kind == CONTAINER_INIT)
			a->reusable_cpus[numa] += given[numa] + reused[numa];
		if (asks && given[numa] + reused[numa] > 0)
			a->answer.cpus |= UINT64_C(1) << numa;
	}
	return true;
}

static bool run(struct admission *a, const struct kubelet_container *container)
{
	bool asks = false;

	for (int r = 0; r < KUBELET_RESOURCES; r++) {
		uint64_t units;

		if (container->asks[r] == 0)
			continue;
		asks = true;
		if (!give(a, r, container->asks[r], &units))
			return false;
		a->answer.units[r] |= units;
		if (container->kind == CONTAINER_INIT)
			a->reusable[r] |= units;
	}
	return give_cpus(a, container, asks);
}

static bool admit(struct admission *a)
{
	bool whole_pod = a->model->settings.pod_scope;
	uint32_t all[KUBELET_RESOURCES];

	for (int r = 0; r < KUBELET_RESOURCES; r++)
		all[r] = kubelet_pod_asks(a->pod, r);
	if (whole_pod && !align(a, all, kubelet_pod_cpus(a->pod)))
		return false;
	for (size_t i = 0; i < a->pod->n; i++) {
		const struct kubelet_container *container = &a->pod->containers[i];

		if (!whole_pod && !align(a, container->asks, container->cpus))
			return false;
		if (!run(a, container))
			return false;
	}
	return true;
}

struct kubelet_answer kubelet_admit(struct kubelet_model *model, const struct kubelet_pod *pod,
				    struct random *random)
{
	struct admission admission = {.model = model, .pod = pod, .random = random};
	struct kubelet_model before = *model;

	if (admit(&admission)) {
		admission.answer.admitted = true;
		return admission.answer;
	}
	*model = before;
	return (struct kubelet_answer){0};
}

void kubelet_release(struct kubelet_model *model, const struct kubelet_answer *answer)
{
	for (int r = 0; r < KUBELET_RESOURCES; r++)
		model->resources[r].given &= ~answer->units[r];
	for (uint32_t numa = 0; numa < KUBELET_NUMAS; numa++)
		model->free_cpus[numa] += answer->own_cpus[numa];
}
