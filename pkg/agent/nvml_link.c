/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVLinks that are up. A link's speed is what the driver tells, else what its version of NVLink is
 * made for; a link of which neither is known, or of which the other end is not, is left out, and
 * then not all links of the card are known.
 */
#include "nvml_internal.h"

#define MB_PER_S 1000000

/* MB/s in one direction by the number that the library gives to a version of NVLink; 0: not known.
 * By NVIDIA's data sheets: 1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0. */
static const int64_t nominal[] = {0, 20000, 25000, 25000, 25000, 25000, 25000, 50000};

static int64_t field_speed(struct asking *asking, unsigned int field_id, unsigned int link)
{
	struct nvml_field field = {.field_id = field_id, .scope_id = link};

	if (!ASK(asking, fields, 1, &field) || !asking_told(asking, field.code))
		return AMOUNT_UNKNOWN;
	switch (field.value_type) {
	case NVML_VALUE_UINT:
		return nvml_amount(field.value.uint, MB_PER_S);
	case NVML_VALUE_ULONG:
		return nvml_amount(field.value.ulong, MB_PER_S);
	case NVML_VALUE_ULLONG:
		return nvml_amount(field.value.ullong, MB_PER_S);
	default:
		return AMOUNT_UNKNOWN;
	}
}

static int64_t speed_of(struct asking *asking, unsigned int link)
{
	int64_t speed = field_speed(asking, NVML_FIELD_LINK_SPEED, link);
	unsigned int version = 0;

	if (speed == AMOUNT_UNKNOWN)
		speed = field_speed(asking, NVML_FIELD_COMMON_SPEED, 0);
	if (speed == AMOUNT_UNKNOWN && ASK(asking, link_version, link, &version) &&
	    version < ARRAY_SIZE(nominal))
		speed = nvml_amount((unsigned long long)nominal[version], MB_PER_S);
	return speed;
}

/* False: the other end is not known. An old library tells only where it is, not what. */
static bool find_end(struct asking *asking, unsigned int link, struct link_facts *ret_link)
{
	struct nvml_pci pci = {0};
	int type = NVML_REMOTE_GPU;

	if (asking->nvml->calls.link_type && !ASK(asking, link_type, link, &type))
		return false;
	ret_link->switched = type == NVML_REMOTE_SWITCH;
	if (ret_link->switched)
		return true;
	if (type != NVML_REMOTE_GPU || !ASK(asking, link_pci, link, &pci))
		return false;
	ret_link->to = nvml_pci_text(asking->arena, &pci);
	return !str_empty(ret_link->to);
}

bool nvml_read_links(struct asking *asking, uint32_t card, struct link_facts *links,
		     size_t *n_links)
{
	bool known = asking->nvml->calls.link_state != NULL;

	for (unsigned int i = 0; i < NVML_MAX_LINKS; i++) {
		struct link_facts *link = &links[*n_links];
		int state = 0;

		if (!ASK(asking, link_state, i, &state) || state != NVML_ENABLED)
			continue;
		*link = (struct link_facts){.card = card};
		link->speed = speed_of(asking, i);
		if (link->speed != AMOUNT_UNKNOWN && find_end(asking, i, link))
			(*n_links)++;
		else
			known = false;
	}
	return known && !asking->lost;
}
