/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CODEC_DECODE_H
#define GPUQOS_CODEC_DECODE_H

#include "base/limits.h"
#include "codec/schema.h"

/*
 * What the readers of protobuf and JSON share: where in the object a decode is, and lists that grow
 * in the arena. Inside codec only.
 *
 * The way to the current field is kept as steps that a failure leaves standing, so that the
 * outermost function can put it before the message; no path is built while all goes well.
 */
struct decode_step {
	const struct field *field; /* NULL between fields */
	size_t index;              /* of the list element, or DECODE_NO_INDEX */
};

#define DECODE_NO_INDEX SIZE_MAX

struct decode {
	const struct schema *schema; /* of the whole object */
	struct arena *arena;
	struct error *err;
	unsigned int depth;
	struct decode_step steps[LIMIT_DECODE_DEPTH];
};

/* The steps need no zeroing: decode_enter() sets each before it is looked at. */
static inline void decode_init(struct decode *decode, const struct schema *schema,
			       struct arena *arena, struct error *err)
{
	decode->schema = schema;
	decode->arena = arena;
	decode->err = err;
	decode->depth = 0;
}

/* Enters a message: its step, or NULL with LIMIT. decode_leave() when it was read whole. */
struct decode_step *decode_enter(struct decode *decode);

static inline void decode_leave(struct decode *decode)
{
	decode->depth--;
}

/* Puts "Pod: spec.containers[3].name" before the error's message. Returns -1. */
int decode_locate(const struct decode *decode);

/*
 * A new zeroed element of @size bytes at the end of @list, the step's index set; NULL with LIMIT.
 * The room doubles and is told by the length alone, so n elements cost O(n).
 */
void *decode_append(struct decode *decode, struct decode_step *step, struct wire_list *list,
		    size_t size);

/* Whether a map keeps what it has under @key. */
bool decode_keeps(const struct field *field, struct str key);

/* LIMIT: the arena is full. Returns -1. */
int decode_no_memory(const struct decode *decode);

static inline void *decode_member(void *object, const struct field *field)
{
	return (char *)object + field->offset;
}

/* Objects hold what they point to at addresses that the arena aligned. */
static inline void decode_mark(const struct schema *schema, void *object, const struct field *field)
{
	*(uint64_t *)object |= UINT64_C(1) << (field - schema->fields);
}

#endif
