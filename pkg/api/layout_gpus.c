/* SPDX-License-Identifier: Apache-2.0 */
/* The cards of a layout, and what they are cut into. */
#include <inttypes.h>

#include "api/layout_reader.h"
#include "api/wire_layout.h"
#include "base/macros.h"

/* 1 + the sharing; what is absent is not known. */
static int read_sharing(const struct layout_reader *r, struct str text)
{
	static const char *const texts[] = {"",
#define X(name, text) text,
					    DEVICE_SHARINGS(X)
#undef X
	};

	return layout_read_choice(r, "sharing", text, texts, ARRAY_SIZE(texts));
}

static int read_health(const struct layout_reader *r, struct str text)
{
	static const char *const texts[] = {
#define X(name, text) text,
		LAYOUT_HEALTHS(X)
#undef X
	};

	return layout_read_choice(r, "health", text, texts, ARRAY_SIZE(texts));
}

static int read_mig(struct layout_reader *r, const struct wire_layout_mig *wire,
		    struct layout_mig *migs)
{
	struct layout_mig *mig = &migs[r->part_index];

	if (str_empty(wire->profile))
		return LAYOUT_REFUSE(r, "profile", "is empty");
	if (layout_check_text(r, "profile", wire->profile) < 0)
		return -1;
	for (size_t i = 0; i < r->part_index; i++)
		if (str_equal(migs[i].profile, wire->profile))
			return LAYOUT_REFUSE(r, "profile", "%.*s occurs twice",
					     STR_ARGS(wire->profile));
	if (wire->count < 1 || wire->count > LIMIT_LAYOUT_MIGS)
		return LAYOUT_REFUSE(r, "count", "no number from 1 to %d", LIMIT_LAYOUT_MIGS);
	mig->profile = wire->profile;
	mig->count = (uint32_t)wire->count;
	return layout_read_positive(r, "memory", wire->memory, &mig->memory);
}

/* Partitions never have more memory than their card: that would sell some of it twice. */
static int check_mig_memory(struct layout_reader *r, const struct layout_gpu *gpu)
{
	int64_t left = gpu->memory;

	for (size_t i = 0; i < gpu->n_migs && gpu->memory != AMOUNT_UNKNOWN; i++) {
		const struct layout_mig *mig = &gpu->migs[i];

		if (mig->memory == AMOUNT_UNKNOWN)
			continue;
		if (mig->memory > left / mig->count)
			return LAYOUT_REFUSE(r, "mig", "partitions have more memory than the card");
		left -= mig->memory * mig->count;
	}
	return 0;
}

static int read_migs(struct layout_reader *r, struct wire_list list, struct layout_gpu *gpu)
{
	const struct wire_layout_mig *wire = list.items;
	struct layout_mig *migs;
	int rc = 0;

	if (list.len > LIMIT_LAYOUT_MIGS) {
		error_set(r->err, ERROR_LIMIT, "%zu profiles, more than %d", list.len,
			  LIMIT_LAYOUT_MIGS);
		return layout_locate(r, "mig");
	}
	if (layout_take_array(r, list, LIMIT_LAYOUT_MIGS, sizeof(*migs), &migs) < 0)
		return -1;
	r->part = "mig";
	for (r->part_index = 0; rc == 0 && r->part_index < list.len; r->part_index++)
		rc = read_mig(r, &wire[r->part_index], migs);
	r->part = NULL;
	gpu->migs = migs;
	gpu->n_migs = list.len;
	return rc < 0 ? rc : check_mig_memory(r, gpu);
}

static int read_gpu_names(struct layout_reader *r, const struct wire_layout_gpu *wire,
			  struct layout_gpu *gpus)
{
	struct layout_gpu *gpu = &gpus[r->index];

	if (layout_check_text(r, "uuid", wire->uuid) < 0 ||
	    layout_check_text(r, "product", wire->product) < 0 ||
	    layout_read_pci(r, wire->pci, &gpu->pci) < 0)
		return -1;
	for (size_t i = 0; i < r->index && !str_empty(wire->uuid); i++)
		if (str_equal(gpus[i].uuid, wire->uuid))
			return LAYOUT_REFUSE(r, "uuid", "%.*s occurs twice", STR_ARGS(wire->uuid));
	gpu->uuid = wire->uuid;
	gpu->product = wire->product;
	return 0;
}

static int read_gpu_place(struct layout_reader *r, const struct wire_layout_gpu *wire,
			  struct layout_gpu *gpu)
{
	if (layout_read_index(r, "index", layout_present(wire, WIRE_LAYOUT_GPU_INDEX, &wire->index),
			      LAYOUT_NONE, &gpu->index) < 0 ||
	    layout_read_index(r, "numa", layout_present(wire, WIRE_LAYOUT_GPU_NUMA, &wire->numa),
			      r->layout.n_numas, &gpu->numa) < 0)
		return -1;
	return layout_read_index(r, "bridge",
				 layout_present(wire, WIRE_LAYOUT_GPU_BRIDGE, &wire->bridge),
				 r->layout.n_bridges, &gpu->bridge);
}

static int read_gpu(struct layout_reader *r, const struct wire_layout_gpu *wire,
		    struct layout_gpu *gpus)
{
	struct layout_gpu *gpu = &gpus[r->index];
	int sharing, health;

	if (read_gpu_names(r, wire, gpus) < 0 || read_gpu_place(r, wire, gpu) < 0 ||
	    layout_read_positive(r, "speed", wire->speed, &gpu->speed) < 0 ||
	    layout_read_positive(r, "memory", wire->memory, &gpu->memory) < 0)
		return -1;
	sharing = read_sharing(r, wire->sharing);
	health = sharing < 0 ? -1 : read_health(r, wire->health);
	if (health < 0)
		return -1;
	gpu->sharing = sharing == 0 ? DEVICE_OTHER : (enum device_sharing)(sharing - 1);
	gpu->health = (enum layout_health)health;
	return read_migs(r, wire->migs, gpu);
}

int layout_read_gpus(struct layout_reader *r, struct wire_list list)
{
	const struct wire_layout_gpu *wire = list.items;
	struct layout_gpu *gpus;

	r->list = "gpus";
	if (layout_take_array(r, list, LIMIT_LAYOUT_GPUS, sizeof(*gpus), &gpus) < 0)
		return -1;
	for (r->index = 0; r->index < list.len; r->index++)
		if (read_gpu(r, &wire[r->index], gpus) < 0)
			return -1;
	r->layout.gpus = gpus;
	r->layout.n_gpus = list.len;
	return 0;
}
