/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_USAGE_H
#define GPUQOS_AGENT_USAGE_H

#include "agent/facts.h"

/*
 * Who uses a card, by what the driver counts for processes: the processes of one pod on one card
 * are a row, and those of no pod another. This stays true where replicas of a card share it, since
 * it is processes that are counted, not devices.
 */
#define USAGE_UID_SIZE 37

struct usage_row {
	uint32_t card;            /* index among the layout's GPUs */
	char pod[USAGE_UID_SIZE]; /* the pod's uid; empty: they are in no pod's cgroup */
	uint32_t processes;
	int64_t memory; /* bytes, or AMOUNT_UNKNOWN */
	int sm_percent; /* of the time of the card's multiprocessors; -1: not known */
};

struct usage {
	const struct usage_row *rows; /* by card, then pod */
	size_t n_rows;
};

/*
 * The uid of the pod in whose cgroup a process is, from the text of /proc/PID/cgroup, as kubelet
 * names cgroups under systemd ("kubepods-burstable-pod5c3e_..._.slice") and without it
 * ("/kubepods/burstable/pod5c3e-..."). False: of none.
 */
bool usage_pod_uid(struct str cgroup, char ret_uid[USAGE_UID_SIZE]);

/*
 * @proc: /proc of the node's own PID namespace. A process that has ended meanwhile counts as one of
 * no pod. Borrowed from @arena. False: no room in it.
 */
bool usage_read(const char *proc, const struct layout *layout, const struct machine_facts *facts,
		struct arena *arena, struct usage *ret_usage);

#endif
