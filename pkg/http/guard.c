/* SPDX-License-Identifier: Apache-2.0 */
/* Request heads, checked line by line before anybody acts on a byte of them. */
#include "http/guard.h"

#include <stdbool.h>

#include "http/syntax.h"

#define OK                    0
#define BAD_REQUEST           400
#define METHOD_NOT_ALLOWED    405
#define LENGTH_REQUIRED       411
#define CONTENT_TOO_LARGE     413
#define EXPECTATION_FAILED    417
#define NOT_IMPLEMENTED       501
#define VERSION_NOT_SUPPORTED 505

/* A head while it is read. */
struct reading {
	struct guard_head head;
	size_t max_body;
	bool has_length;
};

static bool is_target(struct str s)
{
	return str_starts_with(s, STR("/")) && !str_starts_with(s, STR("//")) &&
	       http_is_text(s, false) && !memchr(s.data, '#', s.len);
}

static int read_method(struct reading *reading, struct str method)
{
	if (str_equal(method, STR("GET")))
		reading->head.method = HTTP_SERVER_GET;
	else if (str_equal(method, STR("HEAD")))
		reading->head.method = HTTP_SERVER_HEAD;
	else if (str_equal(method, STR("POST")) && reading->max_body > 0)
		reading->head.method = HTTP_SERVER_POST;
	else
		return METHOD_NOT_ALLOWED;
	return OK;
}

static int read_request_line(struct reading *reading, struct str line)
{
	struct str method, rest, target, version;
	int status;

	if (!str_split(line, ' ', &method, &rest) || !str_split(rest, ' ', &target, &version) ||
	    !http_is_token(method) || !str_starts_with(version, STR("HTTP/")))
		return BAD_REQUEST;
	reading->head.close = str_equal(version, STR("HTTP/1.0"));
	if (!reading->head.close && !str_equal(version, STR("HTTP/1.1")))
		return VERSION_NOT_SUPPORTED;
	status = read_method(reading, method);
	if (status != OK)
		return status;
	str_split(target, '?', &reading->head.path, &reading->head.query);
	return is_target(target) ? OK : BAD_REQUEST;
}

/* Digits alone; more of them than a number holds are too many bytes. */
static int read_length(struct reading *reading, struct str value)
{
	size_t most = reading->head.method == HTTP_SERVER_POST ? reading->max_body : 0;
	int64_t length;

	for (size_t i = 0; i < value.len; i++)
		if (value.data[i] < '0' || value.data[i] > '9')
			return BAD_REQUEST;
	if (str_empty(value) || reading->has_length)
		return BAD_REQUEST;
	reading->has_length = true;
	if (!str_to_int64(value, 0, (int64_t)most, &length))
		return CONTENT_TOO_LARGE;
	reading->head.body_length = (size_t)length;
	return OK;
}

/* Whether one of the names in the list @value is "close". */
static bool says_close(struct str value)
{
	struct str name;

	while (!str_empty(value)) {
		str_split(value, ',', &name, &value);
		if (http_name_is(http_trim(name), STR("close")))
			return true;
	}
	return false;
}

/* A folded line begins with a blank, which no name has. */
static int read_header(struct reading *reading, struct str line)
{
	struct str name, value;

	if (!str_split(line, ':', &name, &value) || !http_is_token(name) ||
	    !http_is_text(value, true))
		return BAD_REQUEST;
	if (http_name_is(name, STR("transfer-encoding")))
		return NOT_IMPLEMENTED;
	if (http_name_is(name, STR("expect")))
		return EXPECTATION_FAILED;
	if (http_name_is(name, STR("content-length")))
		return read_length(reading, http_trim(value));
	if (http_name_is(name, STR("connection")) && says_close(value))
		reading->head.close = true;
	return OK;
}

/* Takes one line off @bytes. False when it does not end in CRLF or has a lone CR or LF. */
static bool next_line(struct str *bytes, struct str *ret_line)
{
	struct str line, rest;

	if (!str_split(*bytes, '\n', &line, &rest) || !str_ends_with(line, STR("\r")))
		return false;
	line.len--;
	if (memchr(line.data, '\r', line.len))
		return false;
	*bytes = rest;
	*ret_line = line;
	return true;
}

int guard_read_head(struct str bytes, size_t max_body, struct guard_head *ret_head)
{
	struct reading reading = {.max_body = max_body};
	struct str line;
	int status;

	if (!next_line(&bytes, &line))
		return BAD_REQUEST;
	status = read_request_line(&reading, line);
	while (status == OK) {
		if (!next_line(&bytes, &line))
			return BAD_REQUEST;
		if (str_empty(line))
			break;
		status = read_header(&reading, line);
	}
	if (status != OK)
		return status;
	if (!str_empty(bytes))
		return BAD_REQUEST;
	if (reading.head.method == HTTP_SERVER_POST && !reading.has_length)
		return LENGTH_REQUIRED;
	*ret_head = reading.head;
	return OK;
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
