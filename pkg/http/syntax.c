/* SPDX-License-Identifier: Apache-2.0 */
/* The small pieces of HTTP, read alike on both sides. ASCII only, whatever the locale. */
#include "http/syntax.h"

#include <strings.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

struct str http_trim(struct str s)
{
	while (!str_empty(s) && is_blank(s.data[0]))
		s = str_skip(s, 1);
	while (!str_empty(s) && is_blank(s.data[s.len - 1]))
		s.len--;
	return s;
}

bool http_name_is(struct str name, struct str wanted)
{
	return name.len == wanted.len &&
	       (str_empty(name) || strncasecmp(name.data, wanted.data, name.len) == 0);
}

/* RFC 9110, 5.6.2. */
bool http_is_token(struct str s)
{
	static const char marks[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < s.len; i++) {
		char c = s.data[i], letter = (char)(c | 0x20);

		if (!(letter >= 'a' && letter <= 'z') && !(c >= '0' && c <= '9') &&
		    (c == '\0' || !memchr(marks, c, sizeof(marks) - 1)))
			return false;
	}
	return !str_empty(s);
}

bool http_is_text(struct str s, bool tab)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.data[i];

		if ((c < 0x20 && !(tab && c == '\t')) || c == 0x7f)
			return false;
	}
	return true;
}
