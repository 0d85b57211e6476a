/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MIG devices of a card. Their profile is named as NVIDIA's device plugin and nvidia-smi do,
 * from numbers: slices of the card's compute units, and its memory in eighths, rounded up, of what
 * the card is sold with; what engines an instance has beside or lacks is told by which of the
 * library's profiles it was made of.
 */
#include <inttypes.h>
#include <stdio.h>

#include "nvml_internal.h"

#define GB_SHARES 8

/* By number of the library's profile, from 7 on; a profile of unknown kind has no known name. */
static const char *const suffixes[] = {
	"+me", "+me", "", "+gfx", "+gfx", "+gfx", "-me", "-me", "+me.all", "+me.all", "+gfx",
};

#define FIRST_SUFFIX 7

/* Of at most card_memory, which is at most LIMIT_LAYOUT_AMOUNT. */
static int64_t gigabytes(int64_t memory, int64_t card_memory)
{
	int64_t card_gib = (card_memory + GIB - 1) / GIB;
	int64_t eighths = (memory * GB_SHARES + card_memory - 1) / card_memory;

	return (eighths * card_gib + GB_SHARES / 2) / GB_SHARES;
}

/* The instance that the MIG device is in, and what it was made of. False: not told. */
static bool find_profile(struct asking *card, uint32_t instance, uint32_t *ret_profile)
{
	const struct nvml_calls *calls = &card->nvml->calls;
	struct nvml_instance_info info = {0};
	nvml_instance handle = NULL;

	if (!ASK(card, instance_by_id, instance, &handle) || !calls->instance_info ||
	    !asking_told(card, calls->instance_info(handle, &info)))
		return false;
	for (uint32_t i = 0; i < NVML_PROFILE_COUNT; i++) {
		struct nvml_profile profile = {0};

		if (ASK(card, profile, i, &profile) && profile.id == info.profile_id) {
			*ret_profile = i;
			return true;
		}
	}
	return false;
}

static struct str profile_text(struct asking *card, const struct nvml_attributes *attributes,
			       int64_t card_memory, const char *suffix)
{
	char *text = arena_alloc(card->arena, LIMIT_LAYOUT_TEXT);
	char compute[16] = "";
	int64_t memory = nvml_amount(attributes->memory_mib, MIB);

	if (!text || memory == AMOUNT_UNKNOWN || memory > card_memory ||
	    attributes->instance_slices == 0 || attributes->instance_slices > GB_SHARES ||
	    attributes->compute_slices == 0 ||
	    attributes->compute_slices > attributes->instance_slices)
		return STR_NONE;
	if (attributes->compute_slices != attributes->instance_slices)
		snprintf(compute, sizeof(compute), "%uc.", attributes->compute_slices);
	snprintf(text, LIMIT_LAYOUT_TEXT, "%s%ug.%" PRId64 "gb%s", compute,
		 attributes->instance_slices, gigabytes(memory, card_memory), suffix);
	return str_from(text);
}

static void describe(struct asking *card, struct asking *device, int64_t card_memory,
		     struct partition_facts *partition)
{
	struct nvml_attributes attributes = {0};
	const char *suffix = "";
	unsigned int instance = NVML_NO_INSTANCE;
	uint32_t profile;

	*partition = (struct partition_facts){
		.uuid = asking_uuid(device), .instance = LAYOUT_NONE, .memory = AMOUNT_UNKNOWN};
	if (ASK(device, instance_id, &instance) && instance != NVML_NO_INSTANCE) {
		partition->instance = instance;
		if (find_profile(card, instance, &profile) && profile >= FIRST_SUFFIX)
			suffix = suffixes[profile - FIRST_SUFFIX];
	}
	if (!ASK(device, attributes, &attributes))
		return;
	partition->memory = nvml_amount(attributes.memory_mib, MIB);
	partition->profile = profile_text(card, &attributes, card_memory, suffix);
}

int nvml_read_partitions(struct asking *asking, struct card_facts *card, struct error *err)
{
	unsigned int mode = 0, pending = 0, count = 0;
	struct partition_facts *partitions;

	if (!ASK(asking, mig_mode, &mode, &pending) || mode != NVML_ENABLED)
		return 0;
	card->partitioned = true;
	if (!ASK(asking, mig_count, &count))
		return 0;
	count = MIN(count, LIMIT_LAYOUT_MIGS);
	partitions = arena_alloc(asking->arena, count * sizeof(*partitions));
	if (!partitions)
		return error_set(err, ERROR_LIMIT, "NVML: no room for %u MIG devices", count);
	for (unsigned int i = 0; i < count; i++) {
		struct asking device = {.nvml = asking->nvml, .arena = asking->arena};

		if (ASK(asking, mig_by_index, i, &device.device) && device.device)
			describe(asking, &device, card->memory, &partitions[card->n_partitions++]);
	}
	card->partitions = partitions;
	return 0;
}
