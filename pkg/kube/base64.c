/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 for the two places where we write it: basic authentication and what a plugin is told. */
#include "kube/base64.h"

static void add_group(struct buf *buf, const unsigned char *in, size_t n)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = (uint32_t)in[0] << 16;

	if (n > 1)
		bits |= (uint32_t)in[1] << 8;
	if (n > 2)
		bits |= in[2];
	for (size_t i = 0; i < 4; i++)
		buf_add_char(buf, i <= n ? alphabet[(bits >> (18 - 6 * i)) & 63] : '=');
}

void base64_add(struct buf *buf, struct str bytes)
{
	const unsigned char *in = (const unsigned char *)bytes.data;

	for (size_t at = 0; at < bytes.len; at += 3)
		add_group(buf, in + at, bytes.len - at < 3 ? bytes.len - at : 3);
}
