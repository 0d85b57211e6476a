/* SPDX-License-Identifier: Apache-2.0 */
/* One reflector that keeps nothing: each Event is counted as it comes. */
#include "controller/tenant/refusals.h"

#include "api/pack_event.h"
#include "api/type.h"
#include "base/clock.h"
#include "base/macros.h"
#include "base/mem.h"
#include "cluster/tenants/refusals.h"

struct refusals {
	struct cluster *cluster;
	struct loop *loop;
	struct reflector *reflector;
	int64_t synced_us; /* monotonic; 0: not yet */
};

static int on_apply(void *context, const void *object, struct arena *arena UNUSED,
		    struct error *err)
{
	struct refusals *refusals = context;
	struct refusal_facts facts;

	if (api_pack_refusal(object, &facts, err) < 0)
		return -1;
	cluster_apply_refusal(refusals->cluster, &facts, clock_real(loop_clock(refusals->loop)));
	return 0;
}

static int on_remove(void *context UNUSED, const void *object UNUSED, struct arena *arena UNUSED,
		     struct error *err UNUSED)
{
	return 0;
}

static void on_replace(void *context UNUSED)
{
}

static void on_synced(void *context)
{
	struct refusals *refusals = context;

	refusals->synced_us = loop_now(refusals->loop);
}

struct refusals *refusals_new(struct kube_client *client, struct cluster *cluster, struct log *log,
			      uint64_t seed)
{
	struct refusals *refusals = mem_alloc(sizeof(*refusals));

	refusals->cluster = cluster;
	refusals->loop = kube_client_loop(client);
	refusals->reflector =
		reflector_new(client, &(struct reflector_options){
					      .type = &api_core_events,
					      .field_selector = "reason=" API_REFUSED_REASON,
					      .sink = {.begin_replace = on_replace,
						       .end_replace = on_replace,
						       .abort_replace = on_replace,
						       .apply = on_apply,
						       .remove = on_remove,
						       .synced = on_synced,
						       .context = refusals},
					      .seed = seed,
					      .log = log,
				      });
	return refusals;
}

void refusals_free(struct refusals *refusals)
{
	if (!refusals)
		return;
	reflector_free(refusals->reflector);
	mem_free(refusals);
}

void refusals_start(struct refusals *refusals)
{
	reflector_start(refusals->reflector);
}

bool refusals_are_seen(const struct refusals *refusals, int64_t now_us)
{
	struct reflector_stats stats;

	if (!refusals)
		return false;
	reflector_stats(refusals->reflector, &stats);
	return stats.synced && stats.last_error.kind == ERROR_NONE && refusals->synced_us > 0 &&
	       now_us - refusals->synced_us >= CLUSTER_REFUSALS_US;
}
