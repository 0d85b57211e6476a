/* SPDX-License-Identifier: Apache-2.0 */
/* URLs of the APIs, from those of the servers. */
#include "prom/url.h"

#include <string.h>

#include "base/buf.h"

char *prom_url(const char *base, const char *path)
{
	struct str s = str_from(base);
	struct buf url;

	while (s.len > 0 && s.data[s.len - 1] == '/')
		s.len--;
	buf_init(&url, s.len + strlen(path) + 1);
	buf_add_str(&url, s);
	buf_add_cstr(&url, path);
	return buf_take(&url);
}
