/* SPDX-License-Identifier: Apache-2.0 */
/* The order of resourceVersions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "ctl/version.h"

static void older_is_what_counts_less(void **state UNUSED)
{
	static const struct {
		const char *what, *version, *than;
		bool older;
	} rows[] = {
		{"less of one length", "41", "42", true},
		{"more of one length", "43", "42", false},
		{"itself", "42", "42", false},
		{"fewer digits", "9", "10", true},
		{"more digits", "10", "9", false},
		{"more than 64 bits hold", "99999999999999999999998", "99999999999999999999999",
		 true},
		{"nothing", "", "42", false},
		{"than nothing", "42", "", false},
		{"zero", "0", "42", false},
		{"a leading zero", "041", "42", false},
		{"a sign", "-1", "42", false},
		{"no number", "abc", "42", false},
		{"than no number", "41", "4x", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (version_is_older(str_from(rows[i].version), str_from(rows[i].than)) !=
		    rows[i].older)
			fail_msg("%s", rows[i].what);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(older_is_what_counts_less),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
