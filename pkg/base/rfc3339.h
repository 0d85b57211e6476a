/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_BASE_RFC3339_H
#define GPUQOS_BASE_RFC3339_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/*
 * RFC 3339, as Kubernetes writes it: "2026-01-01T00:00:00Z" (metav1.Time) or with six digits of
 * fraction (metav1.MicroTime). Times are microseconds since 1970 UTC, in the years 0 to 9999.
 */
#define TIME_TEXT_SIZE 32
#define TIME_REAL_MIN  (-62167219200000000LL) /* 0000-01-01T00:00:00Z */
#define TIME_REAL_MAX  253402300799999999LL   /* 9999-12-31T23:59:59.999999Z */

/*
 * Any offset and any number of digits of fraction are read; what is below 1 µs is cut. A leap
 * second (":60") is refused, as Go refuses it. False leaves @ret_real_us untouched.
 */
bool time_parse(struct str text, int64_t *ret_real_us);

/*
 * Writes a terminated text in UTC, with seconds or, where @micro, microseconds; what is finer is
 * cut towards the past. Times outside the range are moved to its ends. Returns the length.
 */
size_t time_format(int64_t real_us, bool micro, char ret_text[TIME_TEXT_SIZE]);

#endif
