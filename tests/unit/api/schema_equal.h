/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_API_SCHEMA_EQUAL_H
#define TESTS_UNIT_API_SCHEMA_EQUAL_H

#include "base/buf.h"
#include "codec/schema.h"

/*
 * Whether two structs that were decoded through @schema say the same, field by field. If not, the
 * way to the first difference is appended to @difference.
 *
 * A field that is absent in one and has its zero value in the other is equal: Go writes empty texts
 * and zeros of mandatory fields to protobuf and leaves them out of JSON.
 */
bool schema_equal(const struct schema *schema, const void *a, const void *b,
		  struct buf *difference);

#endif
