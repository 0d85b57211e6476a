/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CLUSTER_POD_WORLD_H
#define TESTS_CLUSTER_POD_WORLD_H

#include "cluster/cluster.h"
#include "cluster/read.h"

/* Objects for tests of pods and nodes, told to a cluster in one line. */
#define POD_UID "11111111-2222-3333-4444-555555555555"

extern const struct device_ask one_gpu;
extern const struct device_offer h100; /* eight of 80 GiB */

/* A running pod "p" of namespace "a" with one GPU, bound to node "n"; that node, with h100. */
struct pod_facts pod_facts(void);
struct node_facts node_facts(void);
/* Fail the test where the cluster refuses. */
void apply_pod(struct cluster *c, struct pod_facts facts);
void apply_node(struct cluster *c, struct node_facts facts);

/* As it is, prices not refreshed; all zeros for a namespace that the cluster does not know. */
struct namespace_view view_of(struct cluster *c, const char *name);

/* For cmocka: *state is a cluster of the test's own. */
int cluster_setup(void **state);
int cluster_teardown(void **state);

#endif
