/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an answer that is no success means: the reason of the Status object where it has one that we
 * know, else the HTTP status. Proxies and the API server's own priority and fairness answer in
 * plain text. Reasons: k8s.io/apimachinery/pkg/apis/meta/v1, StatusReason.
 */
#include "api/wire_meta.h"
#include "codec/json.h"
#include "codec/pb.h"
#include "kube/internal.h"

#define STATUS_ARENA    ((size_t)256 * 1024)
#define PLAIN_TEXT_MOST 300 /* bytes quoted of an answer that is no Status */

static const struct {
	const char *reason;
	enum error_kind kind;
} reasons[] = {
	{"Unauthorized", ERROR_UNAUTHORIZED},
	{"Forbidden", ERROR_FORBIDDEN},
	{"NotFound", ERROR_NOT_FOUND},
	{"AlreadyExists", ERROR_EXISTS},
	{"Conflict", ERROR_CONFLICT},
	{"Gone", ERROR_EXPIRED},
	{"Expired", ERROR_EXPIRED},
	{"Invalid", ERROR_INVALID},
	{"BadRequest", ERROR_INVALID},
	{"MethodNotAllowed", ERROR_INVALID},
	{"NotAcceptable", ERROR_INVALID},
	{"UnsupportedMediaType", ERROR_INVALID},
	{"RequestEntityTooLarge", ERROR_INVALID},
	{"TooManyRequests", ERROR_THROTTLED},
	{"ServerTimeout", ERROR_UNAVAILABLE},
	{"Timeout", ERROR_TIMEOUT},
	{"InternalError", ERROR_UNAVAILABLE},
	{"ServiceUnavailable", ERROR_UNAVAILABLE},
};

static enum error_kind kind_of_code(int code)
{
	switch (code) {
	case 401:
		return ERROR_UNAUTHORIZED;
	case 403:
		return ERROR_FORBIDDEN;
	case 404:
		return ERROR_NOT_FOUND;
	case 408:
	case 504:
		return ERROR_TIMEOUT;
	case 409:
		return ERROR_CONFLICT;
	case 410:
		return ERROR_EXPIRED;
	case 429:
		return ERROR_THROTTLED;
	default:
		return code >= 500 ? ERROR_UNAVAILABLE : ERROR_INVALID;
	}
}

static bool has_cause(const struct wire_status *status, const char *reason)
{
	wire_for_each(const struct wire_cause, cause, status->details.causes)
		if (str_equal(cause->reason, str_from(reason)))
			return true;
	return false;
}

/* A version of the future: this server's data is older than what we saw. As for one too old, only
 * a new list helps. */
static bool is_from_future(const struct wire_status *status)
{
	return has_cause(status, "ResourceVersionTooLarge");
}

static bool mentions(struct str text, struct str word)
{
	for (size_t i = 0; i < text.len; i++)
		if (str_starts_with((struct str){text.data + i, text.len - i}, word))
			return true;
	return false;
}

/* The eviction of a pod that more than one budget covers is a 500 without a reason, for ever:
 * k8s.io/kubernetes, pkg/registry/core/pod/storage/eviction.go. */
static bool is_kept_by_budget(const struct wire_status *status)
{
	return has_cause(status, "DisruptionBudget") ||
	       (status->code == 500 && str_empty(status->reason) &&
		mentions(status->message, STR("PodDisruptionBudget")));
}

/* The API server passes on what etcd's client says; what came of a write is not known to it
 * either. What stood in the way before, a webhook say, is told in other words. */
static bool is_of_store(const struct wire_status *status)
{
	static const char *const begins[] = {
		"etcdserver: ", "rpc error: ", "context deadline exceeded"};

	for (size_t i = 0; status->code == 500 && i < ARRAY_SIZE(begins); i++)
		if (str_starts_with(status->message, str_from(begins[i])))
			return true;
	return false;
}

static enum error_kind kind_of_status(const struct wire_status *status)
{
	if (is_from_future(status))
		return ERROR_EXPIRED;
	if (is_kept_by_budget(status))
		return ERROR_BUDGET;
	if (is_of_store(status))
		return ERROR_TIMEOUT;
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (str_equal(status->reason, str_from(reasons[i].reason)))
			return reasons[i].kind;
	return kind_of_code(status->code);
}

/* Spaces for control characters, none at the ends: the text goes into one line of a log. */
static void set_plain(struct error *err, enum error_kind kind, int code, struct str text)
{
	char line[PLAIN_TEXT_MOST + 1];
	size_t len = 0;

	for (size_t i = 0; i < text.len && len < PLAIN_TEXT_MOST; i++) {
		unsigned char c = (unsigned char)text.data[i];
		bool is_blank = c <= 0x20 || c == 0x7f;

		if (is_blank && (len == 0 || line[len - 1] == ' '))
			continue;
		line[len++] = is_blank ? ' ' : (char)c;
	}
	while (len && line[len - 1] == ' ')
		len--;
	line[len] = '\0';
	if (len)
		error_set(err, kind, "%s", line);
	else
		error_set(err, kind, "HTTP status %d", code);
}

void kube_status_fill_error(const struct wire_status *status, struct error *ret_err)
{
	enum error_kind kind = kind_of_status(status);

	if (!str_empty(status->message))
		error_set(ret_err, kind, "%.*s", STR_ARGS(status->message));
	else
		set_plain(ret_err, kind, status->code, status->reason);
	ret_err->http_status = status->code;
	if (status->details.retry_after_s > 0)
		ret_err->retry_after_us = status->details.retry_after_s * USEC_PER_SEC;
}

static int decode(struct str body, bool protobuf, struct arena *arena, struct wire_status *status)
{
	struct pb_envelope envelope;

	if (!protobuf)
		return json_decode(&wire_status_schema, body, arena, status, NULL);
	if (pb_open_envelope(body, &envelope, NULL) < 0)
		return -1;
	if (!str_equal(envelope.kind, STR("Status")))
		return -1;
	return pb_decode(&wire_status_schema, envelope.raw, arena, status, NULL);
}

void kube_status_error(int status, struct str body, bool protobuf, int64_t retry_after_us,
		       struct error *ret_err)
{
	CLEANUP(arena_clear) struct arena arena;
	struct wire_status object;

	arena_init(&arena, STATUS_ARENA);
	if (decode(body, protobuf, &arena, &object) == 0 &&
	    (!str_empty(object.reason) || !str_empty(object.message))) {
		object.code = status;
		kube_status_fill_error(&object, ret_err);
	} else {
		set_plain(ret_err, kind_of_code(status), status, protobuf ? STR_NONE : body);
	}
	ret_err->http_status = status;
	ret_err->retry_after_us = MAX(ret_err->retry_after_us, retry_after_us);
}
