/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_CONFIG_NUMBERS_H
#define GPUQOS_CONTROLLER_CONFIG_NUMBERS_H

#include "codec/schema.h"

/* A number of --config: the range that it is told in, and what it is kept as. */
struct config_number {
	const char *name;
	const void *object; /* whose presence bits count */
	unsigned int index; /* in its table */
	int64_t value, min, max;
	int64_t *to;  /* untouched where it is not given, so that defaults stay */
	int64_t unit; /* that it is told in */
};

/* INVALID names the first that is out of its range. */
int config_read_numbers(const struct config_number *numbers, size_t n, struct error *err);

#endif
