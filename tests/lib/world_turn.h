/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_WORLD_TURN_H
#define GPUQOS_TESTS_WORLD_TURN_H

#include "lib/world_shell.h"

/* The turn of one key: gather, decide, make a set of writes. The key has none in flight. */
void world_tenant_turn(struct world *w, int tenant);
void world_space_turn(struct world *w, int space);

#endif
