/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_PROM_CLIENT_H
#define GPUQOS_PROM_CLIENT_H

#include "base/macros.h"
#include "loop/loop.h"
#include "prom/access.h"
#include "prom/answer.h"

/* A client of Prometheus's HTTP API: instant queries, one at a time. */
struct prom_options {
	struct prom_access access;
	int64_t timeout_us; /* of one query */
};

struct prom;

/* INVALID for options that do not go together; errors of the files. Options are copied. */
int prom_new(struct loop *loop, const struct prom_options *options, struct prom **ret_prom,
	     struct error *err);
void prom_free(struct prom *prom); /* the query under way is never answered */

/*
 * The answer, or NULL and why there is none, borrowed for the callback: what prom_read_answer()
 * says, UNAVAILABLE or TIMEOUT, LIMIT for more than LIMIT_PROM_BODY bytes, INVALID for what is no
 * JSON, such as a proxy's page, FORBIDDEN for 401 and 403. A new query may be asked in it.
 */
typedef void (*prom_fn)(void *context, const struct prom_answer *answer, const struct error *err);

/* One at a time: CONFLICT while another is under way. @done is never called from inside. */
int prom_query(struct prom *prom, struct str query, prom_fn done, void *context, struct error *err);
bool prom_is_busy(const struct prom *prom);

DEFINE_CLEANUP(struct prom *, prom_free)

#endif
