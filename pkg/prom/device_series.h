/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_PROM_DEVICE_SERIES_H
#define GPUQOS_PROM_DEVICE_SERIES_H

#include "base/buf.h"
#include "model/device_series.h"
#include "prom/answer.h"

/*
 * What exporters' series are asked by, and read as. One question for each series, however many
 * nodes there are:
 *
 *	DCGM	NVIDIA/dcgm-exporter 3 and 4: FB_USED (MiB), GR_ENGINE_ACTIVE (0 to 1), where that
 *		is not exported GPU_UTIL (percent), and PCIE_TX_BYTES + PCIE_RX_BYTES, which are
 *		bytes per second as they are. Series of MIG instances are left out.
 *	HAMi	Project-HAMi/HAMi's monitor, by its names since 2.10 and those before.
 *	AMD	ROCm/device-metrics-exporter: gpu_used_vram (MB), gpu_gfx_activity (percent).
 *
 * No NVLink, since the unit of DCGM's counter is not documented, nor AMD's PCIe, for the same
 * reason. Labels are read by any of their names: UUID, uuid, device_uuid, deviceuuid; namespace and
 * pod also with `exported_`, which Prometheus puts before those of a target's own, and HAMi's
 * podnamespace and podname. What two hosts say of one UUID is not asked for.
 *
 * Each figure comes in parts, told apart by the label PROM_PART:
 *	"value"	in the unit of its quantity
 *	"at"	when its oldest sample was taken, in seconds since 1970
 *	"count"	of a pod's: how many cards it is the sum over
 */
#define PROM_CARD "gpuqos_card" /* the label that a card's UUID comes in */

/* Jobs of Prometheus whose series are asked for; none: all. */
struct prom_jobs {
	const struct str *list;
	size_t n;
};

void prom_device_series_query(enum device_series series, const struct prom_jobs *jobs,
			      struct buf *query);

/*
 * The figures of an answer, in @arena, with its texts. Left out, and so unknown: what is NaN,
 * negative, more than any card has, older than FIGURE_STALE_US, of the future, without one of its
 * parts or with one twice. LIMIT: the arena is full.
 */
int prom_device_series_read(enum device_series series, const struct prom_answer *answer,
			    struct arena *arena, struct device_figures *ret_figures,
			    struct error *err);

#endif
