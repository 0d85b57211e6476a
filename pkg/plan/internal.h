/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_PLAN_INTERNAL_H
#define GPUQOS_PLAN_INTERNAL_H

#include "base/map.h"
#include "cluster/placing/reserve.h"
#include "cluster/placing/untold.h"
#include "cluster/uid.h"
#include "plan/plan.h"

/* What the files of this package share. */

/* Of so many of an ask's cells the units are counted before placement is asked; it counts all. */
#define PLAN_CELLS 4
/* And what else is missing there (cluster/hosts/hosts.h, ports.h). */
#define PLAN_NEEDS (PLAN_CELLS + HOST_AMOUNTS + 1)

struct plan_member {
	uint32_t pod, budget;
	struct uid uid;
};

/* Pods that go together or not at all: one, or a gang. */
struct plan_group {
	struct plan_cost cost;
	int64_t freed[PLAN_NEEDS]; /* on the node */
	struct uid least;
	uint32_t gang;     /* TABLE_NONE: one pod */
	uint32_t first, n; /* of the members; n is 0 where these were not asked for */
};

/* What a node has to have for the pod. */
struct plan_need {
	uint32_t offer;  /* units of it; TABLE_NONE: none, or an amount */
	size_t amount;   /* HOST_AMOUNTS: none */
	bool ports;      /* it is pods that have ports which it asks for, and are to go */
	int64_t missing; /* at most 0 where enough is free */
};

/* Of one node. */
struct plan_groups {
	struct plan_group *groups; /* owned; in rising order of cost where gathered whole */
	size_t n, room;
	struct plan_member *members; /* owned */
	size_t n_members, members_room;
	struct plan_need needs[PLAN_NEEDS]; /* amounts, where any is missing, after all cells */
	size_t n_needs;
};

/* What was found of a gang, whichever node it was met on first. */
struct plan_gang {
	uint32_t gang, pods;
	enum plan_exemption exemption;
	struct plan_cost cost;
	struct uid least;
};

/* A node where eviction may help, and what that costs at least. */
struct plan_lead {
	struct plan_cost cost;
	struct uid least;
	uint32_t node;
};

/* Sets of equal cost are told apart by these, in rising order. */
struct plan_set {
	struct plan_cost cost;
	uint32_t node;
	uint32_t pods[RECEIPT_VICTIMS];
	struct uid uids[RECEIPT_VICTIMS];
	size_t n;
};

struct plan {
	struct place_tools tools;
	struct plan_ask ask;
	struct uid uid; /* of the pod that it is for */
	struct place place;
	struct arena kept; /* of terms */
	struct cluster_terms terms;
	bool unproven; /* nobody knows where it may go (host_describe_doubt()) */
	struct cluster_trial trial;
	uint32_t gone[RECEIPT_VICTIMS];
	struct plan_counts counts;
	struct plan_groups groups;
	struct plan_gang *gangs; /* owned */
	size_t n_gangs, gangs_room;
	struct map gangs_by_number;
	struct plan_lead *leads; /* owned */
	size_t n_leads, leads_room, next_lead;
	int64_t *sizes; /* owned: scratch */
	size_t sizes_room;
	uint32_t next_node;
	bool sifted; /* all nodes were looked at */
	bool inexact;
	bool found;
	struct plan_set best;
	struct plan_counts of_best; /* of its node alone, as it was proven */
	struct plan_doubt {
		bool untold, ending; /* it is not told which cards it has; it ends */
		uint32_t node;
		struct str namespace, name; /* a pod's; borrowed of the cluster, or kept */
	} doubt;                            /* why nothing is looked for, or is not taken */
	uint64_t cards;
	uint32_t trials;
	uint32_t fits_on;    /* the node that it fits with nobody gone; TABLE_NONE */
	uint32_t quota_says; /* nodes where the quota is what is in the way */
	char quota[256];     /* what it says */
};

/* --- cost.c */
struct plan_cost plan_cost_of(const struct plan_ask *ask, const struct cluster_victim *victim);
void plan_cost_add(struct plan_cost *sum, const struct plan_cost *more);
/* As strcmp(). */
int plan_cost_compare(const struct plan_cost *a, const struct plan_cost *b);
int plan_uid_compare(struct uid a, struct uid b);
/* By cost, uids, and the nodes' names; a set's uids come to be in order. */
int plan_set_compare(const struct cluster *cluster, const struct plan_set *a,
		     const struct plan_set *b);
void plan_set_sort(struct plan_set *set);

/* --- groups.c */

/*
 * The groups of the pods on @node that may go, for @units. @whole: with all members, else only with
 * what they cost. Counts in @counts where that is not NULL.
 */
void plan_gather(struct plan *plan, uint32_t node, const struct cluster_units *units, bool whole,
		 struct plan_counts *counts);
/* Puts the @n cheapest first, in rising order. */
void plan_groups_select(struct plan_groups *groups, size_t n);
void plan_groups_clear(struct plan_groups *groups);
/* Victims, at most. */
size_t plan_most(const struct plan *plan);

/* --- search.c */

/* The best set of @node that is better than the plan's, which it takes the place of. */
void plan_search(struct plan *plan, uint32_t node);
/* Whether it fits with the pods of @plan->gone away. */
bool plan_try(struct plan *plan, uint32_t node, size_t n_gone);
/* Whether budgets allow so many of these to go. */
bool plan_budgets_allow(const struct cluster *cluster, const struct plan_member *const *members,
			size_t n);

#endif
