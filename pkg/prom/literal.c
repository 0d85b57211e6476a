/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of others in a query, where they may be anything. */
#include "prom/literal.h"

#include <stdbool.h>

/* The backslash is one itself, in a string of PromQL. */
static void add_literal(struct buf *query, struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.data[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || c == '-' || c == '_';

		if (plain)
			buf_add_char(query, c);
		else
			buf_printf(query, "\\\\x{%02x}", (unsigned int)(unsigned char)c);
	}
}

void prom_add_alternatives(struct buf *query, const struct str *texts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			buf_add_char(query, '|');
		add_literal(query, texts[i]);
	}
}
