/* SPDX-License-Identifier: Apache-2.0 */
/* Response headers: of all that a server may send, three facts are kept, and two of gRPC. */
#include <ctype.h>
#include <string.h>

#include "base/limits.h"
#include "http/internal.h"
#include "http/syntax.h"

/* Without its end, which libcurl leaves as it came: CRLF, LF alone, or more CRs than one. */
static struct str line_of(struct str bytes)
{
	while (str_ends_with(bytes, STR("\n")) || str_ends_with(bytes, STR("\r")))
		bytes.len--;
	return bytes;
}

static int keep_content_type(struct http_call *call, struct str value)
{
	struct str type, parameters;

	str_split(value, ';', &type, &parameters);
	type = http_trim(type);
	if (type.len > sizeof(call->content_type))
		return call_error(call, ERROR_LIMIT, "content type of more than %zu bytes",
				  sizeof(call->content_type));
	for (size_t i = 0; i < type.len; i++)
		call->content_type[i] = (char)tolower((unsigned char)type.data[i]);
	call->response.content_type = (struct str){call->content_type, type.len};
	return 0;
}

/* Seconds only; a date is rare and would need the server's clock. */
static void keep_retry_after(struct http_call *call, struct str value)
{
	const int64_t year = 365LL * 24 * 3600;
	int64_t seconds;

	if (str_to_int64(value, 0, year, &seconds))
		call->response.retry_after_us = seconds * USEC_PER_SEC;
}

static void keep_grpc_status(struct http_call *call, struct str value)
{
	int64_t status;

	if (str_to_int64(value, 0, INT32_MAX, &status))
		call->response.grpc_status = (int)status;
}

static void keep_grpc_message(struct http_call *call, struct str value)
{
	value.len = MIN(value.len, sizeof(call->grpc_message));
	if (value.len > 0)
		memcpy(call->grpc_message, value.data, value.len);
	call->response.grpc_message = (struct str){call->grpc_message, value.len};
}

/* Behind the body, where an answer could come in full before its outcome was known. */
static int trailer_line(struct http_call *call, struct str line)
{
	struct str name, value;

	if (!str_split(line, ':', &name, &value))
		return 0;
	value = http_trim(value);
	if (http_name_is(name, STR("grpc-status")))
		keep_grpc_status(call, value);
	else if (http_name_is(name, STR("grpc-message")))
		keep_grpc_message(call, value);
	return 0;
}

static int header_line(struct http_call *call, struct str line)
{
	struct str name, value;

	if (!str_split(line, ':', &name, &value))
		return 0;
	value = http_trim(value);
	if (http_name_is(name, STR("content-type")))
		return keep_content_type(call, value);
	if (http_name_is(name, STR("retry-after")))
		keep_retry_after(call, value);
	return trailer_line(call, line);
}

/* A status line, also the one after an interim answer (1xx): what was read before is void. */
static void begin(struct http_call *call)
{
	call->response.content_type = STR_NONE;
	call->response.retry_after_us = 0;
}

/* The empty line. */
static int complete(struct http_call *call)
{
	long status = 0, version = 0;
	struct error err = {0};

	curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(call->easy, CURLINFO_HTTP_VERSION, &version);
	if (status < 200)
		return 0;
	call->headers_done = true;
	call->response.status = (int)status;
	call->response.http2 = version == CURL_HTTP_VERSION_2_0;
	if (!call->handlers.on_headers)
		return 0;
	if (call->handlers.on_headers(call->handlers.context, &call->response, &err) == 0)
		return 0;
	return call_error(call, err.kind, "%s", err.message);
}

static int take(struct http_call *call, struct str line)
{
	call->header_bytes += line.len;
	if (call->header_bytes > LIMIT_HTTP_HEADERS)
		return call_error(call, ERROR_LIMIT, "more than %d bytes of headers",
				  LIMIT_HTTP_HEADERS);
	if (call->headers_done)
		return trailer_line(call, line_of(line));
	if (str_starts_with(line, STR("HTTP/"))) {
		begin(call);
		return 0;
	}
	line = line_of(line);
	return str_empty(line) ? complete(call) : header_line(call, line);
}

size_t call_header(char *data, size_t size, size_t n, void *context)
{
	struct http_call *call = context;

	if (call->over)
		return 0;
	call_received(call, size * n);
	if (take(call, (struct str){data, size * n}) < 0 || call->over)
		return 0;
	return size * n;
}
