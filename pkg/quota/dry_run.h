/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_QUOTA_DRY_RUN_H
#define GPUQOS_QUOTA_DRY_RUN_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "quota/shrink.h"

/*
 * What enforcing would have refused: status.dryRun. Pure, and the status is all its memory, so that
 * it goes on where it was after a restart.
 *
 * The pods that are there are gone through in the order of creation, ties by name. One created in
 * DryRun would have been refused where it alone asks for more than perPod, or where it does not fit
 * with what was held before it into `effective`, the whole GPUs and the caps on resources. Those
 * refused hold nothing, those from before DryRun do. Who would have been refused is counted once,
 * by workload, when its second is old enough.
 *
 * It cannot see
 *   - pods that came and went between two looks, and what those that are gone held before: it
 *     counts too little rather than too much;
 *   - what a refusal leads to: a Job whose pod is refused tries again, and is refused again;
 *   - caps of products, which do not refuse at admission.
 * A workload that falls off the list of LIMIT_DRY_RUN_ROWS begins anew when it comes back; the sum
 * `refused` loses nothing.
 */

/*
 * So long after its second of creation a pod is looked at: by then the watch has told of all pods
 * of that second, so that `through`, a full second, parts the old from the new. As much may the
 * API server's clock go behind ours.
 */
#define DRY_RUN_RIPE_US (3 * USEC_PER_SEC)

struct dry_run_view {
	const struct quota_spec *spec;
	int64_t effective;                   /* bytes */
	int64_t gpus;                        /* whole cards, or AMOUNT_NONE */
	const struct dry_run_status *before; /* as the server has it; NULL or zeroed: it begins */
	const struct quota_holder *holders;  /* of the namespace, in any order */
	size_t n_holders;
	int64_t now_real_us;
};

/*
 * @ret_again_us: how long until there is something to look at again; TIME_NEVER. Names are copied
 * into @arena; -1 with LIMIT when that is full. O(n log n) of the holders.
 */
int quota_dry_run(const struct dry_run_view *view, struct arena *arena,
		  struct dry_run_status *ret_status, int64_t *ret_again_us, struct error *err);

#endif
