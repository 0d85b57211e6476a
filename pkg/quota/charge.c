/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pod's request. Containers are read once, in order; for each pair of resource and device four
 * sums are kept of either number, from which the formula follows. Init containers run one after the
 * other, each beside the sidecars that started before it, hence the peak.
 */
#include "quota/charge.h"

#include <assert.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/limits.h"
#include "base/macros.h"

/* Of counts, or of devices. */
struct sums {
	int64_t normal, sidecars;
	int64_t init_peak; /* of an init container and the sidecars before it */
	int64_t overhead;
};

struct tally {
	struct str resource, device;
	struct sums counts, devices, given; /* given: counts and what was told beyond them */
};

struct request {
	struct tally tallies[LIMIT_RESOURCES_PER_POD];
	size_t len, max;
};

static struct tally *tally_find(struct request *request, struct str resource, struct str device)
{
	for (size_t i = 0; i < request->len; i++)
		if (str_equal(request->tallies[i].resource, resource) &&
		    str_equal(request->tallies[i].device, device))
			return &request->tallies[i];
	return NULL;
}

/* What there is no room for, and the last of what there was: units of who knows what. */
static struct tally *tally_beyond(struct request *request)
{
	const struct str unreadable = STR(DEVICE_UNREADABLE);
	struct tally *tally = tally_find(request, unreadable, STR_NONE);

	if (tally)
		return tally;
	tally = &request->tallies[request->len - 1];
	tally->resource = unreadable;
	tally->device = STR_NONE;
	tally->devices = (struct sums){0};
	tally->given = tally->counts;
	return tally;
}

static struct tally *tally_of(struct request *request, const struct device_ask *ask)
{
	struct tally *tally = tally_find(request, ask->resource, ask->device);

	if (tally)
		return tally;
	if (request->len == request->max)
		return tally_beyond(request);
	tally = &request->tallies[request->len++];
	*tally = (struct tally){.resource = ask->resource, .device = ask->device};
	return tally;
}

/* Units that are not told apart are of no cards, and nobody told of them. */
static int64_t devices_of(const struct tally *tally, const struct device_ask *ask)
{
	return str_empty(tally->device) ? 0 : ask->devices;
}

static int64_t given_of(const struct tally *tally, const struct device_ask *ask)
{
	int64_t told = str_empty(tally->device) ? 0 : MAX(ask->told, (int64_t)0);

	return saturating_add(ask->count, told);
}

static void add_container(struct sums *sums, enum container_kind kind, int64_t amount)
{
	int64_t with_sidecars = saturating_add(MAX(amount, 0), sums->sidecars);

	switch (kind) {
	case CONTAINER_NORMAL:
		sums->normal = saturating_add(sums->normal, MAX(amount, 0));
		break;
	case CONTAINER_SIDECAR:
		sums->sidecars = with_sidecars;
		break;
	case CONTAINER_INIT:
		sums->init_peak = MAX(sums->init_peak, with_sidecars);
		break;
	}
}

static int64_t total(const struct sums *sums)
{
	int64_t running = saturating_add(sums->normal, sums->sidecars);

	return saturating_add(MAX(running, sums->init_peak), sums->overhead);
}

static void add_containers(struct request *request, const struct pod_facts *pod)
{
	for (size_t i = 0; i < pod->n_containers; i++) {
		const struct container_facts *container = &pod->containers[i];

		for (size_t k = 0; k < container->n_asks; k++) {
			const struct device_ask *ask = &container->asks[k];
			struct tally *tally;

			if (ask->count <= 0)
				continue;
			tally = tally_of(request, ask);
			add_container(&tally->counts, container->kind, ask->count);
			add_container(&tally->devices, container->kind, devices_of(tally, ask));
			add_container(&tally->given, container->kind, given_of(tally, ask));
		}
	}
}

static void add_own(struct request *request, const struct pod_facts *pod)
{
	for (size_t i = 0; i < pod->n_own; i++) {
		const struct device_ask *ask = &pod->own[i];
		struct tally *tally;

		if (ask->count <= 0)
			continue;
		tally = tally_of(request, ask);
		tally->counts.overhead = saturating_add(tally->counts.overhead, ask->count);
		tally->given.overhead = saturating_add(tally->given.overhead, given_of(tally, ask));
		tally->devices.overhead =
			saturating_add(tally->devices.overhead, MAX(devices_of(tally, ask), 0));
	}
}

static struct device_ask row_of(const struct tally *tally)
{
	int64_t count = total(&tally->counts);

	return (struct device_ask){tally->resource, count, tally->device, total(&tally->devices),
				   total(&tally->given) - count};
}

size_t quota_pod_request(const struct pod_facts *pod, struct device_ask *ret_rows, size_t max)
{
	struct request request;

	assert(max > 0);
	request.len = 0;
	request.max = MIN(max, (size_t)LIMIT_RESOURCES_PER_POD);
	add_containers(&request, pod);
	add_own(&request, pod);
	for (size_t i = 0; i < request.len; i++)
		ret_rows[i] = row_of(&request.tallies[i]);
	if (request.len > 1)
		qsort(ret_rows, request.len, sizeof(*ret_rows), device_ask_compare);
	return request.len;
}
