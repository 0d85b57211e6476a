/* SPDX-License-Identifier: Apache-2.0 */
/* The path and query of a request: k8s.io/kubernetes/staging,
 * docs/reference/using-api/api-concepts. */
#include <inttypes.h>
#include <stdio.h>

#include "kube/internal.h"

static bool is_unreserved(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_' || c == '.' || c == '~';
}

static void add_encoded(struct buf *path, struct str text, const char *also)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (is_unreserved(c) || (c && strchr(also, c)))
			buf_add_char(path, (char)c);
		else
			buf_printf(path, "%%%02X", c);
	}
}

/* As apimachinery's IsValidPathSegmentName(), and a name that no object can have. */
static int add_segment(struct buf *path, const char *what, struct str name, struct error *err)
{
	bool bad = str_empty(name) || name.len > LIMIT_NAME || str_equal(name, STR(".")) ||
		   str_equal(name, STR(".."));

	for (size_t i = 0; i < name.len && !bad; i++)
		bad = (unsigned char)name.data[i] < 0x20 || name.data[i] == 0x7f ||
		      name.data[i] == '/' || name.data[i] == '%';
	if (bad)
		return error_set(err, ERROR_INVALID, "%s \"%.*s\" cannot stand in a path", what,
				 (int)MIN(name.len, (size_t)LIMIT_NAME), name.data);
	buf_add_char(path, '/');
	add_encoded(path, name, ":");
	return 0;
}

struct query {
	struct buf *path;
	bool begun;
};

static void query_add(struct query *query, const char *key, struct str value)
{
	if (str_empty(value))
		return;
	buf_add_char(query->path, query->begun ? '&' : '?');
	query->begun = true;
	buf_add_cstr(query->path, key);
	buf_add_char(query->path, '=');
	add_encoded(query->path, value, ",:!()");
}

static void query_add_number(struct query *query, const char *key, int64_t value)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "%" PRId64, value);

	if (value > 0)
		query_add(query, key, (struct str){text, (size_t)len});
}

static void add_selectors(struct query *query, const struct kube_request *request)
{
	query_add(query, "labelSelector", request->label_selector);
	query_add(query, "fieldSelector", request->field_selector);
}

static void add_list(struct query *query, const struct kube_request *request)
{
	add_selectors(query, request);
	query_add_number(query, "limit", request->limit);
	query_add(query, "continue", request->continue_token);
	/* A token carries the version; with both the server answers 400. */
	if (str_empty(request->continue_token))
		query_add(query, "resourceVersion", request->resource_version);
}

static void add_watch(struct query *query, const struct kube_request *request)
{
	query_add(query, "watch", STR("true"));
	query_add(query, "allowWatchBookmarks", STR("true"));
	add_selectors(query, request);
	query_add(query, "resourceVersion", request->resource_version);
	query_add_number(query, "timeoutSeconds", request->watch_timeout_us / USEC_PER_SEC);
	if (request->send_initial_events) {
		query_add(query, "sendInitialEvents", STR("true"));
		query_add(query, "resourceVersionMatch", STR("NotOlderThan"));
	}
}

/* Who waits no longer does not want it done later either: the server gives up after the same time.
 */
static void add_timeout(struct query *query, const struct kube_request *request)
{
	char text[24];
	int64_t ms = MAX(request->timeout_us / USEC_PER_MSEC, 1);
	int len = snprintf(text, sizeof(text), "%" PRId64 "ms", ms);

	if (request->timeout_us > 0)
		query_add(query, "timeout", (struct str){text, (size_t)len});
}

static void add_write(struct query *query, const struct kube_request *request)
{
	query_add(query, "fieldManager",
		  str_from(request->field_manager ? request->field_manager : API_FIELD_MANAGER));
	query_add(query, "fieldValidation", STR("Strict"));
	if (request->verb == KUBE_APPLY)
		query_add(query, "force", STR("true"));
}

static void add_query(struct buf *path, const struct kube_request *request)
{
	struct query query = {.path = path};

	switch (request->verb) {
	case KUBE_GET:
		query_add(&query, "resourceVersion", request->resource_version);
		break;
	case KUBE_LIST:
		add_list(&query, request);
		break;
	case KUBE_STREAM:
		add_watch(&query, request);
		break;
	case KUBE_CREATE:
	case KUBE_UPDATE:
	case KUBE_APPLY:
	case KUBE_MERGE_PATCH:
	case KUBE_JSON_PATCH:
		add_write(&query, request);
		add_timeout(&query, request);
		break;
	case KUBE_DELETE:
		add_timeout(&query, request);
		break;
	}
}

/* Whether the verb is about one object, about all, or, as a create, about either. */
static int check_name(const struct kube_request *request, struct error *err)
{
	bool has_name = !str_empty(request->name);

	switch (request->verb) {
	case KUBE_LIST:
	case KUBE_STREAM:
		if (has_name)
			return error_set(err, ERROR_INVALID, "a list has no name");
		return 0;
	case KUBE_CREATE:
		if (has_name != (request->subresource != NULL))
			return error_set(err, ERROR_INVALID,
					 "a create has a name only with a subresource");
		return 0;
	case KUBE_GET:
	case KUBE_UPDATE:
	case KUBE_APPLY:
	case KUBE_MERGE_PATCH:
	case KUBE_JSON_PATCH:
	case KUBE_DELETE:
		break;
	}
	return has_name ? 0 : error_set(err, ERROR_INVALID, "the name is missing");
}

static int add_object(struct buf *path, const struct kube_request *request, struct error *err)
{
	const struct api_type *type = request->type;
	bool is_collection = request->verb == KUBE_LIST || request->verb == KUBE_STREAM;

	if (type->group[0])
		buf_printf(path, "/apis/%s/%s", type->group, type->version);
	else
		buf_printf(path, "/api/%s", type->version);
	if (!str_empty(request->namespace) && !type->namespaced)
		return error_set(err, ERROR_INVALID, "has no namespaces");
	if (type->namespaced && (!str_empty(request->namespace) || !is_collection)) {
		buf_add_cstr(path, "/namespaces");
		if (add_segment(path, "namespace", request->namespace, err) < 0)
			return -1;
	}
	buf_printf(path, "/%s", type->plural);
	if (!str_empty(request->name) && add_segment(path, "name", request->name, err) < 0)
		return -1;
	if (request->subresource)
		buf_printf(path, "/%s", request->subresource);
	return 0;
}

int kube_request_path(const struct kube_request *request, struct buf *ret_path, struct error *err)
{
	size_t before = ret_path->len;

	if (check_name(request, err) < 0 || add_object(ret_path, request, err) < 0) {
		ret_path->len = before;
		return error_wrap(err, "%s", request->type->plural);
	}
	add_query(ret_path, request);
	if (ret_path->overflowed)
		return error_set(err, ERROR_LIMIT, "%s: path and query of more than %zu bytes",
				 request->type->plural, ret_path->max);
	return 0;
}
