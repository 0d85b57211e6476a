/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kinds has all that is read of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster/kinds.h"

static void each_kind_has_a_row_and_no_two_the_same_records(void **state)
{
	(void)state;
	for (int i = 0; i < CLUSTER_KIND_COUNT; i++) {
		const struct kind *kind = &cluster_kinds[i];

		if (!kind->word || !kind->remove)
			fail_msg("kind %d has no row", i);
		for (int k = 0; k < i; k++)
			if (kind->records == cluster_kinds[k].records)
				fail_msg("%s has the records of %s", kind->word,
					 cluster_kinds[k].word);
	}
}

static void what_has_no_way_of_its_own_is_found_by_an_index(void **state)
{
	(void)state;
	for (int i = 0; i < CLUSTER_KIND_COUNT; i++) {
		const struct kind *kind = &cluster_kinds[i];

		if (!kind->find && kind->by_name == 0)
			fail_msg("%s cannot be found", kind->word);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_has_a_row_and_no_two_the_same_records),
		cmocka_unit_test(what_has_no_way_of_its_own_is_found_by_an_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
