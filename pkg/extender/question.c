/* SPDX-License-Identifier: Apache-2.0 */
/* What filter and prioritize have in common: the pod that they are asked about. */
#include "api/pack.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "extender/internal.h"
#include "quota/charge.h"

void question_refresh(struct extender *extender, uint32_t namespace)
{
	struct cluster *cluster = extender->options.cluster;

	cluster_refresh(cluster, namespace);
	cluster_refresh_tenant(cluster, cluster_tenant_of(cluster, namespace));
}

bool pod_asks_for_gpus(const struct pod_facts *pod)
{
	struct device_ask row;

	return quota_pod_request(pod, &row, 1) > 0;
}

int question_read(struct extender *extender, struct str body, struct question *ret_question,
		  struct error *err)
{
	const struct extender_options *options = &extender->options;
	const struct place_tools tools = {options->cluster, options->weights, &extender->memory,
					  &extender->arena, NULL};
	struct cluster_ask *ask = &extender->place.ask;
	struct question question = {0};

	arena_reset(&extender->arena);
	if (extender_read_args(body, &extender->arena, &question.args, err) < 0 ||
	    api_pack_pod(&question.args.pod, options->table, &extender->arena, &question.pod, err) <
		    0)
		return -1;
	question.uid = hash_bytes(&options->hash_key, question.pod.uid.data, question.pod.uid.len);
	question.gpus = pod_asks_for_gpus(&question.pod);
	if (question.gpus || question.pod.n_claims > 0) {
		question_refresh(extender,
				 cluster_namespace_find(options->cluster, question.pod.namespace));
		cluster_ask_of(options->cluster, &question.pod, ask);
		question.seen = ask->pod != TABLE_NONE;
		question.gpus = question.gpus || ask->n_claims > 0 || ask->claim_unseen;
		place_begin(&extender->place, &tools, ask);
	}
	*ret_question = question;
	return 0;
}

/* To a node that is gone it may have been bound likewise, and then the API server refuses. */
uint32_t question_bound_for(const struct extender *extender, uint32_t pod)
{
	const struct cluster *cluster = extender->options.cluster;
	uint32_t node = pod == TABLE_NONE ? TABLE_NONE : cluster_pod_node(cluster, pod);

	return node != TABLE_NONE && cluster_node_exists(cluster, node) ? node : TABLE_NONE;
}

void question_describe_bound(const struct extender *extender, uint32_t node, struct buf *why)
{
	struct str name = cluster_node_name(extender->options.cluster, node);

	buf_printf(why, "gpuqos: an earlier binding of the pod to node %.*s may still come true",
		   STR_ARGS(name));
}
