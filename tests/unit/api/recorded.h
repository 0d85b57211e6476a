/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_API_RECORDED_H
#define TESTS_UNIT_API_RECORDED_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/macros.h"
#include "codec/schema.h"

/* Objects of a real API server, recorded by tests/data/wire/record-objects. */

/* Appends the file objects/<name><suffix>; fails the test where it cannot. */
void recorded_read(const char *name, const char *suffix, struct buf *text);

/* Decodes its JSON. The texts stay valid as long as @text and @arena. */
void recorded_decode(const struct schema *schema, const char *name, struct buf *text,
		     struct arena *arena, void *ret_object);

/* The same for JSON that stands in a test, with ' for ". */
void sample_decode(const struct schema *schema, const char *json, struct arena *arena,
		   void *ret_object);

/* What a test of a packer works with. */
struct fixture {
	struct arena arena;
	struct buf text, out;
	struct error err;
};

void fixture_init(struct fixture *f);
void fixture_clear(struct fixture *f);
DEFINE_CLEAR(struct fixture, fixture_clear)

#endif
