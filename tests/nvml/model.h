/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_NVML_MODEL_H
#define GPUQOS_TESTS_NVML_MODEL_H

#include <stdbool.h>

#include "agent/nvml_calls.h"

/*
 * A library that speaks the ABI of NVIDIA's, about cards that a file describes: the one that the
 * environment's NVML_DESCRIPTION names, read at initialisation. A line of it is a word and what
 * belongs to it; those below `card` are of that card, up to the next one.
 *
 *	count N                     in place of how many cards follow
 *	init CODE                   what initialisation returns
 *	card
 *	uuid TEXT, name TEXT        to the end of the line, "*": a buffer full of it without an end
 *	pci 0000:1b:00              domain, bus and device, in hexadecimal digits
 *	memory BYTES
 *	numa N
 *	ecc ERRORS                  ECC is on, so many could not be corrected
 *	remapped PENDING FAILED
 *	link N gpu|switch|npu 0000:1b:00 [MB/s]
 *	linkversion N
 *	mig [COUNT]                 MIG mode is on; how many devices there may be, in place of 7
 *	partition INSTANCE PROFILE SLICES COMPUTE MIB UUID
 *	xid N [INSTANCE]            an event that comes once the card is watched
 *	process PID BYTES [INSTANCE]
 *	busy PID PERCENT            of its multiprocessors
 *	fails SYMBOL CODE           what that function returns for this card
 */

#define MODEL_CARDS 80
#define MODEL_PARTS 16
#define MODEL_TEXT  96

struct model_partition {
	bool is_partition; /* true; first, to tell handles apart */
	struct model_card *card;
	unsigned int instance, profile, slices, compute;
	unsigned long long memory_mib;
	char uuid[MODEL_TEXT];
};

struct model_link {
	bool is_up;
	int type;
	unsigned int domain, bus, device, speed;
};

struct model_failure {
	char symbol[64];
	int code;
};

struct model_card {
	bool is_partition; /* false; first */
	char uuid[MODEL_TEXT], name[MODEL_TEXT];
	unsigned int domain, bus, device, numa, link_version, pending, failed, mig_count;
	bool has_ecc, has_rows, is_mig, is_watched;
	unsigned long long memory, ecc_errors;
	struct model_link links[NVML_MAX_LINKS];
	struct model_partition partitions[MODEL_PARTS];
	struct nvml_event events[MODEL_PARTS];
	struct nvml_process processes[MODEL_PARTS];
	struct nvml_utilization busy[MODEL_PARTS];
	struct model_failure failures[MODEL_PARTS];
	unsigned int n_partitions, n_events, n_processes, n_busy, n_failures;
};

struct model {
	struct model_card cards[MODEL_CARDS];
	unsigned int n_cards, count;
	int init_code;
};

extern struct model model;

/* Reads the description; false where there is none, or a line is wrong, which it prints. */
bool model_load(void);

/* The card that @device is or belongs to. */
struct model_card *model_card_of(nvml_device device);
/* What @symbol returns for @device where it succeeds: its code of `fails`, else 0. */
int model_code(nvml_device device, const char *symbol);
/* Writes @text as the library would. */
void model_write(const char *text, char *out, unsigned int size);

#define MODEL_FAIL(device)                               \
	do {                                             \
		int code = model_code(device, __func__); \
		if (code != 0)                           \
			return code;                     \
	} while (0)

/* All that the agent may call, as the agent declares it. */
#define X(name, symbol, parameters) int symbol parameters;
NVML_CALLS(X)
#undef X

#endif
