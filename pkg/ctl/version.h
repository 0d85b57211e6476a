/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CTL_VERSION_H
#define GPUQOS_CTL_VERSION_H

#include <stdbool.h>

#include "base/str.h"

/*
 * The order of resourceVersions, which are decimal numbers of any length without leading zeros
 * (Kubernetes API concepts, "Resource versions"; comparable since 1.35). What is no such number has
 * no order: false, as for equal ones.
 */
bool version_is_older(struct str version, struct str than);

#endif
