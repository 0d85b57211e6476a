/* SPDX-License-Identifier: Apache-2.0 */
/* An array of its own for each tenant that has objectives; most have none. */
#include "cluster/tenants/objectives.h"

#include <string.h>

#include "base/mem.h"
#include "cluster/internal.h"

static struct objective_record *objective_at(const struct cluster *cluster, uint32_t tenant,
					     size_t index)
{
	return &tenant_at(cluster, tenant)->objectives[index];
}

size_t cluster_objective_count(const struct cluster *cluster, uint32_t tenant)
{
	return table_has(&cluster->tenants, tenant) ? tenant_at(cluster, tenant)->n_objectives : 0;
}

int64_t cluster_pending_us(const struct cluster *cluster, uint32_t tenant)
{
	return table_has(&cluster->tenants, tenant) ? tenant_at(cluster, tenant)->pending_us
						    : AMOUNT_NONE;
}

uint64_t cluster_point_pod(const struct cluster *cluster, struct str namespace, struct str name)
{
	uint32_t pod = pod_find(cluster, namespace, name);

	return pod == TABLE_NONE ? 0 : (uint64_t)pod + 1;
}

int64_t cluster_point_made(const struct cluster *cluster, uint64_t pod)
{
	return pod_at(cluster, (uint32_t)(pod - 1))->created_s * USEC_PER_SEC;
}

/* A handle may be another pod's by now; the uid tells. */
static uint32_t worst_of(const struct cluster *cluster, const struct objective_record *record)
{
	uint64_t worst = record->state.verdict.worst;
	uint32_t pod = (uint32_t)(worst - 1);

	if (worst == 0 || !table_has(&cluster->pods, pod) ||
	    !uid_equal(pod_at(cluster, pod)->uid, record->worst_uid))
		return TABLE_NONE;
	return pod;
}

struct cluster_objective cluster_objective(const struct cluster *cluster, uint32_t tenant,
					   size_t index)
{
	const struct objective_record *record = objective_at(cluster, tenant, index);

	return (struct cluster_objective){&record->spec, &record->state.verdict,
					  worst_of(cluster, record)};
}

/* --- readings */

static void note_worst(const struct cluster *cluster, struct objective_record *record)
{
	uint64_t worst = record->state.verdict.worst;

	if (worst != 0 && table_has(&cluster->pods, (uint32_t)(worst - 1)))
		record->worst_uid = pod_at(cluster, (uint32_t)(worst - 1))->uid;
}

static bool is_news(struct objective_record *record, bool changed, int64_t now_us)
{
	int64_t value = objective_round(record->state.verdict.value);

	if (!changed &&
	    (value == record->told_value || now_us - record->told_us < CLUSTER_VALUE_US))
		return false;
	record->told_value = value;
	record->told_us = now_us;
	return true;
}

bool cluster_take_reading(struct cluster *cluster, uint32_t tenant, size_t index,
			  const struct slo_reading *reading, const struct slo_moment *moment)
{
	struct objective_record *record;
	enum objective_state before;
	bool changed;

	if (index >= cluster_objective_count(cluster, tenant))
		return false;
	record = objective_at(cluster, tenant, index);
	before = record->state.verdict.state;
	changed = slo_take(&record->state, &record->spec, reading, moment);
	note_worst(cluster, record);
	if (is_news(record, changed, moment->now_us))
		cluster_mark_tenant_dirty(cluster, tenant);
	return record->state.verdict.state != before;
}

bool cluster_pass_readings(struct cluster *cluster, const struct slo_moment *moment)
{
	bool changed = false;

	for (uint32_t tenant = table_next(&cluster->tenants, 0); tenant != TABLE_NONE;
	     tenant = table_next(&cluster->tenants, tenant + 1))
		for (size_t i = 0; i < tenant_at(cluster, tenant)->n_objectives; i++) {
			if (!slo_pass(&objective_at(cluster, tenant, i)->state, moment))
				continue;
			cluster_mark_tenant_dirty(cluster, tenant);
			changed = true;
		}
	return changed;
}

void cluster_forget_verdicts(struct cluster *cluster)
{
	for (uint32_t tenant = table_next(&cluster->tenants, 0); tenant != TABLE_NONE;
	     tenant = table_next(&cluster->tenants, tenant + 1)) {
		for (size_t i = 0; i < tenant_at(cluster, tenant)->n_objectives; i++)
			slo_init(&objective_at(cluster, tenant, i)->state);
		if (tenant_at(cluster, tenant)->n_objectives > 0)
			cluster_mark_tenant_dirty(cluster, tenant);
	}
}

/* --- specs */

static struct str copy(struct str s, char **to)
{
	struct str copied = {*to, s.len};

	if (s.len > 0)
		memcpy(*to, s.data, s.len);
	*to += s.len;
	return copied;
}

static void set_spec(struct objective_record *record, const struct objective_spec *spec)
{
	char *to = mem_alloc(spec->name.len + spec->query.len + 1);

	record->texts = to;
	record->spec = *spec;
	record->spec.name = copy(spec->name, &to);
	record->spec.query = copy(spec->query, &to);
}

/* The state goes on where there was an objective that is just the same. */
static void take_over(const struct tenant_record *tenant, struct objective_record *record)
{
	for (size_t i = 0; i < tenant->n_objectives; i++) {
		const struct objective_record *old = &tenant->objectives[i];
		char *texts = record->texts;
		struct objective_spec spec = record->spec;

		if (!objective_spec_equal(&old->spec, &spec))
			continue;
		*record = *old;
		record->texts = texts;
		record->spec = spec;
		return;
	}
	slo_init(&record->state);
	record->told_value = OBJECTIVE_NO_VALUE;
}

static void free_objectives(struct objective_record *objectives, size_t n)
{
	for (size_t i = 0; i < n; i++)
		mem_free(objectives[i].texts);
	mem_free(objectives);
}

void objectives_set(struct cluster *cluster, uint32_t tenant, const struct tenant_spec *spec)
{
	struct tenant_record *record = tenant_at(cluster, tenant);
	size_t n = spec ? spec->n_objectives : 0;
	struct objective_record *objectives = NULL;

	record->pending_us = spec ? spec->pending_us : AMOUNT_NONE;
	if (n + record->n_objectives == 0)
		return;
	if (n > 0)
		objectives = mem_alloc_array(n, sizeof(*objectives));
	for (size_t i = 0; i < n; i++) {
		set_spec(&objectives[i], &spec->objectives[i]);
		take_over(record, &objectives[i]);
	}
	free_objectives(record->objectives, record->n_objectives);
	record->objectives = objectives;
	record->n_objectives = (uint32_t)n;
}
