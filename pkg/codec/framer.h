/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CODEC_FRAMER_H
#define GPUQOS_CODEC_FRAMER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "codec/frame.h"

/*
 * Inside of codec/frame.h: what frame.c and frame_json.c share. A step takes at least one byte from
 * the front of the input, and hands on what it completed.
 */
enum framer_state {
	/* protobuf */
	FRAMER_LENGTH,     /* of a frame: four bytes */
	FRAMER_FRAME,      /* of a watch */
	FRAMER_MAGIC,      /* of the envelope */
	FRAMER_KEY,        /* of a field, in the envelope or in the list */
	FRAMER_NUMBER,     /* a varint that does not matter */
	FRAMER_FIELD_SIZE, /* length of a field */
	FRAMER_PART,       /* item or metadata */
	FRAMER_SKIP,       /* `left` bytes */
	/* JSON, between tokens unless said otherwise */
	FRAMER_BETWEEN,    /* objects of a watch */
	FRAMER_LIST_BEGIN, /* { */
	FRAMER_FIRST_KEY,  /* or } */
	FRAMER_NEXT_KEY,   /* after a comma */
	FRAMER_IN_KEY,     /* inside its quotes */
	FRAMER_COLON,
	FRAMER_VALUE,
	FRAMER_WORD,        /* inside a number, true, false or null */
	FRAMER_IN_STRING,   /* inside the quotes of a value that is skipped */
	FRAMER_IN_SKIPPED,  /* inside an object or array that is skipped */
	FRAMER_AFTER_VALUE, /* , or } */
	FRAMER_FIRST_ITEM,  /* or ] */
	FRAMER_NEXT_ITEM,   /* after a comma */
	FRAMER_AFTER_ITEM,  /* , or ] */
	FRAMER_OBJECT,      /* inside an object that is handed on */
	FRAMER_DONE,        /* behind the list */
};

struct framer {
	enum frame_format format;
	enum framer_state state;
	bool failed;
	bool seen_items, seen_meta;
	struct buf partial; /* the begin of a part, key or word whose end has not arrived */
	enum frame_part part;

	/* protobuf */
	uint64_t left;      /* bytes still to come of what `state` is in */
	uint64_t number;    /* varint so far */
	unsigned int shift; /* bits of it so far */
	uint32_t tag;
	bool in_list;       /* in the envelope's raw, of which... */
	uint64_t list_left; /* ...this much is still to come */

	/* JSON */
	uint64_t depth; /* open brackets of the value that is being passed over */
	bool in_string, escaped;
};

struct framer_input {
	struct str rest;
	frame_fn fn;
	void *context;
};

/* Keeps the first @len bytes of the input until more come. LIMIT. */
int framer_keep(struct framer *framer, struct framer_input *input, size_t len, struct error *err);

/* What was kept and the first @len bytes of the input, in one piece: valid until framer_forget().
 */
int framer_take(struct framer *framer, struct framer_input *input, size_t len,
		struct str *ret_whole, struct error *err);
void framer_forget(struct framer *framer);

/* Hands the part that ends after @len bytes of the input to the receiver. */
int framer_complete(struct framer *framer, struct framer_input *input, size_t len,
		    struct error *err);

/* One step over input that is not empty. */
int framer_step_protobuf(struct framer *framer, struct framer_input *input, struct error *err);
int framer_step_json(struct framer *framer, struct framer_input *input, struct error *err);

static inline void framer_skip(struct framer_input *input, size_t len)
{
	input->rest = str_skip(input->rest, len);
}

#endif
