/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pod's request. Containers are read once, in order; for each resource four sums are kept, from
 * which the formula follows. Init containers run one after the other, each beside the sidecars that
 * started before it, hence the peak.
 */
#include "quota/charge.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/limits.h"
#include "base/macros.h"

struct tally {
	struct str resource;
	int64_t normal, sidecars;
	int64_t init_peak; /* of an init container and the sidecars before it */
	int64_t overhead;
};

struct request {
	struct tally tallies[LIMIT_RESOURCES_PER_POD];
	size_t len, max;
};

/* NULL when there are too many. */
static struct tally *tally_of(struct request *request, struct str resource)
{
	for (size_t i = 0; i < request->len; i++)
		if (str_equal(request->tallies[i].resource, resource))
			return &request->tallies[i];
	if (request->len == request->max)
		return NULL;
	request->tallies[request->len] = (struct tally){.resource = resource};
	return &request->tallies[request->len++];
}

static void add_container(struct tally *tally, enum container_kind kind, int64_t count)
{
	int64_t with_sidecars = saturating_add(count, tally->sidecars);

	switch (kind) {
	case CONTAINER_NORMAL:
		tally->normal = saturating_add(tally->normal, count);
		break;
	case CONTAINER_SIDECAR:
		tally->sidecars = with_sidecars;
		break;
	case CONTAINER_INIT:
		tally->init_peak = MAX(tally->init_peak, with_sidecars);
		break;
	}
}

static int too_many(struct error *err)
{
	return error_set(err, ERROR_LIMIT, "the pod asks for more than %d GPU resources",
			 LIMIT_RESOURCES_PER_POD);
}

static int add_containers(struct request *request, const struct pod_facts *pod, struct error *err)
{
	if (pod->n_containers > LIMIT_CONTAINERS_PER_POD)
		return error_set(err, ERROR_LIMIT, "the pod has more than %d containers",
				 LIMIT_CONTAINERS_PER_POD);
	for (size_t i = 0; i < pod->n_containers; i++) {
		const struct container_facts *container = &pod->containers[i];

		for (size_t k = 0; k < container->n_requests; k++) {
			const struct resource_amount *amount = &container->requests[k];
			struct tally *tally;

			if (amount->count <= 0)
				continue;
			tally = tally_of(request, amount->resource);
			if (!tally)
				return too_many(err);
			add_container(tally, container->kind, amount->count);
		}
	}
	return 0;
}

static int add_overhead(struct request *request, const struct pod_facts *pod, struct error *err)
{
	for (size_t i = 0; i < pod->n_overhead; i++) {
		struct tally *tally;

		if (pod->overhead[i].count <= 0)
			continue;
		tally = tally_of(request, pod->overhead[i].resource);
		if (!tally)
			return too_many(err);
		tally->overhead = saturating_add(tally->overhead, pod->overhead[i].count);
	}
	return 0;
}

static int64_t total(const struct tally *tally)
{
	int64_t running = saturating_add(tally->normal, tally->sidecars);

	return saturating_add(MAX(running, tally->init_peak), tally->overhead);
}

int quota_pod_request(const struct pod_facts *pod, struct resource_amount *ret_rows, size_t max,
		      size_t *ret_len, struct error *err)
{
	struct request request;

	request.len = 0;
	request.max = MIN(max, (size_t)LIMIT_RESOURCES_PER_POD);
	if (add_containers(&request, pod, err) < 0 || add_overhead(&request, pod, err) < 0)
		return -1;
	for (size_t i = 0; i < request.len; i++)
		ret_rows[i] = (struct resource_amount){request.tallies[i].resource,
						       total(&request.tallies[i])};
	if (request.len > 1)
		qsort(ret_rows, request.len, sizeof(*ret_rows), resource_amount_compare);
	*ret_len = request.len;
	return 0;
}
