/* SPDX-License-Identifier: Apache-2.0 */
/* The Prometheus text format 0.0.4: comments HELP and TYPE, then a line for each sample. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/metrics.h"
#include "base/metrics_family.h"
#include "base/utf8.h"

/* One line to be written: name and suffix, labels, and the bound of a histogram's bucket. */
struct sample {
	const char *name, *suffix;
	const struct metric_label *labels;
	size_t n_labels;
	const double *bound; /* NULL where it is no bucket */
};

/* Backslash and newline are escaped everywhere, a quote where the text stands in quotes. */
static void add_escaped(struct buf *page, struct str s, bool quoted)
{
	while (s.len > 0) {
		size_t len = utf8_length(s);

		if (len == 0)
			buf_add_cstr(page, UTF8_REPLACEMENT);
		else if (s.data[0] == '\\')
			buf_add_cstr(page, "\\\\");
		else if (s.data[0] == '\n')
			buf_add_cstr(page, "\\n");
		else if (s.data[0] == '"' && quoted)
			buf_add_cstr(page, "\\\"");
		else
			buf_add(page, s.data, len);
		s = str_skip(s, MAX(len, 1));
	}
}

/* The shortest decimal that reads back as the same number. */
static void add_number(struct buf *page, double value)
{
	char text[32];

	if (isnan(value)) {
		buf_add_cstr(page, "NaN");
		return;
	}
	if (isinf(value)) {
		buf_add_cstr(page, value > 0 ? "+Inf" : "-Inf");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	buf_add_cstr(page, text);
}

static void add_labels(struct buf *page, const struct sample *sample)
{
	const char *separator = "{";

	for (size_t i = 0; i < sample->n_labels; i++) {
		buf_printf(page, "%s%s=\"", separator, sample->labels[i].name);
		add_escaped(page, sample->labels[i].value, true);
		buf_add_char(page, '"');
		separator = ",";
	}
	if (sample->bound) {
		buf_printf(page, "%sle=\"", separator);
		add_number(page, *sample->bound);
		buf_add_char(page, '"');
	}
	if (sample->n_labels > 0 || sample->bound)
		buf_add_char(page, '}');
}

static void add_sample(struct buf *page, const struct sample *sample, double value)
{
	buf_add_cstr(page, sample->name);
	buf_add_cstr(page, sample->suffix);
	add_labels(page, sample);
	buf_add_char(page, ' ');
	add_number(page, value);
	buf_add_char(page, '\n');
}

void metrics_write_family(struct buf *page, const char *name, const char *type, const char *help)
{
	buf_printf(page, "# HELP %s ", name);
	add_escaped(page, str_from(help), false);
	buf_printf(page, "\n# TYPE %s %s\n", name, type);
}

void metrics_write_sample(struct buf *page, const char *name, const struct metric_label *labels,
			  size_t n_labels, double value)
{
	struct sample sample = {name, "", labels, n_labels, NULL};

	add_sample(page, &sample, value);
}

/* Buckets are cumulative on the page: each counts all that is at most its bound. */
static void add_histogram(struct buf *page, const struct metric_family *family,
			  const struct metric_cell *cell, struct sample sample)
{
	uint64_t total = 0;

	sample.suffix = "_bucket";
	for (size_t i = 0; i <= family->n_buckets; i++) {
		double bound = i < family->n_buckets ? family->buckets[i] : (double)INFINITY;

		total += cell->counts[i];
		sample.bound = &bound;
		add_sample(page, &sample, (double)total);
	}
	sample.bound = NULL;
	sample.suffix = "_sum";
	add_sample(page, &sample, cell->value);
	sample.suffix = "_count";
	add_sample(page, &sample, (double)total);
}

void metric_family_write(const struct metric_family *family, struct buf *page)
{
	static const char *const types[] = {
		[METRIC_COUNTER] = "counter",
		[METRIC_GAUGE] = "gauge",
		[METRIC_HISTOGRAM] = "histogram",
	};

	if (family->n_cells == 0)
		return;
	metrics_write_family(page, family->name, types[family->type], family->help);
	for (size_t i = 0; i < family->n_cells; i++) {
		const struct metric_cell *cell = family->cells[i];
		struct metric_label labels[METRICS_MAX_LABELS];
		struct sample sample = {family->name, "", labels, family->n_labels, NULL};

		for (size_t j = 0; j < family->n_labels; j++)
			labels[j] =
				(struct metric_label){family->labels[j], str_from(cell->values[j])};
		if (family->type == METRIC_HISTOGRAM)
			add_histogram(page, family, cell, sample);
		else
			add_sample(page, &sample, cell->value);
	}
}
