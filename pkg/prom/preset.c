/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PromQL for presets. Rates are taken for each pod, and for it alone: which one is worst off is
 * decided here, not in Prometheus.
 */
#include "prom/preset.h"

#include "base/macros.h"
#include "prom/literal.h"

/* Those of model/objective.h. */
struct preset {
	const char *metric; /* of a histogram: without _bucket; of a mean: the counter of time */
	const char *count;  /* of a mean: the counter of what took it; NULL: a histogram */
	const char *scale;  /* what makes seconds of it; "" for seconds */
};

#define TRITON_DONE "nv_inference_request_success"

static const struct preset presets[PRESET_COUNT] = {
	[PRESET_VLLM_FIRST_TOKEN] = {"vllm:time_to_first_token_seconds", NULL, ""},
	[PRESET_VLLM_INTER_TOKEN] = {"vllm:inter_token_latency_seconds", NULL, ""},
	[PRESET_VLLM_QUEUE] = {"vllm:request_queue_time_seconds", NULL, ""},
	[PRESET_VLLM_REQUEST] = {"vllm:e2e_request_latency_seconds", NULL, ""},
	[PRESET_SGLANG_FIRST_TOKEN] = {"sglang:time_to_first_token_seconds", NULL, ""},
	[PRESET_SGLANG_INTER_TOKEN] = {"sglang:inter_token_latency_seconds", NULL, ""},
	[PRESET_SGLANG_QUEUE] = {"sglang:queue_time_seconds", NULL, ""},
	[PRESET_SGLANG_REQUEST] = {"sglang:e2e_request_latency_seconds", NULL, ""},
	[PRESET_TGI_INTER_TOKEN] = {"tgi_request_mean_time_per_token_duration", NULL, ""},
	[PRESET_TGI_QUEUE] = {"tgi_request_queue_duration", NULL, ""},
	[PRESET_TGI_REQUEST] = {"tgi_request_duration", NULL, ""},
	[PRESET_TRITON_FIRST_TOKEN] = {"nv_inference_first_response_histogram_ms", NULL, " / 1e3"},
	[PRESET_TRITON_QUEUE] = {"nv_inference_queue_duration_us", TRITON_DONE, " / 1e6"},
	[PRESET_TRITON_REQUEST] = {"nv_inference_request_duration_us", TRITON_DONE, " / 1e6"},
};

/* What every selector of a query is written with. */
struct where {
	struct buf *query;
	const struct str *namespaces;
	size_t n;
};

static void add_selector(const struct where *where, const char *metric, const char *suffix)
{
	buf_printf(where->query, "%s%s{namespace=~\"", metric, suffix);
	prom_add_alternatives(where->query, where->namespaces, where->n);
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

static void add_from(const struct where *where, const char *metric, const char *suffix)
{
	buf_add_cstr(where->query, "min by (" POD ") (min_over_time(timestamp(");
	add_selector(where, metric, suffix);
	buf_add_cstr(where->query, ")[" PROM_WINDOW ":" PROM_STEP "]))");
}

static void begin_part(const struct where *where)
{
	buf_add_cstr(where->query, "label_replace(");
}

static void end_part(const struct where *where, const char *part)
{
	buf_printf(where->query, ", \"" PROM_PART "\", \"%s\", \"\", \"\")", part);
}

static void add_histogram(const struct where *where, const struct preset *preset, int percentile)
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
	buf_add_cstr(query, " or ");
	begin_part(where);
	add_from(where, preset->metric, "_count");
	buf_add_cstr(query, " or ");
	add_from(where, preset->metric, "");
	end_part(where, "from");
}

static void add_mean(const struct where *where, const struct preset *preset)
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
	buf_add_cstr(where->query, " or ");
	begin_part(where);
	add_from(where, preset->count, "");
	end_part(where, "from");
}

void prom_preset_query(enum objective_preset preset, int percentile, const struct str *namespaces,
		       size_t n_namespaces, struct buf *query)
{
	const struct where where = {query, namespaces, n_namespaces};

	if (presets[preset].count)
		add_mean(&where, &presets[preset]);
	else
		add_histogram(&where, &presets[preset], percentile);
}
