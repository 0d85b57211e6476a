/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_LIB_CARDS_H
#define TESTS_LIB_CARDS_H

#include "cluster/cluster.h"

/*
 * A node of so many H100 of 80 GiB, as nvidia.com/gpu. @facts says what else it is: its name, which
 * is its uid as well; and its layout, which is known where there is one. Of @facts no offer is
 * read.
 */
void cards_add_node(struct cluster *cluster, int64_t cards, struct node_facts facts);

#endif
