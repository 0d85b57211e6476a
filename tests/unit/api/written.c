/* SPDX-License-Identifier: Apache-2.0 */
/* One body at a time. */
#include "written.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/limits.h"

struct buf body;

int body_setup(void **state)
{
	(void)state;
	buf_init(&body, LIMIT_JSON_OUTPUT);
	return 0;
}

int body_teardown(void **state)
{
	(void)state;
	buf_clear(&body);
	return 0;
}

void assert_body(const char *wanted)
{
	size_t i;

	assert_false(body.overflowed);
	for (i = 0; i < body.len; i++)
		if (body.data[i] == '"')
			body.data[i] = '\'';
	assert_string_equal(body.data, wanted);
}
