/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Raw request heads, as anybody may send them. What is let in is one head and nothing behind it, a
 * GET or HEAD of a path, or a POST where there are any, in lines that end in CRLF; all else has a
 * status of refusal.
 */
#include <stdbool.h>
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

static void check_head(const struct guard_head *head, size_t max_body)
{
	bool post = head->method == HTTP_SERVER_POST;

	if (head->path.data[0] != '/' || head->body_length > max_body ||
	    (!post && head->body_length > 0) || (post && max_body == 0))
		abort();
}

static bool is_method(struct str head, size_t max_body)
{
	return str_starts_with(head, STR("GET /")) || str_starts_with(head, STR("HEAD /")) ||
	       (max_body > 0 && str_starts_with(head, STR("POST /")));
}

static void check(struct str bytes, size_t max_body)
{
	size_t len = guard_head_length(bytes);
	struct str head = {bytes.data, len > 0 ? len : bytes.len};
	struct guard_head read;
	int status = guard_read_head(head, max_body, &read);

	if (len > bytes.len || (status != 0 && (status < 400 || status > 599)))
		abort();
	if (status != 0)
		return;
	if (len == 0 || !is_method(head, max_body))
		abort();
	check_head(&read, max_body);
	check_lines(head);
	if (bytes.len > len && guard_read_head(bytes, max_body, &read) == 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str bytes = {(const char *)data, size};

	check(bytes, 0);
	check(bytes, 1000);
	return 0;
}
