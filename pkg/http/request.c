/* SPDX-License-Identifier: Apache-2.0 */
/* The check and the copy of a request. libcurl borrows all of it from the call. */
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "http/internal.h"
#include "http/syntax.h"

static void url_cleanup(CURLU **url)
{
	curl_url_cleanup(*url);
}

static void curl_free_cleanup(char **s)
{
	curl_free(*s);
}

/* Borrowed, static; NULL for a method that is not in use here. */
static const char *find_method(const char *method)
{
	static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (method && strcmp(methods[i], method) == 0)
			return methods[i];
	return NULL;
}

/* Host and path: what stands between the scheme and the query, without a password that does not
 * belong there. */
static struct str target_of(const char *url)
{
	const char *start = strstr(url, "://"), *at;

	start = start ? start + 3 : url;
	while ((at = memchr(start, '@', strcspn(start, "/?#"))))
		start = at + 1;
	return (struct str){start, strcspn(start, "?#")};
}

/* RFC 9110, 5.1 and 5.5: a token, and no control characters in the value. */
static bool header_is_valid(const struct http_header *header)
{
	return header->name && header->value && http_is_token(str_from(header->name)) &&
	       http_is_text(str_from(header->value), true);
}

/*
 * libcurl's form: "Name: value", or "Name;" to send an empty value. Reserved at once: a buffer that
 * grows would leave copies of a secret behind.
 */
static char *header_line(const char *name, const char *value)
{
	size_t size = strlen(name) + strlen(value) + 2;
	struct buf line;

	buf_init(&line, size);
	buf_reserve(&line, size);
	buf_add_cstr(&line, name);
	buf_add_cstr(&line, value[0] ? ": " : ";");
	buf_add_cstr(&line, value);
	return buf_take(&line);
}

static void push_line(struct http_call *call, char *line)
{
	size_t i = call->n_headers++;

	call->headers[i].data = line;
	if (i > 0)
		call->headers[i - 1].next = &call->headers[i];
}

/* libcurl adds these two to requests with a body unless told not to: "Name:" takes one out. */
static int pack_headers(struct http_call *call, const struct http_request *request,
			struct error *err)
{
	call->headers = mem_alloc_array(request->n_headers + OWN_HEADERS, sizeof(*call->headers));
	push_line(call, mem_strdup("Expect:"));
	push_line(call, mem_strdup("Content-Type:"));
	for (size_t i = 0; i < request->n_headers; i++) {
		const struct http_header *header = &request->headers[i];

		if (!header_is_valid(header))
			return error_set(err, ERROR_INVALID, "header %zu is not valid", i + 1);
		push_line(call, header_line(header->name, header->value));
	}
	return 0;
}

/* SNI and verification go by the URL's host: put the name there, and say where to connect instead.
 */
static int rename_host(struct http_call *call, CURLU *url, const char *server_name)
{
	__attribute__((cleanup(curl_free_cleanup))) char *host = NULL, *port = NULL,
							 *renamed = NULL;
	struct buf text;

	if (curl_url_get(url, CURLUPART_HOST, &host, 0) ||
	    curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) ||
	    curl_url_set(url, CURLUPART_HOST, server_name, 0) ||
	    curl_url_get(url, CURLUPART_URL, &renamed, 0))
		return -1;
	buf_init(&text, LIMIT_HTTP_URL);
	buf_printf(&text, "::%s:%s", host, port);
	call->connect_to = buf_take(&text);
	call->connect_node.data = call->connect_to;
	buf_init(&text, LIMIT_HTTP_URL);
	buf_printf(&text, "Host: %s:%s", host, port);
	push_line(call, buf_take(&text));
	call->renamed_url = mem_strdup(renamed);
	return 0;
}

static int pack_url(struct http_call *call, const char *text, struct error *err)
{
	__attribute__((cleanup(url_cleanup))) CURLU *url = curl_url();
	const unsigned int flags = CURLU_DISALLOW_USER | CURLU_PATH_AS_IS;
	CURLUcode code;

	if (!text || strlen(text) > LIMIT_HTTP_URL)
		return error_set(err, ERROR_INVALID, "no URL, or one of more than %d bytes",
				 LIMIT_HTTP_URL);
	call->url = mem_strdup(text);
	call->target = target_of(call->url);
	code = curl_url_set(url, CURLUPART_URL, text, flags);
	if (code != CURLUE_OK)
		return error_set(err, ERROR_INVALID, "%.*s: %s", STR_ARGS(call->target),
				 curl_url_strerror(code));
	if (strncmp(text, "http://", 7) != 0 && strncmp(text, "https://", 8) != 0)
		return error_set(err, ERROR_INVALID, "%.*s: neither http nor https",
				 STR_ARGS(call->target));
	if (call->pool->server_name && rename_host(call, url, call->pool->server_name) < 0)
		return error_set(err, ERROR_INVALID, "%.*s: TLS server name %s is not valid",
				 STR_ARGS(call->target), call->pool->server_name);
	return 0;
}

int call_pack(struct http_call *call, const struct http_request *request, struct error *err)
{
	call->method = find_method(request->method);
	if (!call->method)
		return error_set(err, ERROR_INVALID, "unknown HTTP method");
	if (request->timeout_us < 0 || request->silence_us < 0 ||
	    (request->timeout_us == 0 && request->silence_us == 0))
		return error_set(err, ERROR_INVALID, "a request without time limit");
	if (pack_headers(call, request, err) < 0 || pack_url(call, request->url, err) < 0)
		return -1;
	if (!str_empty(request->body)) {
		call->body = mem_alloc(request->body.len);
		memcpy(call->body, request->body.data, request->body.len);
		call->body_len = request->body.len;
	}
	call->timeout_us = request->timeout_us;
	call->silence_us = request->silence_us;
	call->may_send = request->may_send;
	call->fence_context = request->fence_context;
	return 0;
}

void call_unpack(struct http_call *call)
{
	for (size_t i = 0; i < call->n_headers; i++)
		mem_free_secret(call->headers[i].data);
	mem_free(call->headers);
	mem_free(call->connect_to);
	mem_free(call->renamed_url);
	mem_free(call->url);
	mem_free(call->body);
}
