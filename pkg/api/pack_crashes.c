/* SPDX-License-Identifier: Apache-2.0 */
/* Crash loops, from what kubelet says of single containers: k8s.io/api/core/v1, ContainerStatus. */
#include "api/pack_crashes.h"

#include "base/macros.h"

#define LOOP "CrashLoopBackOff"

/* How its last run ended badly; NULL: it did not. */
static const struct wire_terminated *bad_end(const struct wire_container_state *state)
{
	return wire_has(state, WIRE_STATE_TERMINATED) && state->terminated.exit_code != 0
		       ? &state->terminated
		       : NULL;
}

static void add(const struct wire_container_status *status, struct pod_crashes *crashes)
{
	const struct wire_terminated *now = bad_end(&status->state),
				     *before = bad_end(&status->last_state);
	int ends = status->restarts + (now != NULL);

	if (str_equal(status->state.waiting.reason, STR(LOOP))) {
		crashes->waiting++;
		return;
	}
	if (!now)
		now = before;
	if (!now || ends < 2)
		return;
	crashes->again++;
	crashes->ended_us = MAX(crashes->ended_us, now->finished_us);
}

struct pod_crashes pack_crashes(const struct wire_pod_status *status)
{
	struct pod_crashes crashes = {0};

	wire_for_each(const struct wire_container_status, init, status->init_containers)
		add(init, &crashes);
	wire_for_each(const struct wire_container_status, container, status->containers)
		add(container, &crashes);
	return crashes;
}
