/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_WRITES_H
#define GPUQOS_CONTROLLER_WRITES_H

#include "controller/caches.h"
#include "runtime/work.h"

/* What the reconcilers do alike with their writes. */

/* After so long without news of a write of ours it is looked again whether the watch has it. */
#define WRITE_WATCH_LAG_US USEC_PER_SEC

/* Moves @body, which is cleared, into @write. LIMIT, with the object's name, where it overflowed.
 */
int write_give_body(struct work_write *write, struct buf *body, struct error *err);

/*
 * Whether it may have been done although it failed: no answer came, or a proxy's, or the store did
 * not answer the API server in time. False for NULL, and where the fence kept it from being sent.
 */
bool write_is_unanswered(const struct error *err);

/* The resourceVersion of the object that came of a write, 0 where it is no number. @arena is reset.
 */
uint64_t write_answered_version(const struct kube_answer *answer, struct arena *arena);

/*
 * The write was answered: until the watch shows what came of it the cache is older than what is
 * known (caches_expect()). @arena is reset. Returns the version that the server gave, 0 where it
 * says none, as of a delete.
 */
uint64_t write_expect(struct caches *caches, const struct work_write *write,
		      const struct kube_answer *answer, struct arena *arena, int64_t now_us);

#endif
