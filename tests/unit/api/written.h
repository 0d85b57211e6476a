/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_API_WRITTEN_H
#define TESTS_UNIT_API_WRITTEN_H

#include "base/buf.h"

/* The body that a test has written, and what it should be; ' stands for ". */
extern struct buf body;

/* For cmocka: an empty body for each test. */
int body_setup(void **state);
int body_teardown(void **state);

/* Changes the body's quotes on the way. */
void assert_body(const char *wanted);

#endif
