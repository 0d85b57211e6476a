/* SPDX-License-Identifier: Apache-2.0 */
/* Samples are sorted by tenant and pod; each tenant then finds its own in one place. */
#include "controller/objectives/readings.h"

#include <math.h>
#include <stdlib.h>

#include "base/macros.h"
#include "base/table.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"

struct row {
	uint32_t tenant;
	const struct prom_sample *sample;
};

struct question question_of(const struct objective_spec *spec)
{
	return (struct question){spec->preset, spec->percentile, spec->query};
}

bool question_equal(const struct question *a, const struct question *b)
{
	return a->preset == b->preset && a->percentile == b->percentile &&
	       str_equal(a->query, b->query);
}

/* --- samples */

static int compare_rows(const void *a, const void *b)
{
	const struct row *left = a, *right = b;
	int by;

	if (left->tenant != right->tenant)
		return left->tenant < right->tenant ? -1 : 1;
	by = str_compare(left->sample->namespace, right->sample->namespace);
	return by != 0 ? by : str_compare(left->sample->pod, right->sample->pod);
}

/* Those of a preset that belong to some tenant, sorted. */
static size_t sort_rows(const struct cluster *cluster, const struct prom_answer *answer,
			struct row *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < answer->n_samples; i++) {
		const struct prom_sample *sample = &answer->samples[i];
		uint32_t ns = cluster_namespace_find(cluster, sample->namespace);
		uint32_t tenant = ns == TABLE_NONE ? TABLE_NONE : cluster_tenant_of(cluster, ns);

		if (tenant != TABLE_NONE)
			rows[n++] = (struct row){tenant, sample};
	}
	qsort(rows, n, sizeof(*rows), compare_rows);
	return n;
}

/* Seconds since 1970; 0 for what is no such time. */
static int64_t time_of(double seconds)
{
	return seconds > 0 && seconds < 1e11 ? (int64_t)llround(seconds * 1e6) : 0;
}

/* @made_us: when the pod was made that it is to be of. */
static void set_part(struct slo_point *point, const struct prom_sample *sample, int64_t made_us)
{
	if (str_equal(sample->part, STR("sum")))
		point->sum = sample->value;
	else if (str_equal(sample->part, STR("at")))
		point->at_us = time_of(sample->value);
	else if (str_equal(sample->part, STR("from")))
		point->old |= time_of(sample->value) < made_us;
	else
		point->value = sample->value;
}

/* The rows of one tenant, sorted: a point for each pod that is there. What is scraped no more, and
 * what began before the pod, as another that had its name, is old. */
static size_t points_of_pods(const struct cluster *cluster, const struct row *rows, size_t n_rows,
			     struct slo_point *points)
{
	size_t n = 0;

	for (size_t i = 0; i < n_rows; i++) {
		const struct prom_sample *sample = rows[i].sample;
		bool same = i > 0 && compare_rows(&rows[i - 1], &rows[i]) == 0;
		uint64_t pod = cluster_point_pod(cluster, sample->namespace, sample->pod);

		if (pod == 0)
			continue;
		if (!same)
			points[n++] = (struct slo_point){NAN, NAN, 0, pod, false};
		set_part(&points[n - 1], sample, cluster_point_made(cluster, pod));
	}
	for (size_t i = 0; i < n; i++)
		points[i].old |= points[i].at_us == 0;
	return n;
}

static size_t points_of_query(const struct cluster *cluster, const struct prom_answer *answer,
			      struct slo_point *points)
{
	for (size_t i = 0; i < answer->n_samples; i++) {
		const struct prom_sample *sample = &answer->samples[i];

		points[i] = (struct slo_point){
			sample->value, NAN, 0,
			cluster_point_pod(cluster, sample->namespace, sample->pod), false};
	}
	return answer->n_samples;
}

/* --- readings */

/* What one answer comes to. */
struct taking {
	struct cluster *cluster;
	const struct question *question;
	const struct prom_answer *answer;
	struct row *rows;
	struct slo_point *points;
	size_t n_rows;
};

static struct slo_reading reading_of(const struct taking *taking, uint32_t tenant)
{
	struct slo_reading reading = {.points = taking->points,
				      .answered_us = taking->answer->at_us};
	size_t first = 0, n = 0;

	if (taking->question->preset == PRESET_NONE) {
		reading.n_points = points_of_query(taking->cluster, taking->answer, taking->points);
		return reading;
	}
	for (size_t end = taking->n_rows; first < end;) {
		size_t middle = first + (end - first) / 2;

		if (taking->rows[middle].tenant < tenant)
			first = middle + 1;
		else
			end = middle;
	}
	while (first + n < taking->n_rows && taking->rows[first + n].tenant == tenant)
		n++;
	reading.n_points = points_of_pods(taking->cluster, taking->rows + first, n, taking->points);
	return reading;
}

/* Each objective that asks the question, of all tenants; NULL asks for all. */
static bool asks(const struct cluster *cluster, uint32_t tenant, size_t index,
		 const struct question *question)
{
	struct question own = question_of(cluster_objective(cluster, tenant, index).spec);

	return !question || question_equal(question, &own);
}

static void take_tenant(const struct taking *taking, uint32_t tenant,
			const struct slo_moment *moment)
{
	struct cluster *cluster = taking->cluster;

	for (size_t i = 0; i < cluster_objective_count(cluster, tenant); i++) {
		struct slo_reading reading;

		if (!asks(cluster, tenant, i, taking->question))
			continue;
		reading = reading_of(taking, tenant);
		cluster_take_reading(cluster, tenant, i, &reading, moment);
	}
}

int readings_take(const struct readings *readings, const struct question *question,
		  const struct prom_answer *answer, struct error *err)
{
	struct taking taking = {
		.cluster = readings->cluster, .question = question, .answer = answer};
	size_t n = MAX(answer->n_samples, 1);

	arena_reset(readings->arena);
	taking.rows = arena_alloc(readings->arena, n * sizeof(*taking.rows));
	taking.points = arena_alloc(readings->arena, n * sizeof(*taking.points));
	if (!taking.rows || !taking.points)
		return error_set(err, ERROR_LIMIT, "more series than there is memory for");
	if (question->preset != PRESET_NONE)
		taking.n_rows = sort_rows(readings->cluster, answer, taking.rows);
	for (uint32_t tenant = cluster_tenant_next(readings->cluster, 0); tenant != TABLE_NONE;
	     tenant = cluster_tenant_next(readings->cluster, tenant + 1))
		take_tenant(&taking, tenant, &readings->moment);
	return 0;
}

void readings_fail(const struct readings *readings, const struct question *question,
		   enum objective_reason reason)
{
	const struct slo_reading reading = {.failed = reason, .has_failed = true};
	struct cluster *cluster = readings->cluster;

	for (uint32_t tenant = cluster_tenant_next(cluster, 0); tenant != TABLE_NONE;
	     tenant = cluster_tenant_next(cluster, tenant + 1))
		for (size_t i = 0; i < cluster_objective_count(cluster, tenant); i++)
			if (asks(cluster, tenant, i, question))
				cluster_take_reading(cluster, tenant, i, &reading,
						     &readings->moment);
}
