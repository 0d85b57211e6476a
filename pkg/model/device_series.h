/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_DEVICE_SERIES_H
#define GPUQOS_MODEL_DEVICE_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/str.h"

/*
 * Series of devices that exporters other than our agent have in Prometheus. Whose a figure is
 * decides what it proves:
 *
 * CARD: of a whole card, by its UUID. It is a pod's only where that pod has the card for itself.
 * CARDS: the sum over the whole cards that the exporter says a pod has; likewise.
 * OWN: what a pod's own processes do, summed over its containers and their cards.
 */
enum figure_scope { FIGURE_OF_CARD, FIGURE_OF_CARDS, FIGURE_OWN };

/* Bytes; percent of the time of a card, so that two make up to 200; bytes per second over PCIe, in
 * both directions. */
enum figure_quantity { FIGURE_MEMORY, FIGURE_SM, FIGURE_PCIE, FIGURE_QUANTITIES };

/* name, as --config names it */
#define EXPORTERS(X)    \
	X(DCGM, "DCGM") \
	X(HAMI, "HAMi") \
	X(AMD, "AMD")

enum exporter {
#define X(name, text) EXPORTER_##name,
	EXPORTERS(X)
#undef X
		EXPORTER_COUNT
};

/* One question to Prometheus each. */
enum device_series {
	SERIES_DCGM_MEMORY,
	SERIES_DCGM_SM,
	SERIES_DCGM_PCIE,
	SERIES_HAMI_OWN_MEMORY,
	SERIES_HAMI_OWN_SM,
	SERIES_HAMI_MEMORY,
	SERIES_HAMI_SM,
	SERIES_AMD_MEMORY,
	SERIES_AMD_SM,
	DEVICE_SERIES_COUNT
};

struct device_series_kind {
	enum exporter exporter;
	enum figure_quantity quantity;
	enum figure_scope scope;
};

struct device_series_kind device_series_kind(enum device_series series);

/* Borrowed, static. */
const char *exporter_text(enum exporter exporter);
const char *figure_quantity_text(enum figure_quantity quantity); /* "memory" */
const char *figure_scope_text(enum figure_scope scope);          /* "card" */

/* What one exporter tells of one card, or of one pod. Texts borrowed. */
struct device_figure {
	struct str card;           /* its UUID; of a pod's empty */
	struct str namespace, pod; /* of a card's empty */
	uint32_t cards;            /* that it is the sum over */
	int64_t value;             /* 0 and above, in the unit of its quantity */
	int64_t age_us;            /* of its sample, by Prometheus's clock */
};

struct device_figures {
	const struct device_figure *list;
	size_t n;
};

/* Older samples tell nothing; nor do those of a pod that has its cards for less than the lag:
 * exporters read their cards only so often, and repeat what they read. */
#define FIGURE_STALE_US (60LL * 1000 * 1000)
#define FIGURE_LAG_US   (30LL * 1000 * 1000)

#endif
