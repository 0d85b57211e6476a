/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_EXTENDER_INTERNAL_H
#define GPUQOS_EXTENDER_INTERNAL_H

#include "extender/answer.h"
#include "extender/args.h"
#include "extender/bind.h"
#include "extender/extender.h"
#include "place/place.h"

/* What the verbs share. */

#define EXTENDER_CLAIM_UNSEEN \
	"gpuqos has not seen a ResourceClaim of this pod yet, and will in a moment"
#define EXTENDER_SOFT_MOST 256
#define EXTENDER_UNSEEN    1024
#define EXTENDER_UNSEEN_US (30 * USEC_PER_SEC)
#define EXTENDER_TOLD      1024 /* refusals that are remembered, so that each is told once */
#define EXTENDER_REASONS   64   /* distinct ones in an answer */

/* A node that a pod is about to be bound to. */
struct soft {
	uint64_t pod; /* hash of its uid */
	uint32_t node;
	int64_t until_us;
};

/* A pod with GPUs that was judged before a watch has shown it. */
struct unseen {
	uint64_t pod; /* hash of its uid */
	int64_t until_us;
};

/*
 * Nodes by their names, since every call names every node: open addressing, never full. Longer
 * names than text has room for are not kept.
 */
#define EXTENDER_NAMES_LINES (2 * LIMIT_EXTENDER_NAMES)
#define EXTENDER_NAMES_MOST  (EXTENDER_NAMES_LINES / 8 * 7)

struct names {
	uint32_t n;
	struct known_name {
		uint64_t born; /* of the node (struct node_stamp); 0: the line is free */
		uint32_t node;
		uint8_t len;
		char text[51];
	} known[EXTENDER_NAMES_LINES];
};

/* Nodes that other pods are about to be bound to, by handle: open addressing, at most half full. */
struct soft_set {
	uint32_t nodes[2 * EXTENDER_SOFT_MOST]; /* TABLE_NONE: free */
};

struct extender {
	struct extender_options options;
	struct loop *loop;
	struct http_server *server;
	struct loop_timer expiry; /* of assumptions */
	struct arena arena;       /* of one call */
	struct place_memory memory;
	struct place place;
	struct names names;
	struct soft soft[EXTENDER_SOFT_MOST];
	struct unseen unseen[EXTENDER_UNSEEN];
	size_t next_soft, next_unseen;
	uint64_t told[EXTENDER_TOLD]; /* hashes of what was told of pods, by hash of the uid */
	struct bindings bindings;
	struct metric_family *calls, *latency, *refusals;
};

/* What filter and prioritize are asked. */
struct question {
	struct extender_args args;
	struct pod_facts pod;
	uint64_t uid; /* hash */
	bool gpus;    /* it asks for some: extender->place is ready */
	bool seen;    /* and a watch has shown it */
};

/* INVALID, LIMIT: what cannot be answered but with an error. */
int question_read(struct extender *extender, struct str body, struct question *ret_question,
		  struct error *err);
/* Else it is none of our business, also where it asks by ResourceClaims alone. */
bool pod_asks_for_gpus(const struct pod_facts *pod);
/* Brings prices and sums up to date before a pod of @namespace is judged. */
void question_refresh(struct extender *extender, uint32_t namespace);

/*
 * Where an earlier Binding may have taken a pod, of which nobody knows yet: until that is known it
 * may go nowhere else. TABLE_NONE: it is free.
 */
uint32_t question_bound_for(const struct extender *extender, uint32_t pod);
/* Why it may not go elsewhere. */
void question_describe_bound(const struct extender *extender, uint32_t node, struct buf *why);

void verb_filter(struct extender *extender, struct str body, struct buf *answer);
/* INVALID, LIMIT: there is no answer. */
int verb_prioritize(struct extender *extender, struct str body, struct buf *answer,
		    struct error *err);
int verb_preempt(struct extender *extender, struct str body, struct buf *answer, struct error *err);
/* Whether this replica answers; where not, @reply says so. */
bool extender_answers(const struct extender *extender, struct http_server_reply *reply);

/* unseen.c. False: there are too many, and this one cannot be remembered. */
bool unseen_add(struct extender *extender, uint64_t pod);
bool unseen_has(const struct extender *extender, uint64_t pod);

/* names.c: the nodes of all names, TABLE_NONE for those that are not known. */
void names_find(struct extender *extender, const struct str *names, size_t n, uint32_t *ret_nodes);

/* soft.c: other pods that are about to be bound to a node. */
void soft_set_make(const struct extender *extender, uint64_t pod, struct soft_set *ret_set);
bool soft_set_has(const struct soft_set *set, uint32_t node);
void soft_take(struct extender *extender, uint64_t pod, uint32_t node);
void soft_end(struct extender *extender, uint64_t pod);

/* rank.c. How good a node is to the pod that was asked about; one in @taken is behind all that are
 * not, and TABLE_NONE behind those. */
int64_t rank_total(struct extender *extender, const struct soft_set *taken, uint32_t node);
/* What a node needs that is near enough to the best. */
int64_t rank_least(const struct extender *extender, int64_t best);

struct ranked {
	int64_t total;
	size_t at; /* whatever tells them apart, in the order in which they are offered */
};

/* The best of many: a heap of them, by total; of equals those that were offered first. */
struct best {
	struct ranked *items; /* in no order; in the arena */
	size_t len, most;
};

/* @most: not 0. -1: the arena is full. */
int best_init(struct best *best, struct arena *arena, size_t most);
void best_offer(struct best *best, int64_t total, size_t at);
int64_t best_total(const struct best *best); /* of one that is not empty */

#endif
