/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Raw request heads, as anybody may send them. What evhttp may have is one head and nothing behind
 * it, a GET or HEAD of a path, in lines that end in CRLF; all else has a status of refusal.
 */
#include <stdlib.h>

#include "http/guard.h"

static void check_lines(struct str head)
{
	for (size_t i = 0; i < head.len; i++) {
		if (head.data[i] == '\0')
			abort();
		if (head.data[i] == '\n' && (i == 0 || head.data[i - 1] != '\r'))
			abort();
		if (head.data[i] == '\r' && (i + 1 == head.len || head.data[i + 1] != '\n'))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str bytes = {(const char *)data, size};
	size_t len = guard_head_length(bytes);
	struct str head = {bytes.data, len > 0 ? len : size};
	int status = guard_check_head(head);

	if (len > size || (status != 0 && (status < 400 || status > 599)))
		abort();
	if (status != 0)
		return 0;
	if (len == 0 ||
	    (!str_starts_with(head, STR("GET /")) && !str_starts_with(head, STR("HEAD /"))))
		abort();
	check_lines(head);
	if (size > len && guard_check_head(bytes) == 0)
		abort();
	return 0;
}
