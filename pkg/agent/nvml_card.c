/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One card: who it is, where it is, how much memory it has. What the library writes is checked
 * before it is believed: what a layout cannot hold is not known.
 */
#include <stdio.h>
#include <string.h>

#include "agent/product.h"
#include "nvml_internal.h"

bool asking_told(struct asking *asking, int code)
{
	asking->lost = asking->lost || code == NVML_CODE_GPU_IS_LOST ||
		       code == NVML_CODE_RESET_REQUIRED ||
		       (asking->basic && code == NVML_CODE_UNKNOWN);
	return code == NVML_CODE_SUCCESS;
}

/* The text in @text, of which nobody says that it ends; empty where it is not printable ASCII. */
static struct str printable(const char *text, size_t size)
{
	size_t len = strnlen(text, size);

	if (len == size || len > LIMIT_LAYOUT_TEXT)
		return STR_NONE;
	for (size_t i = 0; i < len; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			return STR_NONE;
	return (struct str){text, len};
}

struct str asking_uuid(struct asking *asking)
{
	char text[NVML_UUID_SIZE] = "";
	struct str uuid;
	const char *copy;

	if (!ASK(asking, uuid, text, sizeof(text)))
		return STR_NONE;
	uuid = printable(text, sizeof(text));
	copy = arena_strndup(asking->arena, uuid.data, uuid.len);
	return copy ? (struct str){copy, uuid.len} : STR_NONE;
}

static struct str product_of(struct asking *asking)
{
	char text[NVML_NAME_SIZE] = "";

	if (!ASK(asking, name, text, sizeof(text)))
		return STR_NONE;
	return product_label(asking->arena, printable(text, sizeof(text)), '-');
}

#define PCI_TEXT_SIZE 32

struct str nvml_pci_text(struct arena *arena, const struct nvml_pci *pci)
{
	char *text = arena_alloc(arena, PCI_TEXT_SIZE);

	if (!text || pci->bus > 0xff || pci->device > 0x1f)
		return STR_NONE;
	snprintf(text, PCI_TEXT_SIZE, "%04x:%02x:%02x.0", pci->domain, pci->bus, pci->device);
	return str_from(text);
}

int64_t nvml_amount(unsigned long long amount, int64_t unit)
{
	if (amount == 0 || amount > (unsigned long long)(LIMIT_LAYOUT_AMOUNT / unit))
		return AMOUNT_UNKNOWN;
	return (int64_t)amount * unit;
}

static int64_t memory_of(struct asking *asking)
{
	struct nvml_memory memory = {0};

	return ASK(asking, memory, &memory) ? nvml_amount(memory.total, 1) : AMOUNT_UNKNOWN;
}

static uint32_t numa_of(struct asking *asking)
{
	unsigned int node = 0;

	return ASK(asking, numa, &node) ? node : LAYOUT_NONE;
}

int nvml_read_card(struct asking *asking, struct card_facts *card, struct error *err)
{
	struct nvml_pci pci = {0};

	asking->basic = true;
	if (ASK(asking, pci, &pci))
		card->pci = nvml_pci_text(asking->arena, &pci);
	card->uuid = asking_uuid(asking);
	card->memory = memory_of(asking);
	asking->basic = false;
	card->product = product_of(asking);
	card->numa = numa_of(asking);
	asking->answers = card->memory != AMOUNT_UNKNOWN || !str_empty(card->uuid);
	return nvml_read_partitions(asking, card, err);
}
