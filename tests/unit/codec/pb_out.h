/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CODEC_PB_OUT_H
#define TESTS_UNIT_CODEC_PB_OUT_H

#include "base/buf.h"

/* Writes protobuf, for tests. */
static inline void pb_out_varint(struct buf *out, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		buf_add_char(out, (char)(0x80 | (number & 0x7f)));
	buf_add_char(out, (char)number);
}

static inline void pb_out_number(struct buf *out, uint32_t tag, int64_t number)
{
	pb_out_varint(out, (uint64_t)tag << 3);
	pb_out_varint(out, (uint64_t)number);
}

static inline void pb_out_bytes(struct buf *out, uint32_t tag, struct str bytes)
{
	pb_out_varint(out, (uint64_t)tag << 3 | 2);
	pb_out_varint(out, bytes.len);
	buf_add_str(out, bytes);
}

#endif
