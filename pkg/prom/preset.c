/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PromQL for presets. Rates are taken for each pod, and for it alone: which one is worst off is
 * decided here, not in Prometheus.
 */
#include "prom/preset.h"

#include <string.h>

#include "base/macros.h"

struct prom_preset {
	const char *name;
	const char *metric; /* of a histogram: without _bucket; of a mean: the counter of time */
	const char *count;  /* of a mean: the counter of what took it; NULL: a histogram */
	const char *scale;  /* what makes seconds of it; "" for seconds */
};

#define TRITON_DONE "nv_inference_request_success"

static const struct prom_preset presets[] = {
	{"vllm-time-to-first-token", "vllm:time_to_first_token_seconds", NULL, ""},
	{"vllm-inter-token-latency", "vllm:inter_token_latency_seconds", NULL, ""},
	{"vllm-queue-time", "vllm:request_queue_time_seconds", NULL, ""},
	{"vllm-request-latency", "vllm:e2e_request_latency_seconds", NULL, ""},
	{"sglang-time-to-first-token", "sglang:time_to_first_token_seconds", NULL, ""},
	{"sglang-inter-token-latency", "sglang:inter_token_latency_seconds", NULL, ""},
	{"sglang-queue-time", "sglang:queue_time_seconds", NULL, ""},
	{"sglang-request-latency", "sglang:e2e_request_latency_seconds", NULL, ""},
	{"tgi-inter-token-latency", "tgi_request_mean_time_per_token_duration", NULL, ""},
	{"tgi-queue-time", "tgi_request_queue_duration", NULL, ""},
	{"tgi-request-latency", "tgi_request_duration", NULL, ""},
	{"triton-time-to-first-token", "nv_inference_first_response_histogram_ms", NULL, " / 1e3"},
	{"triton-queue-time", "nv_inference_queue_duration_us", TRITON_DONE, " / 1e6"},
	{"triton-request-latency", "nv_inference_request_duration_us", TRITON_DONE, " / 1e6"},
};

const struct prom_preset *prom_preset_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(presets); i++)
		if (strcmp(presets[i].name, name) == 0)
			return &presets[i];
	return NULL;
}

/* A literal in a regular expression (RE2), in a string of PromQL: the backslash is one itself. */
static void add_literal(struct buf *query, struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.data[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || c == '-' || c == '_';

		if (plain)
			buf_add_char(query, c);
		else
			buf_printf(query, "\\\\x{%02x}", (unsigned int)(unsigned char)c);
	}
}

/* What every selector of a query is written with. */
struct where {
	struct buf *query;
	const struct str *namespaces;
	size_t n;
};

static void add_selector(const struct where *where, const char *metric, const char *suffix)
{
	buf_printf(where->query, "%s%s{namespace=~\"", metric, suffix);
	for (size_t i = 0; i < where->n; i++) {
		if (i > 0)
			buf_add_char(where->query, '|');
		add_literal(where->query, where->namespaces[i]);
	}
	buf_add_cstr(where->query, "\"}");
}

static void add_rate(const struct where *where, const char *by, const char *metric,
		     const char *suffix)
{
	buf_printf(where->query, "sum by (%s) (rate(", by);
	add_selector(where, metric, suffix);
	buf_add_cstr(where->query, "[" PROM_WINDOW "]))");
}

#define POD "namespace, pod"

static void add_at(const struct where *where, const char *metric, const char *suffix)
{
	buf_add_cstr(where->query, "max by (" POD ") (timestamp(");
	add_selector(where, metric, suffix);
	buf_add_cstr(where->query, "))");
}

static void begin_part(const struct where *where)
{
	buf_add_cstr(where->query, "label_replace(");
}

static void end_part(const struct where *where, const char *part)
{
	buf_printf(where->query, ", \"" PROM_PART "\", \"%s\", \"\", \"\")", part);
}

static void add_histogram(const struct where *where, const struct prom_preset *preset,
			  int percentile)
{
	struct buf *query = where->query;

	begin_part(where);
	buf_printf(query, "(histogram_quantile(0.%02d, ", percentile);
	add_rate(where, POD ", le", preset->metric, "_bucket");
	buf_printf(query, ") or histogram_quantile(0.%02d, ", percentile);
	add_rate(where, POD, preset->metric, "");
	buf_printf(query, "))%s", preset->scale);
	end_part(where, "value");
	buf_add_cstr(query, " or ");
	begin_part(where);
	add_rate(where, POD, preset->metric, "_sum");
	buf_add_cstr(query, " or histogram_sum(");
	add_rate(where, POD, preset->metric, "");
	buf_add_char(query, ')');
	end_part(where, "sum");
	buf_add_cstr(query, " or ");
	begin_part(where);
	add_at(where, preset->metric, "_count");
	buf_add_cstr(query, " or ");
	add_at(where, preset->metric, "");
	end_part(where, "at");
}

static void add_mean(const struct where *where, const struct prom_preset *preset)
{
	begin_part(where);
	add_rate(where, POD, preset->metric, "");
	buf_add_cstr(where->query, " / ");
	add_rate(where, POD, preset->count, "");
	buf_add_cstr(where->query, preset->scale);
	end_part(where, "value");
	buf_add_cstr(where->query, " or ");
	begin_part(where);
	add_rate(where, POD, preset->metric, "");
	end_part(where, "sum");
	buf_add_cstr(where->query, " or ");
	begin_part(where);
	add_at(where, preset->count, "");
	end_part(where, "at");
}

void prom_preset_query(const struct prom_preset *preset, int percentile,
		       const struct str *namespaces, size_t n_namespaces, struct buf *query)
{
	const struct where where = {query, namespaces, n_namespaces};

	if (preset->count)
		add_mean(&where, preset);
	else
		add_histogram(&where, preset, percentile);
}
