/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_NVML_INTERNAL_H
#define GPUQOS_AGENT_NVML_INTERNAL_H

#include "agent/nvml.h"
#include "agent/nvml_calls.h"

/* A card that the library has shown since it was loaded. */
struct known_card {
	nvml_device device;
	bool has_failed;    /* by an XID error */
	uint64_t sample_us; /* of the last sample of use that was seen; the driver's clock */
};

struct nvml {
	void *library;
	struct nvml_calls calls;
	nvml_event_set events; /* NULL: it has none */
	struct known_card known[LIMIT_LAYOUT_GPUS];
	size_t n_known;
};

/* One card, or MIG device, while it is asked. */
struct asking {
	const struct nvml *nvml;
	nvml_device device;
	struct arena *arena;
	bool basic;   /* what is asked now is what every card that works can tell */
	bool lost;    /* by what it answered */
	bool answers; /* it has told something that only a card that works can */
};

/* Whether @code is success; notes in @asking what else it means for the card. */
bool asking_told(struct asking *asking, int code);

/* ASK(asking, uuid, text, size): whether the library has the call, and the device answered it. */
#define ASK(asking, call, ...)         \
	((asking)->nvml->calls.call && \
	 asking_told((asking), (asking)->nvml->calls.call((asking)->device, __VA_ARGS__)))

/* The device's "GPU-..." or "MIG-..."; empty where it tells none that can be published. */
struct str asking_uuid(struct asking *asking);
/* @pci as Linux writes it, or empty. */
struct str nvml_pci_text(struct arena *arena, const struct nvml_pci *pci);
/* @amount in [1, LIMIT_LAYOUT_AMOUNT / unit] times @unit, else AMOUNT_UNKNOWN. */
int64_t nvml_amount(unsigned long long amount, int64_t unit);

/* pkg/agent/nvml_card.c: all of a card but its links and health; whether it answers. */
int nvml_read_card(struct asking *asking, struct card_facts *card, struct error *err);
/* pkg/agent/nvml_mig.c: fills partitioned, partitions, n_partitions. */
int nvml_read_partitions(struct asking *asking, struct card_facts *card, struct error *err);
/*
 * pkg/agent/nvml_link.c: adds the links of @card that are up to @links, which has room for
 * NVML_MAX_LINKS more, and says whether all of them are known.
 */
bool nvml_read_links(struct asking *asking, uint32_t card, struct link_facts *links,
		     size_t *n_links);

/* pkg/agent/nvml_usage.c: fills processes, n_processes; since when counts, and then until when. */
void nvml_read_processes(struct asking *asking, uint64_t *since_us, struct card_facts *card);

/* pkg/agent/nvml_health.c: whether what the card counts means that it has failed. */
bool nvml_is_worn(struct asking *asking);
/* What is kept of the card, whose events come from now on; NULL: there is no room for one more. */
struct known_card *nvml_watch(struct nvml *nvml, nvml_device device);
/* Takes the events that have come. */
void nvml_take_events(struct nvml *nvml);
bool nvml_has_failed(const struct nvml *nvml, nvml_device device);

#endif
