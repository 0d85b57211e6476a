/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes a card that still answers a failed one: counters of its memory, and XID errors, which
 * come as events. The library keeps events of one set in a queue; they are taken when the cards are
 * read, without waiting. A card has failed by one until the library is opened again, as with the
 * device plugin, since nobody tells when what happened is over.
 */
#include "nvml_internal.h"

/* Events taken at a time: a card that floods is known to have failed by its first. */
#define EVENTS_MAX 4096

/*
 * What an application can bring about by itself: graphics engine exception, page fault, stopped
 * processing, clean-up after an earlier error, video processor exception, context switch that took
 * too long. The device plugin passes over the same.
 */
static const unsigned long long applications[] = {13, 31, 43, 45, 68, 109};

bool nvml_is_worn(struct asking *asking)
{
	unsigned int corrected = 0, uncorrected = 0, pending = 0, failed = 0;
	int enabled = 0, next = 0;
	unsigned long long errors = 0;

	if (ASK(asking, remapped, &corrected, &uncorrected, &pending, &failed) &&
	    (pending != 0 || failed != 0))
		return true;
	return ASK(asking, ecc_mode, &enabled, &next) && enabled == NVML_ENABLED &&
	       ASK(asking, ecc_errors, NVML_UNCORRECTED, NVML_VOLATILE, &errors) && errors > 0;
}

static struct known_card *find_known(struct nvml *nvml, nvml_device device)
{
	for (size_t i = 0; i < nvml->n_known; i++)
		if (nvml->known[i].device == device)
			return &nvml->known[i];
	return NULL;
}

static void register_events(struct nvml *nvml, nvml_device device)
{
	unsigned long long types = NVML_EVENT_XID;

	if (!nvml->events || (nvml->calls.event_types &&
			      nvml->calls.event_types(device, &types) != NVML_CODE_SUCCESS))
		return;
	if (types & NVML_EVENT_XID)
		nvml->calls.event_register(device, NVML_EVENT_XID, nvml->events);
}

struct known_card *nvml_watch(struct nvml *nvml, nvml_device device)
{
	struct known_card *known = find_known(nvml, device);

	if (known || nvml->n_known == ARRAY_SIZE(nvml->known))
		return known;
	known = &nvml->known[nvml->n_known++];
	known->device = device;
	register_events(nvml, device);
	return known;
}

static bool is_of_application(unsigned long long xid)
{
	for (size_t i = 0; i < ARRAY_SIZE(applications); i++)
		if (applications[i] == xid)
			return true;
	return false;
}

void nvml_take_events(struct nvml *nvml)
{
	for (int i = 0; nvml->events && i < EVENTS_MAX; i++) {
		struct nvml_event event = {.instance = NVML_NO_INSTANCE};
		struct known_card *card;

		if (nvml->calls.event_wait(nvml->events, &event, 0) != NVML_CODE_SUCCESS)
			return;
		card = find_known(nvml, event.device);
		if (card && event.type == NVML_EVENT_XID && event.instance == NVML_NO_INSTANCE &&
		    !is_of_application(event.data))
			card->has_failed = true;
	}
}

bool nvml_has_failed(const struct nvml *nvml, nvml_device device)
{
	for (size_t i = 0; i < nvml->n_known; i++)
		if (nvml->known[i].device == device)
			return nvml->known[i].has_failed;
	return false;
}
