/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_PACK_SPEC_H
#define GPUQOS_API_PACK_SPEC_H

#include "api/pack_common.h"
#include "base/macros.h"

/*
 * Checks of a spec that a person wrote: what cannot be used is told, not an error. Inside api only.
 * All return 0, or -1 only where the arena is full; the first problem is the one that is kept.
 */
struct spec_check {
	struct pack pack;
	const char *invalid; /* in the arena; NULL while all is well */
};

/* A sentence without a full stop that names the field. */
PRINTF_LIKE(2, 3) int spec_complain(struct spec_check *check, const char *format, ...);

/* As much of a person's text as a message shows. */
struct str spec_shown(struct str text);

/* Bytes, more than 0. */
int spec_memory(struct spec_check *check, const char *field, struct str text, int64_t *ret_bytes);
/* Bytes, at least 1Gi, so that a number without a unit is no amount. */
int spec_large_memory(struct spec_check *check, const char *field, struct str text,
		      int64_t *ret_bytes);
/* The same, or 0. */
int spec_large_memory_or_none(struct spec_check *check, const char *field, struct str text,
			      int64_t *ret_bytes);

struct spec_range {
	const char *field;
	int64_t most; /* from 0 */
};

int spec_number(struct spec_check *check, const struct spec_range *range, int64_t value);

/* A number that may be left out: what it is of then stays as it is. */
struct spec_option {
	const char *field;
	bool given;
	int64_t value, least, most;
	int64_t unit; /* what a 1 is, of ours */
	int64_t *ret_value;
};

/* In order, up to the first that is out of its bounds. */
int spec_options(struct spec_check *check, const struct spec_option *options, size_t n);

/* Which of @choices, which end with NULL, @text is; empty: the first. */
int spec_choice(struct spec_check *check, const char *field, struct str text,
		const char *const *choices, size_t *ret_choice);

#endif
