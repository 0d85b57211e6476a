/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_LIB_CROWD_H
#define TESTS_LIB_CROWD_H

#include "base/error.h"
#include "cluster/cluster.h"

/* A cluster of many namespaces, all alike, for measurements. Names follow from numbers. */
#define CROWD_NODES 50
#define CROWD_PODS  4 /* of each namespace, of a card each */

/* Ends the program where @result is not 0. */
void crowd_check(int result, const struct error *err);

/* "<stem>-<number>"; eight texts live at a time. */
struct str crowd_text(const char *stem, unsigned int number);

void crowd_add_node(struct cluster *cluster, unsigned int number);
void crowd_add_pod(struct cluster *cluster, unsigned int namespace, unsigned int number);
/* With a GpuMemoryQuota, its pods, and the label tenant of that number; every second may borrow. */
void crowd_add_namespace(struct cluster *cluster, unsigned int tenant, unsigned int number);

#endif
