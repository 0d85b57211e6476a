/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_PROM_PRESET_H
#define GPUQOS_PROM_PRESET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "model/objective.h"

/*
 * What presets of objectives ask Prometheus: one query for all namespaces that are to be known of,
 * and never for others. Each pod's samples come in up to three parts, told apart by the label
 * PROM_PART:
 *	"value"	the figure itself, in seconds
 *	"sum"	the rate of the sum that it was made of: 0 where nothing was counted
 *	"at"	when its series were scraped last, in seconds since 1970; absent where they are
 *		scraped no more, while the figure goes on until its window has passed
 *	"from"	since when there are samples of them in the window, to PROM_STEP: those from before
 *		the pod was made are of another that had its name
 * Histograms may be classic or native ones. Metric names are those of vLLM 0.10, SGLang 0.5, TGI 3
 * and Triton 2.5x; older names are not asked for.
 */
#define PROM_PART   "gpuqos_part"
#define PROM_WINDOW "2m"
#define PROM_STEP   "5s"

/*
 * Adds the query. @preset: not PRESET_NONE. @percentile: 1 to 99; of a mean it is not asked. At
 * least one namespace; what is no letter, digit, '-' or '_' in them stands for itself all the same.
 * Overflow is the caller's to check.
 */
void prom_preset_query(enum objective_preset preset, int percentile, const struct str *namespaces,
		       size_t n_namespaces, struct buf *query);

#endif
