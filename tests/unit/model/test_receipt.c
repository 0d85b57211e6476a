/* SPDX-License-Identifier: Apache-2.0 */
/* Which times of a receipt are believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "model/receipt.h"

#define NOW  (INT64_C(1767323045) * USEC_PER_SEC)
#define HOUR (INT64_C(3600) * USEC_PER_SEC)

static void times_are_within_their_bounds(void **state)
{
	static const struct {
		const char *what;
		int64_t at_us, held_us, settled_us; /* as written */
		bool ahead;
		int64_t until_us, settled; /* as believed */
	} cases[] = {
		{"one that is open", NOW, NOW + 120, 0, false, NOW + 120, 0},
		{"held for as long as may be", NOW, NOW + HOUR, 0, false, NOW + HOUR, 0},
		{"held for longer", NOW, NOW + HOUR + 1, 0, false, NOW + HOUR, 0},
		{"held for ever", NOW, INT64_MAX, 0, false, NOW + HOUR, 0},
		{"held until long ago", NOW, INT64_MIN, 0, false, INT64_MIN, 0},
		{"settled long after", 1, 2, NOW - 1, false, 2, NOW - 1},
		{"settled in what is still to come", 1, 2, INT64_MAX, false, 2, 1},
		{"a little ahead", NOW + HOUR, NOW + HOUR, NOW + HOUR, false, NOW + HOUR,
		 NOW + HOUR},
		{"far ahead", NOW + HOUR + 1, NOW, 0, true, NOW, 0},
		{"as far ahead as can be told", INT64_MAX, INT64_MAX, 0, true, INT64_MAX, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct receipt written = {.at_us = cases[i].at_us,
						.held_until_us = cases[i].held_us,
						.settled_us = cases[i].settled_us};
		struct receipt believed = receipt_bounded(&written, NOW);

		if (receipt_is_ahead(written.at_us, NOW) != cases[i].ahead ||
		    believed.held_until_us != cases[i].until_us ||
		    believed.settled_us != cases[i].settled || believed.at_us != written.at_us)
			fail_msg("%s", cases[i].what);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(times_are_within_their_bounds)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
