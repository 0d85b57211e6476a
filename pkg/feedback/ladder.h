/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_FEEDBACK_LADDER_H
#define GPUQOS_FEEDBACK_LADDER_H

#include "feedback/watch.h"

/*
 * How far a tenant is turned down: after = step(before, verdict). Pure, and all that is remembered
 * is in status (struct throttle): the same as before a restart follows after it.
 *
 *   None -> Alert -> NoNewGrants -> EvictOffender -> Release -> None, or Rest -> None
 *
 * - Alert: for pace->alert_us nothing follows but that it is told.
 * - NoNewGrants: at once, and then every pace->step_us, the factor falls by `decrease` percent of
 *   itself, as long as use is abnormal then; never under the floor. The steps are longer than it
 *   takes to see what one did, so that there is none too many.
 * - At the floor it stays for pace->floor_us. Where use is still abnormal then, `evictOffender`
 *   allows it and a pod is proven to be the one, that is to be evicted, and it stays for as long
 *   again.
 * - Release: as soon as use is normal, or at the next step where nobody can tell (unknown is not
 *   bad), the factor rises by `recoverPerMinute` points each pace->recover_us. If use is abnormal
 *   again, it goes down from where it is, but not before it has risen once.
 * - No effect: still abnormal at the end of the time at the floor. It is released all the same, to
 *   the top, and not tried again for pace->rest_us, twice as long after each such try, up to
 *   FEEDBACK_REST_TIMES as long.
 * - An override takes the place of all this while it lasts, also with mode Off and below the floor.
 *   When it ends the tenant has everything again.
 * - With Off and Alert, what is taken off is released.
 */

/* @before: as status says, THROTTLE_NOTHING without one. @now_us: real. */
struct throttle feedback_step(const struct throttle *before, const struct feedback_spec *spec,
			      const struct feedback_pace *pace,
			      const struct feedback_verdict *verdict, int64_t now_us);

#endif
