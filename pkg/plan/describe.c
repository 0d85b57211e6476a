/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan says of itself, for receipts, Events and people. */
#include <inttypes.h>

#include "base/limits.h"
#include "cluster/read.h"
#include "plan/internal.h"

/* Victims on the node itself; others of a gang may be anywhere. */
static size_t count_there(const struct plan *plan)
{
	size_t there = 0;

	for (size_t i = 0; i < plan->best.n; i++)
		there += cluster_pod_node(plan->tools.cluster, plan->best.pods[i]) ==
			 plan->best.node;
	return there;
}

static void describe_found(const struct plan *plan, struct buf *buf)
{
	const struct plan_cost *cost = &plan->best.cost;
	const struct plan_counts *counts = &plan->counts;
	size_t there = count_there(plan);

	buf_printf(buf, "it fits on %.*s with %zu of the %u pods there gone, %u of which may go",
		   STR_ARGS(cluster_node_name(plan->tools.cluster, plan->best.node)), there,
		   plan->of_best.candidates, plan->of_best.eligible);
	if (there < plan->best.n)
		buf_printf(buf, ", and %zu of the same gangs elsewhere", plan->best.n - there);
	buf_printf(buf,
		   ", and with any of them kept it does not; that costs %" PRId64
		   " GPU-seconds since their last checkpoint and %" PRId64
		   " GiB that is not borrowed; %u pods on %u node%s were looked at",
		   cost->lost, (int64_t)(cost->owned / GIB), counts->candidates, counts->nodes,
		   counts->nodes == 1 ? "" : "s");
	if (plan->inexact)
		buf_add_cstr(buf, "; there may be a cheaper way: a node had too many pods to look "
				  "at every set of them");
}

static void describe_untold(const struct plan *plan, struct buf *buf)
{
	const struct plan_doubt *doubt = &plan->doubt;

	buf_printf(buf, "on %.*s fewer may be enough once ",
		   STR_ARGS(cluster_node_name(plan->tools.cluster, doubt->node)));
	if (doubt->untold)
		buf_add_cstr(buf, "it is told which cards ");
	buf_printf(buf, "pod %.*s/%.*s %s", STR_ARGS(doubt->namespace), STR_ARGS(doubt->name),
		   doubt->untold ? "has" : "is gone");
}

static void describe_exempt(const struct plan_counts *counts, struct buf *buf)
{
	const char *joint = ": ";

	for (unsigned int i = PLAN_NONE + 1; i < PLAN_EXEMPTION_COUNT; i++) {
		if (counts->exempt[i] == 0)
			continue;
		buf_printf(buf, "%s%u: %s", joint, counts->exempt[i],
			   plan_exemption_text((enum plan_exemption)i));
		joint = "; ";
	}
}

void plan_describe(const struct plan *plan, struct buf *buf)
{
	const struct plan_counts *counts = &plan->counts;

	if (plan->fits_on != TABLE_NONE) {
		buf_printf(buf, "it fits on %.*s with nobody gone",
			   STR_ARGS(cluster_node_name(plan->tools.cluster, plan->fits_on)));
		return;
	}
	if (plan->unproven) {
		host_describe_doubt(&plan->terms.doubt, buf);
		return;
	}
	if (plan->found) {
		describe_found(plan, buf);
		return;
	}
	if (plan_in_doubt(plan)) {
		describe_untold(plan, buf);
		return;
	}
	buf_printf(buf, "%u of %u candidates eligible", counts->eligible, counts->candidates);
	describe_exempt(counts, buf);
	if (plan->quota_says > 0)
		buf_printf(buf,
			   "; on %u of %u nodes the quota of its own tenant is in the way, which "
			   "nobody's going changes: %s",
			   plan->quota_says, counts->nodes, plan->quota);
	else if (counts->nodes == 0)
		buf_add_cstr(buf, "; no node that is ready has as much as it asks for");
	else if (counts->eligible > 0)
		buf_add_cstr(buf, "; with any of these gone it fits on no node");
	host_describe(counts->unhosted, "; ", buf);
}
