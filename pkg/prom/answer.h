/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_PROM_ANSWER_H
#define GPUQOS_PROM_ANSWER_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/*
 * What an instant query of Prometheus's HTTP API answers (prometheus/prometheus,
 * docs/querying/api.md): a vector, or a scalar, which is one sample without labels. Of labels those
 * alone are kept that we ask by.
 */
struct prom_sample {
	struct str namespace, pod; /* empty where there is no such label */
	struct str part;           /* label PROM_PART, likewise */
	struct str card;           /* label PROM_CARD, likewise */
	double value;              /* may be NaN or infinite */
};

struct prom_answer {
	const struct prom_sample *samples; /* in the order of the answer, which is none */
	size_t n_samples;
	int64_t at_us;      /* real, by Prometheus's clock: what the query was evaluated at; 0: no
			       sample tells it */
	struct str warning; /* the first one: what it is about may be missing; empty: none */
};

/*
 * Texts are borrowed from @text or @arena, the array is in @arena. LIMIT: more than
 * LIMIT_PROM_SERIES samples, or the arena is full. INVALID: malformed, or a result that is neither
 * numbers nor one, such as a range or a histogram. What Prometheus itself calls an error is
 * INVALID where the query is at fault, TIMEOUT where it took too long, else UNAVAILABLE, with its
 * message.
 */
int prom_read_answer(struct str text, struct arena *arena, struct prom_answer *ret_answer,
		     struct error *err);

#endif
