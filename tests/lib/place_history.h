/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_PLACE_HISTORY_H
#define GPUQOS_TESTS_PLACE_HISTORY_H

/* A history of pods, nodes and quotas (prop/prop_place.c): what is so, and what a cluster was told
 * of it. Pods, nodes, spaces and tenants are numbers; what does not hold ends the test. */

#include "base/arena.h"
#include "base/random.h"
#include "lib/kubelet_model.h"
#include "lib/layouts.h"
#include "place/place.h"

#define PART_BYTES    (10 * GIB)
#define PARTS_OF_CARD 7

enum { NODES = 4, SPACES = 5, TENANTS = 2, PODS = 14, NO_NODE = -1 };

struct history_node {
	bool exists, published, policy_told, withdraws;
	uint64_t cut; /* cards that are cut into parts */
	int64_t card_bytes;
	uint32_t reserved_cpus;
	struct machine machine; /* as it is */
	struct kubelet_model kubelet;
	int queue[PODS]; /* bound pods that kubelet has not looked at */
	int n_queue;
};

struct history_pod {
	bool exists, guaranteed, whole_cpus, wished, scoped;
	enum topology_policy policy;
	enum layout_scope scope;
	uint64_t uid;
	int space;
	struct kubelet_pod spec;
	/* What is so. */
	int node;
	bool admitted, finished, terminating;
	struct kubelet_answer got;
	uint64_t decided, left; /* steps: of its decision, of when its deletion was told */
	bool required, policy_known;
	enum layout_scope required_scope;
	/* What the cluster was told last. */
	bool stale;
	int told_node;
	bool told_finished, told_terminating;
	uint64_t told_cards;
	/* What it assumes. */
	bool assumed;
	int assumed_node;
	uint64_t assumed_cards;
	int64_t until_us; /* 0: it is bound, and the watch will tell */
};

struct history_space {
	int tenant; /* -1 */
	bool has_quota;
	int64_t bytes, gpus;
};

struct history_tenant {
	int64_t bytes, gpus;
	struct topology_spec topology;
};

struct history {
	struct random random;
	struct cluster *cluster;
	uint64_t seed, step, counter;
	int64_t now_us;
	struct history_node nodes[NODES];
	struct history_pod pods[PODS];
	struct history_space spaces[SPACES];
	struct history_tenant tenants[TENANTS];
	struct place_memory memory, fresh;
	struct arena arena;
	struct placement_weights weights;
	size_t *seen; /* borrowed: by verdict, how often */
};

struct history_name {
	char text[32];
};

extern const struct str history_resources[KUBELET_RESOURCES];

/* --- place_history.c: telling a cluster of it, now or late */
uint32_t history_below(struct history *h, uint32_t bound);
bool history_chance(struct history *h, uint32_t one_in);
void history_fail_at(const struct history *h, const char *what, int pod, int node);
struct history_name history_name_of(const char *kind, int64_t number);
uint32_t history_count_of(uint64_t set);
uint64_t history_cards_below(size_t n);
uint32_t history_asks_of(const struct history_pod *pod, int resource);
int64_t history_given_out(const struct history_node *node, int r);
void history_tell_node(struct history *h, struct cluster *cluster, int n);
void history_tell_space(struct history *h, struct cluster *cluster, int s);
void history_tell_tenant(struct history *h, struct cluster *cluster, int t);
void history_tell_what_was_told(struct history *h, struct cluster *cluster, int p);
void history_tell_pod(struct history *h, int p);
void history_changed(struct history *h, int p);
uint32_t history_node_handle(const struct cluster *cluster, int n);
uint32_t history_pod_handle(const struct history *h, const struct cluster *cluster, int p);

/* --- place_expect.c: what the cluster should know of pods */
int history_view_node(const struct history_pod *pod);
int64_t history_held_on(const struct history *h, int n, int r, int except);
bool history_quota_refuses(const struct history *h, int p, int n, bool *ret_vague);
struct topology_spec history_topology_of(const struct history *h, const struct history_pod *pod);
void history_check_rooms(struct history *h);

/* --- place_ask.c: questions to placement, and what its answers are held against */
void history_refresh(struct cluster *cluster);
void history_begin(struct history *h, const struct cluster *cluster, struct place_memory *memory,
		   int p, struct place *place);
void history_check_same(struct history *h, const struct cluster *cluster, struct place *place,
			int p, int n);
int history_decide(struct history *h, int p, uint64_t *ret_cards);

/* --- place_change.c: nodes and quotas that change */
void history_new_machine(struct history *h, struct history_node *node);
void history_change_node(struct history *h);
void history_set_space(struct history *h, int s);
void history_set_tenant(struct history *h, int t);
void history_change_quota(struct history *h);

#endif
