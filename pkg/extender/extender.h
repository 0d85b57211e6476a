/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_EXTENDER_EXTENDER_H
#define GPUQOS_EXTENDER_EXTENDER_H

#include "api/source_table.h"
#include "base/log.h"
#include "base/metrics.h"
#include "cluster/cluster.h"
#include "http/server.h"
#include "kube/client.h"
#include "model/placement.h"
#include "runtime/recorder.h"

/*
 * kube-scheduler's extender: it asks over HTTPS which nodes a pod fits, which are better, and has
 * the pod bound. POST /filter, /prioritize, /preempt, /bind, in the format of extender/args.h and
 * answer.h. Pods without GPUs get their node list back as it came.
 *
 * filter and prioritize answer from the cluster and never wait. bind asks once more whether the pod
 * fits, records the assumption that it is there, posts the Binding, and answers when the API server
 * has. preempt answers that nobody is to go: kube-scheduler's choice knows neither memory nor
 * layout, and evicts one by one what it does not check again.
 *
 * Of the nodes that fit, filter lets the best pass, and says nothing of the others: each name costs
 * kube-scheduler more than a decision costs us, and where one passes alone it asks and scores no
 * more. A pod that wishes for nodes by what kube-scheduler alone scores is told of all.
 *
 * A pod that no watch has shown yet is judged by what kube-scheduler says of it, but not bound
 * before one has: bind waits for that (extender/bind.h).
 * filter leaves word of a node that passed alone, and prioritize of the one that it found best, for
 * EXTENDER_SOFT_US, since kube-scheduler asks about the next pod before this one is bound: others
 * find that node less good until then.
 */
struct extender;

#define EXTENDER_SOFT_US   (2 * USEC_PER_SEC)
#define EXTENDER_ASSUME_US (60 * USEC_PER_SEC) /* an assumption that no watch settles ends then */

struct extender_options {
	const char *address; /* "0.0.0.0:9443" */
	const char *cert_file, *key_file, *client_ca_file;

	struct cluster *cluster;          /* changed by assumptions alone */
	const struct source_table *table; /* resources of --config */
	const struct placement_weights *weights;
	size_t candidates; /* of how many nodes that fit it tells; 0: of all */
	int64_t margin;    /* and how much worse than the best they may be: model/placement.h */
	struct kube_client *client;
	struct recorder *recorder;
	bool (*may_answer)(void *context); /* leads, and its caches are complete; else 503 */
	void (*touched)(void *context);    /* namespaces may be dirty */
	void *context;
	struct log *log;
	struct metrics *metrics; /* or NULL */
	struct hash_key hash_key;
};

/* All of @options is borrowed for life. Serves from now on. As http_server_new(). */
int extender_new(const struct extender_options *options, struct extender **ret_extender,
		 struct error *err);
void extender_free(struct extender *extender); /* accepts NULL */
/* A watch has changed the cluster, or may_answer() would say something else than before. */
void extender_look_again(struct extender *extender);
uint16_t extender_port(const struct extender *extender);

DEFINE_CLEANUP(struct extender *, extender_free)

#endif
