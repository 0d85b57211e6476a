/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_PAGES_H
#define GPUQOS_AGENT_PAGES_H

#include <stdbool.h>

#include "base/buf.h"
#include "model/layout.h"

/* What the agent's pages say, read off its state. */
struct pages_view {
	const struct layout *layout; /* of the machine; NULL: not read yet */
	uint64_t generation;         /* of what it published */
	bool published, lease_holds;
	bool kubelet_known;
	int64_t since_look_us; /* since a look at the machine ended */
	int64_t look_late_us;  /* which is too long beyond this */
	int64_t log_dropped;
};

bool pages_write_health(const struct pages_view *view, struct buf *page);
bool pages_write_ready(const struct pages_view *view, struct buf *page);
void pages_write_metrics(const struct pages_view *view, struct buf *page);

#endif
