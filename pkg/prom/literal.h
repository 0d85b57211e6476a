/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_PROM_LITERAL_H
#define GPUQOS_PROM_LITERAL_H

#include "base/buf.h"

/* Adds what matches each of @texts, letter for letter, as a regular expression (RE2) in a string of
 * PromQL. Inside prom only. */
void prom_add_alternatives(struct buf *query, const struct str *texts, size_t n);

#endif
