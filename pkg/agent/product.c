/* SPDX-License-Identifier: Apache-2.0 */
/* A card's model as node labels have it. */
#include "agent/product.h"

#include <stdbool.h>

#include "base/limits.h"

static bool is_label_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '-' || c == '_' || c == '.';
}

struct str product_label(struct arena *arena, struct str model, char between)
{
	char text[LIMIT_LABEL_VALUE + 1];
	size_t len = 0;
	bool gap = false;
	const char *copy;

	for (size_t i = 0; i < model.len; i++) {
		if (!is_label_char(model.data[i])) {
			gap = gap || model.data[i] == ' ';
			continue;
		}
		if (len + 2 > LIMIT_LABEL_VALUE)
			return STR_NONE;
		if (gap && len > 0)
			text[len++] = between;
		text[len++] = model.data[i];
		gap = false;
	}
	copy = arena_strndup(arena, text, len);
	return copy ? (struct str){copy, len} : STR_NONE;
}
