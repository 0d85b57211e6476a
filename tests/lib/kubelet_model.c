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

uint32_t kubelet_pod_asks(const struct kubelet_pod *pod, int resource)
{
	uint32_t sidecars = 0, sum = 0, most = 0;

	for (size_t i = 0; i < pod->n; i++) {
		uint32_t asks = pod->containers[i].asks[resource];

		if (pod->containers[i].kind == CONTAINER_INIT)
			most = MAX(most, asks + sidecars);
		else
			sum += asks;
		if (pod->containers[i].kind == CONTAINER_SIDECAR)
			sidecars += asks;
	}
	return MAX(most, sum);
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

static bool pins(const struct kubelet_model *model, const struct kubelet_pod *pod)
{
	return model->settings.static_cpu && pod->guaranteed && pod->whole_cpus;
}

struct affinity {
	bool any; /* nobody hints anything, or nobody listens */
	uint64_t mask;
};

/* False: the topology manager rejects the pod. */
static bool align(const struct kubelet_model *model, const struct kubelet_pod *pod,
		  const uint32_t *asks, const uint64_t *reusable, struct random *random,
		  struct affinity *ret_affinity)
{
	bool single = model->settings.policy == LAYOUT_POLICY_SINGLE_NUMA, any = true;
	uint64_t merged = UINT64_C(1) << ((UINT64_C(1) << model->n_numas) - 1), at;

	*ret_affinity = (struct affinity){.any = true};
	if (!single && model->settings.policy != LAYOUT_POLICY_RESTRICTED)
		return true;
	for (int r = 0; r < KUBELET_RESOURCES; r++) {
		const struct kubelet_resource *resource = &model->resources[r];
		uint64_t masks;

		if (asks[r] == 0 || !tells_places(model, resource))
			continue;
		masks = preferred_masks(model, resource, reusable[r], asks[r]);
		merged = merge(merged, single ? masks & single_masks(model) : masks);
		any = false;
	}
	if (any)
		return true;
	if (pins(model, pod))
		merged = merge(merged, single_masks(model));
	if (merged == 0)
		return false;
	at = some_of(merged, 1, random);
	ret_affinity->any = false;
	while (at >>= 1)
		ret_affinity->mask++;
	return true;
}

/* --- giving */

/* devicesToAllocate(). False: there are too few. */
static bool give(struct kubelet_resource *resource, bool aligned, uint64_t mask, uint64_t *reusable,
		 uint32_t request, struct random *random, uint64_t *ret_units)
{
	uint64_t units = some_of(*reusable, request, random);
	uint64_t left = available(resource);
	uint32_t needed = request - count_of(units);

	if (needed > count_of(left))
		return false;
	*reusable &= ~units;
	if (aligned) {
		uint64_t near = some_of(under(resource, left, mask), needed, random);

		units |= near;
		left &= ~near;
		needed -= count_of(near);
	}
	units |= some_of(left, needed, random);
	resource->given |= units;
	*ret_units = units;
	return true;
}

static bool run(struct kubelet_model *model, const struct kubelet_pod *pod,
		const struct kubelet_container *container, struct affinity affinity,
		uint64_t *reusable, struct random *random, struct kubelet_answer *answer)
{
	for (int r = 0; r < KUBELET_RESOURCES; r++) {
		struct kubelet_resource *resource = &model->resources[r];
		bool aligned = !affinity.any && tells_places(model, resource);
		uint64_t units;

		if (container->asks[r] == 0)
			continue;
		if (!give(resource, aligned, affinity.mask, &reusable[r], container->asks[r],
			  random, &units))
			return false;
		answer->units[r] |= units;
		if (container->kind == CONTAINER_INIT)
			reusable[r] |= units;
	}
	if (pins(model, pod) && container->asks[KUBELET_CARDS] + container->asks[KUBELET_PARTS] > 0)
		answer->cpus |= affinity.any ? (UINT64_C(1) << model->n_numas) - 1 : affinity.mask;
	return true;
}

static bool admit(struct kubelet_model *model, const struct kubelet_pod *pod, struct random *random,
		  struct kubelet_answer *answer)
{
	uint64_t reusable[KUBELET_RESOURCES] = {0};
	uint32_t all[KUBELET_RESOURCES];
	struct affinity affinity;

	for (int r = 0; r < KUBELET_RESOURCES; r++)
		all[r] = kubelet_pod_asks(pod, r);
	if (model->settings.pod_scope && !align(model, pod, all, reusable, random, &affinity))
		return false;
	for (size_t i = 0; i < pod->n; i++) {
		const struct kubelet_container *container = &pod->containers[i];

		if (!model->settings.pod_scope &&
		    !align(model, pod, container->asks, reusable, random, &affinity))
			return false;
		if (!run(model, pod, container, affinity, reusable, random, answer))
			return false;
	}
	return true;
}

struct kubelet_answer kubelet_admit(struct kubelet_model *model, const struct kubelet_pod *pod,
				    struct random *random)
{
	struct kubelet_answer answer = {0};
	struct kubelet_model before = *model;

	answer.admitted = admit(model, pod, random, &answer);
	if (!answer.admitted) {
		*model = before;
		answer = (struct kubelet_answer){0};
	}
	return answer;
}

void kubelet_release(struct kubelet_model *model, const struct kubelet_answer *answer)
{
	for (int r = 0; r < KUBELET_RESOURCES; r++)
		model->resources[r].given &= ~answer->units[r];
}
