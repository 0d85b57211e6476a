/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_OBJECTIVES_READINGS_H
#define GPUQOS_CONTROLLER_OBJECTIVES_READINGS_H

#include "base/arena.h"
#include "cluster/tenants/objectives.h"
#include "prom/answer.h"

/*
 * From what Prometheus answered to readings of tenants' objectives. A question is asked once for
 * all objectives that have it in common, whosever they are.
 */
struct question {
	enum objective_preset preset; /* PRESET_NONE: a query, and all of these */
	int percentile;
	struct str query; /* borrowed from the question's holder */
};

struct question question_of(const struct objective_spec *spec);
bool question_equal(const struct question *a, const struct question *b);

/* What readings are taken with; borrowed. */
struct readings {
	struct cluster *cluster;
	struct arena *arena; /* scratch */
	struct slo_moment moment;
};

/*
 * Gives each objective that asks @question its reading. Of a preset's samples each tenant gets
 * those of its own namespaces, and of pods that are there: others are of pods that are gone. A
 * query's are all of the tenant's that asks. LIMIT: the arena is full.
 */
int readings_take(const struct readings *readings, const struct question *question,
		  const struct prom_answer *answer, struct error *err);

/* There is nothing to read, for a @reason. @question NULL: of all objectives. */
void readings_fail(const struct readings *readings, const struct question *question,
		   enum objective_reason reason);

#endif
