/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PromQL for exporters' series, from a table; its answers are sorted, and the parts of each figure
 * then lie together.
 */
#include "prom/device_series.h"

#include <math.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/macros.h"
#include "prom/literal.h"
#include "prom/preset.h"

#define HOST "gpuqos_host"

/* Of those that are there the first counts. */
struct names {
	const char *first, *second;  /* metrics; second: NULL for none */
	const char *scale, *scale_2; /* what makes our unit of each */
	const char *plus;            /* is added to the first; NULL: nothing */
};

static const struct names table[DEVICE_SERIES_COUNT] = {
	[SERIES_DCGM_MEMORY] = {"DCGM_FI_DEV_FB_USED", NULL, " * 1048576", "", NULL},
	[SERIES_DCGM_SM] = {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_GPU_UTIL", " * 100", "",
			    NULL},
	[SERIES_DCGM_PCIE] = {"DCGM_FI_PROF_PCIE_TX_BYTES", NULL, "", "",
			      "DCGM_FI_PROF_PCIE_RX_BYTES"},
	[SERIES_HAMI_OWN_MEMORY] = {"hami_vgpu_memory_used_bytes",
				    "vGPU_device_memory_usage_in_bytes", "", "", NULL},
	[SERIES_HAMI_OWN_SM] = {"hami_container_device_utilization_ratio",
				"Device_utilization_desc_of_container", "", "", NULL},
	[SERIES_HAMI_MEMORY] = {"hami_host_gpu_memory_used_bytes", "HostGPUMemoryUsage", "", "",
				NULL},
	[SERIES_HAMI_SM] = {"hami_host_gpu_utilization_ratio", "HostCoreUtilization", "", "", NULL},
	[SERIES_AMD_MEMORY] = {"gpu_used_vram", NULL, " * 1e6", "", NULL},
	[SERIES_AMD_SM] = {"gpu_gfx_activity", NULL, "", "", NULL},
};

/* --- questions: labels */

struct relabel {
	const char *to, *from; /* a later row counts before an earlier one */
};

static const struct relabel dcgm_labels[] = {
	{HOST, "instance"},  {HOST, "hostname"},  {HOST, "Hostname"},
	{PROM_CARD, "uuid"}, {PROM_CARD, "UUID"},
};

static const struct relabel hami_labels[] = {
	{HOST, "instance"},
	{PROM_CARD, "deviceuuid"},
	{PROM_CARD, "device_uuid"},
};

static const struct relabel pod_labels[] = {
	{"namespace", "exported_namespace"},
	{"namespace", "podnamespace"},
	{"pod", "exported_pod"},
	{"pod", "podname"},
};

/* What a question is written with. */
struct ask {
	struct buf *query;
	const struct prom_jobs *jobs;
	bool of_dcgm;
	const struct names *names;
	const struct relabel *labels;
	size_t n_labels;
};

static struct ask ask_for(enum device_series series, const struct prom_jobs *jobs,
			  struct buf *query)
{
	struct device_series_kind kind = device_series_kind(series);
	struct ask ask = {.query = query,
			  .jobs = jobs,
			  .of_dcgm = kind.exporter == EXPORTER_DCGM,
			  .names = &table[series],
			  .labels = pod_labels,
			  .n_labels = ARRAY_SIZE(pod_labels)};

	if (kind.scope != FIGURE_OF_CARD)
		return ask;
	ask.labels = kind.exporter == EXPORTER_DCGM ? dcgm_labels : hami_labels;
	ask.n_labels =
		kind.exporter == EXPORTER_DCGM ? ARRAY_SIZE(dcgm_labels) : ARRAY_SIZE(hami_labels);
	return ask;
}

/* What tells the devices of one pod apart, by all names. */
#define DEVICE                                                                               \
	"namespace, pod, container, exported_container, ctrname, vdevice_index, vdeviceid, " \
	"device_uuid, deviceuuid, gpu_uuid, serial_number, gpu_id, gpu_partition_id"

#define TIME "timestamp(" /* stands right around a selector, else it tells another time */

/* Of no MIG instance. */
static void add_selector(const struct ask *ask, const char *metric)
{
	buf_printf(ask->query, "%s{%s", metric, ask->of_dcgm ? "GPU_I_ID=\"\"," : "");
	if (ask->jobs->n > 0) {
		buf_add_cstr(ask->query, "job=~\"");
		prom_add_alternatives(ask->query, ask->jobs->list, ask->jobs->n);
		buf_add_char(ask->query, '"');
	}
	buf_add_char(ask->query, '}');
}

/* @inner: TIME or "". */
static void add_labelled(const struct ask *ask, const char *metric, const char *inner)
{
	for (size_t i = 0; i < ask->n_labels; i++)
		buf_add_cstr(ask->query, "label_replace(");
	buf_add_cstr(ask->query, inner);
	add_selector(ask, metric);
	buf_add_cstr(ask->query, inner[0] == '\0' ? "" : ")");
	for (size_t i = 0; i < ask->n_labels; i++)
		buf_printf(ask->query, ", \"%s\", \"$1\", \"%s\", \"(.+)\")", ask->labels[i].to,
			   ask->labels[i].from);
}

static void begin_part(const struct ask *ask)
{
	buf_add_cstr(ask->query, "label_replace(");
}

static void end_part(const struct ask *ask, const char *part)
{
	buf_printf(ask->query, ", \"" PROM_PART "\", \"%s\", \"\", \"\")", part);
}

static void add_or(const struct ask *ask)
{
	buf_add_cstr(ask->query, " or ");
}

/* --- questions: cards */

/* Of cards that one host tells of. */
static void add_card(const struct ask *ask, const char *metric, const char *scale,
		     const char *inner)
{
	buf_add_cstr(ask->query, "(min by (" PROM_CARD ") (");
	add_labelled(ask, metric, inner);
	buf_printf(ask->query,
		   ")%s and (count by (" PROM_CARD ") (group by (" PROM_CARD ", " HOST ") (",
		   scale);
	add_labelled(ask, metric, "");
	buf_add_cstr(ask->query, ")) == 1))");
}

static void add_card_value(const struct ask *ask)
{
	const struct names *names = ask->names;

	add_card(ask, names->first, names->scale, "");
	if (names->plus) {
		buf_add_cstr(ask->query, " + ");
		add_card(ask, names->plus, names->scale, "");
	}
	if (names->second) {
		add_or(ask);
		add_card(ask, names->second, names->scale_2, "");
	}
}

static void add_card_at(const struct ask *ask)
{
	add_card(ask, ask->names->first, "", TIME);
	if (ask->names->second) {
		add_or(ask);
		add_card(ask, ask->names->second, "", TIME);
	}
}

static void add_of_card(const struct ask *ask)
{
	begin_part(ask);
	add_card_value(ask);
	end_part(ask, "value");
	add_or(ask);
	begin_part(ask);
	add_card_at(ask);
	end_part(ask, "at");
}

/* --- questions: pods */

/* However often a series was scraped, it counts once. */
static void add_devices(const struct ask *ask, const char *by, const char *metric)
{
	buf_printf(ask->query, "%s by (namespace, pod) (min by (" DEVICE ") (", by);
	add_labelled(ask, metric, "");
	buf_add_cstr(ask->query, "))");
}

static void add_pod_value(const struct ask *ask)
{
	const struct names *names = ask->names;

	add_devices(ask, "sum", names->first);
	buf_add_cstr(ask->query, names->scale);
	if (names->second) {
		add_or(ask);
		add_devices(ask, "sum", names->second);
		buf_add_cstr(ask->query, names->scale_2);
	}
}

static void add_pod_count(const struct ask *ask)
{
	add_devices(ask, "count", ask->names->first);
	if (ask->names->second) {
		add_or(ask);
		add_devices(ask, "count", ask->names->second);
	}
}

static void add_pod_at(const struct ask *ask)
{
	const char *metrics[] = {ask->names->first, ask->names->second};

	for (size_t i = 0; i < ARRAY_SIZE(metrics) && metrics[i]; i++) {
		if (i > 0)
			add_or(ask);
		buf_add_cstr(ask->query, "min by (namespace, pod) (");
		add_labelled(ask, metrics[i], TIME);
		buf_add_char(ask->query, ')');
	}
}

static void add_of_pod(const struct ask *ask)
{
	begin_part(ask);
	add_pod_value(ask);
	end_part(ask, "value");
	add_or(ask);
	begin_part(ask);
	add_pod_at(ask);
	end_part(ask, "at");
	add_or(ask);
	begin_part(ask);
	add_pod_count(ask);
	end_part(ask, "count");
}

void prom_device_series_query(enum device_series series, const struct prom_jobs *jobs,
			      struct buf *query)
{
	struct ask ask = ask_for(series, jobs, query);

	if (device_series_kind(series).scope == FIGURE_OF_CARD)
		add_of_card(&ask);
	else
		add_of_pod(&ask);
}

/* --- answers */

#define AHEAD_S 5.0 /* a sample may be newer than the evaluation by as much */

/* The parts of one figure. */
struct parts {
	double value, at_s, count;
	bool twice; /* one of them is there twice */
};

static int compare(const void *a, const void *b)
{
	const struct prom_sample *left = a, *right = b;
	int by = str_compare(left->card, right->card);

	if (by == 0)
		by = str_compare(left->namespace, right->namespace);
	return by != 0 ? by : str_compare(left->pod, right->pod);
}

static void add_part(struct parts *parts, const struct prom_sample *sample)
{
	double *to = NULL;

	if (str_equal(sample->part, STR("value")))
		to = &parts->value;
	else if (str_equal(sample->part, STR("at")))
		to = &parts->at_s;
	else if (str_equal(sample->part, STR("count")))
		to = &parts->count;
	if (!to)
		return;
	parts->twice |= !isnan(*to);
	*to = sample->value;
}

/* More than any card has, and so an error: 16 TiB, 100 %, 1 TB/s. */
static double most_of(enum figure_quantity quantity)
{
	static const double most[] = {
		[FIGURE_MEMORY] = 17592186044416.0, [FIGURE_SM] = 100.5, [FIGURE_PCIE] = 1e12};

	return most[quantity];
}

static bool is_between(double value, double least, double most)
{
	return value >= least && value <= most; /* NaN is not */
}

static bool read_figure(const struct device_series_kind *kind, const struct parts *parts,
			int64_t answered_us, struct device_figure *figure)
{
	double cards = kind->scope == FIGURE_OF_CARD ? 1 : parts->count;
	double age_s = (double)answered_us / 1e6 - parts->at_s;

	if (parts->twice || !is_between(cards, 1, LIMIT_LAYOUT_GPUS) ||
	    !is_between(parts->value, 0, most_of(kind->quantity) * cards) ||
	    !is_between(age_s, -AHEAD_S, (double)FIGURE_STALE_US / 1e6))
		return false;
	figure->cards = (uint32_t)cards;
	figure->value = (int64_t)llround(parts->value);
	if (kind->quantity == FIGURE_SM)
		figure->value = MIN(figure->value, (int64_t)figure->cards * 100);
	figure->age_us = MAX((int64_t)llround(age_s * 1e6), (int64_t)0);
	return true;
}

/* Whether the labels say whose it is. */
static bool is_named(const struct device_series_kind *kind, const struct prom_sample *sample)
{
	if (kind->scope == FIGURE_OF_CARD)
		return !str_empty(sample->card);
	return str_empty(sample->card) && !str_empty(sample->namespace) && !str_empty(sample->pod);
}

static size_t read_sorted(const struct device_series_kind *kind, const struct prom_sample *samples,
			  const struct prom_answer *answer, struct device_figure *figures)
{
	size_t n = 0;

	for (size_t i = 0, next; i < answer->n_samples; i = next) {
		struct device_figure figure = {.card = samples[i].card};
		struct parts parts = {NAN, NAN, NAN, false};

		for (next = i;
		     next < answer->n_samples && compare(&samples[next], &samples[i]) == 0; next++)
			add_part(&parts, &samples[next]);
		if (kind->scope != FIGURE_OF_CARD) {
			figure.namespace = samples[i].namespace;
			figure.pod = samples[i].pod;
		}
		if (is_named(kind, &samples[i]) &&
		    read_figure(kind, &parts, answer->at_us, &figure))
			figures[n++] = figure;
	}
	return n;
}

int prom_device_series_read(enum device_series series, const struct prom_answer *answer,
			    struct arena *arena, struct device_figures *ret_figures,
			    struct error *err)
{
	struct device_series_kind kind = device_series_kind(series);
	size_t n = MAX(answer->n_samples, 1);
	struct prom_sample *samples = arena_alloc(arena, n * sizeof(*samples));
	struct device_figure *figures = arena_alloc(arena, n * sizeof(*figures));

	if (!samples || !figures)
		return error_set(err, ERROR_LIMIT, "more series than there is memory for");
	for (size_t i = 0; i < answer->n_samples; i++)
		samples[i] = answer->samples[i];
	qsort(samples, answer->n_samples, sizeof(*samples), compare);
	ret_figures->n = read_sorted(&kind, samples, answer, figures);
	ret_figures->list = figures;
	return 0;
}
