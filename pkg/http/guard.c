/* SPDX-License-Identifier: Apache-2.0 */
/* Request heads, checked line by line before evhttp sees a byte of them. */
#include "http/guard.h"

#include <stdbool.h>

#include "http/syntax.h"

#define OK                    0
#define BAD_REQUEST           400
#define METHOD_NOT_ALLOWED    405
#define CONTENT_TOO_LARGE     413
#define NOT_IMPLEMENTED       501
#define VERSION_NOT_SUPPORTED 505

static bool is_target(struct str s)
{
	return str_starts_with(s, STR("/")) && !str_starts_with(s, STR("//")) &&
	       http_is_text(s, false) && !memchr(s.data, '#', s.len);
}

static int check_request_line(struct str line)
{
	struct str method, rest, target, version;

	if (!str_split(line, ' ', &method, &rest) || !str_split(rest, ' ', &target, &version) ||
	    !http_is_token(method) || !str_starts_with(version, STR("HTTP/")))
		return BAD_REQUEST;
	if (!str_equal(version, STR("HTTP/1.1")) && !str_equal(version, STR("HTTP/1.0")))
		return VERSION_NOT_SUPPORTED;
	if (!str_equal(method, STR("GET")) && !str_equal(method, STR("HEAD")))
		return METHOD_NOT_ALLOWED;
	return is_target(target) ? OK : BAD_REQUEST;
}

static int check_length(struct str value)
{
	for (size_t i = 0; i < value.len; i++)
		if (value.data[i] < '0' || value.data[i] > '9')
			return BAD_REQUEST;
	if (str_empty(value))
		return BAD_REQUEST;
	return str_equal(value, STR("0")) ? OK : CONTENT_TOO_LARGE;
}

/* A folded line begins with a blank, which no name has. */
static int check_header(struct str line, bool *has_length)
{
	struct str name, value;

	if (!str_split(line, ':', &name, &value) || !http_is_token(name) ||
	    !http_is_text(value, true))
		return BAD_REQUEST;
	if (http_name_is(name, STR("transfer-encoding")))
		return NOT_IMPLEMENTED;
	if (!http_name_is(name, STR("content-length")))
		return OK;
	if (*has_length)
		return BAD_REQUEST;
	*has_length = true;
	return check_length(http_trim(value));
}

/* Takes one line off @head. False when it does not end in CRLF or has a lone CR or LF. */
static bool next_line(struct str *head, struct str *ret_line)
{
	struct str line, rest;

	if (!str_split(*head, '\n', &line, &rest) || !str_ends_with(line, STR("\r")))
		return false;
	line.len--;
	if (memchr(line.data, '\r', line.len))
		return false;
	*head = rest;
	*ret_line = line;
	return true;
}

int guard_check_head(struct str head)
{
	bool has_length = false;
	struct str line;
	int status;

	if (!next_line(&head, &line))
		return BAD_REQUEST;
	status = check_request_line(line);
	while (status == OK) {
		if (!next_line(&head, &line))
			return BAD_REQUEST;
		if (str_empty(line))
			return str_empty(head) ? OK : BAD_REQUEST;
		status = check_header(line, &has_length);
	}
	return status;
}

/* Line ends that are not CRLF count too: such a head is whole, and then refused. */
size_t guard_head_length(struct str bytes)
{
	for (size_t i = 0; i < bytes.len; i++) {
		size_t next = i + 1;

		if (bytes.data[i] != '\n')
			continue;
		if (next < bytes.len && bytes.data[next] == '\r')
			next++;
		if (next < bytes.len && bytes.data[next] == '\n')
			return next + 1;
	}
	return 0;
}
