/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_BASE_METRICS_H
#define GPUQOS_BASE_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/str.h"

/*
 * Metrics in the Prometheus text format 0.0.4
 * (prometheus.io/docs/instrumenting/exposition_formats). Counters and histograms that the program
 * counts live in families with a fixed set of label names; what can be read off the state (cache
 * sizes, quotas) is not stored twice: a collector writes it when the page is asked for. A family's
 * label values are copied; a family holds at most METRICS_MAX_CELLS combinations, further ones are
 * counted under the label value "other".
 */
#define METRICS_MAX_LABELS 4
#define METRICS_MAX_CELLS  512

struct metrics;       /* the registry */
struct metric_family; /* borrowed from the registry, lives as long */

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);

/*
 * @labels: up to METRICS_MAX_LABELS names ended by NULL, or NULL for none. Names and help are
 * borrowed static strings; @labels and @buckets are copied. @buckets: ascending upper bounds in the
 * metric's unit, @n_buckets of them; +Inf is added. A family without labels shows from the start
 * with 0, one with labels once it has a cell. Names end in the unit (_seconds, _bytes), counters'
 * in _total. A name that is registered already gives the family that has it: type, labels and
 * buckets must be the same.
 */
struct metric_family *metrics_counter(struct metrics *metrics, const char *name, const char *help,
				      const char *const *labels);
struct metric_family *metrics_gauge(struct metrics *metrics, const char *name, const char *help,
				    const char *const *labels);
/* size: one definition, one call */
struct metric_family *metrics_histogram(struct metrics *metrics, const char *name, const char *help,
					const char *const *labels, const double *buckets,
					size_t n_buckets);

/*
 * @values: as many as the family has labels (NULL for none), copied when first seen; bytes that are
 * not UTF-8 are replaced on output. A NULL @family is accepted. Counters only grow: @amount >= 0.
 */
void metric_add(struct metric_family *family, const char *const *values, double amount);
void metric_set(struct metric_family *family, const char *const *values, double value);
void metric_observe(struct metric_family *family, const char *const *values, double value);

/* Forgets every cell of a gauge whose first label is @value: an object that is gone. */
void metric_forget(struct metric_family *family, const char *value);

/* Called for each page; writes whole families with metrics_write_*(). */
typedef void (*metrics_collect_fn)(void *context, struct buf *page);
void metrics_add_collector(struct metrics *metrics, metrics_collect_fn collect, void *context);

struct metric_label {
	const char *name;
	struct str value; /* escaped on output */
};

/* @type: "gauge", "counter". Once per family, before its samples. */
void metrics_write_family(struct buf *page, const char *name, const char *type, const char *help);
void metrics_write_sample(struct buf *page, const char *name, const struct metric_label *labels,
			  size_t n_labels, double value);

/*
 * The whole page. Families come in order of registration, collectors last. Overflow of @page is the
 * caller's to check.
 */
void metrics_write(const struct metrics *metrics, struct buf *page);

DEFINE_CLEANUP(struct metrics *, metrics_free)

#endif
