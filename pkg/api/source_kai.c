/* SPDX-License-Identifier: Apache-2.0 */
/*
 * KAI (kai-scheduler/KAI-Scheduler). A pod asks by annotation, and its containers request nothing:
 * gpu-fraction of a card or gpu-memory MiB, of each of gpu-fraction-num-devices cards (1). Each
 * node with whole cards can be shared so. The resource names are ours. A fraction is read in
 * thousandths, rounded up; what is no decimal number above 0 and at most 1, or no whole number of
 * MiB, is a whole card. A container that names them gets nothing for it: no node has any.
 */
#include "api/keys.h"
#include "api/source_common.h"
#include "base/checked.h"

#define GPU      "nvidia.com/gpu"
#define MEMORY   "kai.scheduler/gpu-memory"
#define FRACTION "kai.scheduler/gpu-fraction"

static bool speaks(struct str resource)
{
	return str_equal(resource, STR(MEMORY)) || str_equal(resource, STR(FRACTION));
}

static bool reads(struct str resource)
{
	(void)resource;
	return false;
}

static void ask(struct source_request *request)
{
	(void)request;
}

/* A fraction in units of 10^-16, which is as fine as it may be written. */
#define DIGITS 16
#define ONE    10000000000000000LL

static bool all_digits(struct str text, size_t most)
{
	if (text.len > most)
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] < '0' || text.data[i] > '9')
			return false;
	return true;
}

/* "0.5", ".5", "1": thousandths, or 0 where it is no fraction. */
static int64_t thousandths(struct str text)
{
	struct str whole, part;
	bool pointed = str_split(text, '.', &whole, &part);
	int64_t value = 0;

	if (!all_digits(whole, 9) || !all_digits(part, DIGITS) || str_empty(pointed ? part : whole))
		return 0;
	for (size_t i = 0; i < whole.len; i++)
		value = value * 10 + (whole.data[i] - '0');
	if (value > 1)
		return 0;
	for (size_t i = 0; i < DIGITS; i++)
		value = value * 10 + (i < part.len ? part.data[i] - '0' : 0);
	if (value > ONE)
		return 0;
	return value / (ONE / 1000) + (value % (ONE / 1000) > 0);
}

/* A whole number of at most @most digits beside leading zeros, or 0. */
static int64_t number(struct str text, size_t most)
{
	int64_t value = 0;

	while (text.len > 1 && text.data[0] == '0')
		text = str_skip(text, 1);
	if (!all_digits(text, most))
		return 0;
	str_to_int64(text, 0, INT64_MAX, &value);
	return value;
}

static int64_t devices_of(const struct source_pod *pod)
{
	int64_t devices = 1;
	struct str text;

	if (wire_map_get(pod->annotations, STR(KEY_KAI_DEVICES), &text))
		devices = number(text, 4);
	return devices > 0 ? devices : 1;
}

static void ask_for(struct source_pod *pod, struct str row, int64_t each)
{
	int64_t devices = devices_of(pod);

	if (each > 0)
		source_ask(&pod->own, (struct device_ask){row, saturating_mul(each, devices),
							  STR(GPU), devices, 0});
	else
		source_ask(&pod->own, device_ask_units(STR(GPU), devices));
	pod->annotated = true;
}

static void annotations(struct source_pod *pod)
{
	struct str text;

	if (wire_map_get(pod->annotations, STR(KEY_KAI_FRACTION), &text))
		ask_for(pod, STR(FRACTION), thousandths(text));
	if (wire_map_get(pod->annotations, STR(KEY_KAI_MEMORY), &text))
		ask_for(pod, STR(MEMORY), number(text, 9));
}

/* Parts of what a unit of nvidia.com/gpu costs, whoever told it. */
static void offer(struct source_node *node)
{
	const struct device_offer *whole = source_offer_find(node, STR(GPU));
	struct device_offer cards, *part;

	if (!whole || whole->sharing != DEVICE_WHOLE)
		return;
	cards = *whole;
	part = source_offer(node, STR(MEMORY), cards.count);
	part->product = cards.product;
	part->sharing = DEVICE_FRACTION;
	part->unit_memory = MIB;
	if (cards.unit_memory != AMOUNT_UNKNOWN && cards.unit_memory >= MIB)
		part->count = saturating_mul(cards.count, cards.unit_memory / MIB);
	part = source_offer(node, STR(FRACTION), saturating_mul(cards.count, 1000));
	part->product = cards.product;
	part->sharing = DEVICE_FRACTION;
	source_price(part, &node->card, 1000);
}

const struct source source_kai = {
	.name = "kai",
	.speaks = speaks,
	.reads = reads,
	.ask = ask,
	.annotations = annotations,
	.offer = offer,
};
