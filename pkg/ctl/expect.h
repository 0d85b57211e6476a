/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CTL_EXPECT_H
#define GPUQOS_CTL_EXPECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/macros.h"

/*
 * Own writes, remembered until the watch shows them: between the API server's answer and the
 * watch event the cache is older than what we know, and a decision on it would write again. An
 * expectation is (object, resourceVersion answered); it is met by a watch event of that object
 * with at least that version (decimal integers since 1.35; where a version is no number, by any
 * event), by the object's deletion, by a relist, or by its time-out, after which the cache is
 * believed again.
 *
 * The watch is often faster than the answer. So who gets an answer sets an expectation only when
 * the watch of that type has not yet reached the version answered: one that was met before it was
 * set would last until its time-out.
 */
struct expectations;

struct expectations *expectations_new(const struct hash_key *key);
void expectations_free(struct expectations *expectations);

/*
 * @object: a hash of kind, namespace and name. @version 0: unknown, any event will do. One per
 * object: a newer one replaces, where the higher of two known versions stays (answers may
 * overtake each other). At and after @expires_us (monotonic µs) it is as if met.
 */
void expectations_set(struct expectations *expectations, uint64_t object, uint64_t version,
		      int64_t expires_us);
/* The watch showed the object with @version (0: no number, or it was deleted). */
void expectations_seen(struct expectations *expectations, uint64_t object, uint64_t version);
void expectations_seen_all(struct expectations *expectations); /* after a relist */

/*
 * Whether a decision about @object must wait. Forgets it where it has expired, and a few others
 * that nobody asks for any more.
 */
bool expectations_pending(struct expectations *expectations, uint64_t object, int64_t now_us);
uint32_t expectations_count(const struct expectations *expectations);

DEFINE_CLEANUP(struct expectations *, expectations_free)

#endif
