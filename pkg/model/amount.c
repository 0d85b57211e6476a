/* SPDX-License-Identifier: Apache-2.0 */
/* Byte amounts as people write them, and the order of resource lists. */
#include "model/amount.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

/* More digits than this are read worse than a decimal of the next unit. */
#define SHORT_NUMBER 10000

static const struct unit {
	int shift;
	const char *suffix;
} units[] = {{60, "Ei"}, {50, "Pi"}, {40, "Ti"}, {30, "Gi"}, {20, "Mi"}, {10, "Ki"}, {0, ""}};

int resource_amount_compare(const void *a, const void *b)
{
	const struct resource_amount *left = a, *right = b;

	return str_compare(left->resource, right->resource);
}

/* The largest unit of which @bytes is at least one. */
static const struct unit *largest_unit(int64_t bytes)
{
	const struct unit *unit = units;

	while (unit->shift > 0 && bytes >> unit->shift == 0)
		unit++;
	return unit;
}

/* The largest unit of which @bytes is a whole number. */
static const struct unit *whole_unit(int64_t bytes)
{
	const struct unit *unit = units;

	while (bytes & (((int64_t)1 << unit->shift) - 1))
		unit++;
	return unit;
}

/* @bytes in tenths of @unit, rounded to the nearest; *@ret_exact: nothing was lost. */
static int64_t tenths(int64_t bytes, const struct unit *unit, bool *ret_exact)
{
	int64_t size = (int64_t)1 << unit->shift;
	int64_t rest = bytes & (size - 1);
	/* The product stays below 2^63: a rest of Ei is taken in Ki. */
	int scale = unit->shift > 50 ? 10 : 0;
	int64_t scaled = (rest >> scale) * 10;

	*ret_exact = rest == (rest >> scale) << scale && scaled % (size >> scale) == 0;
	return (bytes >> unit->shift) * 10 + (scaled + (size >> scale) / 2) / (size >> scale);
}

struct amount_text amount_text(int64_t bytes)
{
	struct amount_text ret = {0};
	const struct unit *largest, *whole;
	int64_t value;
	bool exact;

	if (bytes <= 0) {
		snprintf(ret.text, sizeof(ret.text), "%s",
			 bytes == 0             ? "0"
			 : bytes == AMOUNT_NONE ? "none"
						: "unknown");
		return ret;
	}
	largest = largest_unit(bytes);
	whole = whole_unit(bytes);
	if (whole == largest || bytes >> whole->shift < SHORT_NUMBER) {
		snprintf(ret.text, sizeof(ret.text), "%" PRId64 "%s", bytes >> whole->shift,
			 whole->suffix);
		return ret;
	}
	value = tenths(bytes, largest, &exact);
	snprintf(ret.text, sizeof(ret.text), "%s%" PRId64 ".%" PRId64 "%s", exact ? "" : "~",
		 value / 10, value % 10, largest->suffix);
	return ret;
}
