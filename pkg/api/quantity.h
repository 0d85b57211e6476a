/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_QUANTITY_H
#define GPUQOS_API_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/*
 * Kubernetes quantities (k8s.io/apimachinery/pkg/api/resource, Quantity): a signed decimal number
 * with a binary suffix Ki to Ei, a decimal suffix n, u, m, k, M to E, or a decimal exponent e or E
 * with digits.
 *
 * Reads a quantity as an integer; fractions are rounded away from zero, for positive numbers as
 * Quantity.Value() does. False, with @ret_value untouched, for malformed text, for more than
 * QUANTITY_TEXT_MAX bytes and for what does not fit in int64_t: the caller names the object. Every
 * text that Go reads as a number in that range is read, but for one without any digit ("Ki", which
 * Go takes for 0).
 */
#define QUANTITY_TEXT_MAX 128

bool quantity_parse(struct str text, int64_t *ret_value);

/* The same in millionths: "200m" and "0.2" are 200000. Binary suffixes are not read. */
bool quantity_parse_millionths(struct str text, int64_t *ret_value);

#define QUANTITY_TEXT_SIZE 32

/*
 * Bytes with the largest binary suffix that divides them ("320Gi", "81559Mi", "1"): exact, and the
 * form that the API server would choose. Terminated; returns the length.
 */
size_t quantity_format_bytes(int64_t bytes, char ret_text[QUANTITY_TEXT_SIZE]);

/*
 * The same for people: what is no whole number of Mi is rounded to one, up or down. It is then less
 * than 1Mi off.
 */
size_t quantity_format_shown(int64_t bytes, bool up, char ret_text[QUANTITY_TEXT_SIZE]);

/* A plain decimal count. */
size_t quantity_format_count(int64_t count, char ret_text[QUANTITY_TEXT_SIZE]);

#endif
