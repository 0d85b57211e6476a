/* SPDX-License-Identifier: Apache-2.0 */
/* The answer is read in one pass: `data` may come before `status`, and either may be missing. */
#include "prom/answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "codec/json_pull.h"
#include "prom/device_series.h"
#include "prom/preset.h"

struct reading {
	struct json_pull pull;
	struct arena *arena;
	struct prom_sample *samples;
	size_t n, room;
	double at_s;
	struct str status, type, error_type, error, warning;
};

/* --- samples */

static int make_room(struct reading *r, struct error *err)
{
	size_t room = r->room == 0 ? 64 : r->room * 2;
	struct prom_sample *samples;

	if (r->n >= LIMIT_PROM_SERIES)
		return error_set(err, ERROR_LIMIT, "more than %d series", LIMIT_PROM_SERIES);
	if (r->n < r->room)
		return 0;
	samples = arena_alloc(r->arena, room * sizeof(*samples));
	if (!samples)
		return error_set(err, ERROR_LIMIT, "more series than there is memory for");
	if (r->n > 0)
		memcpy(samples, r->samples, r->n * sizeof(*samples));
	r->samples = samples;
	r->room = room;
	return 0;
}

/* A number as text; that of the API is Go's, and strtod() knows NaN, +Inf and -Inf as well. */
static int read_double(struct str text, double *ret_value, struct error *err)
{
	char copy[64];
	char *end;

	if (str_empty(text) || text.len >= sizeof(copy) || memchr(text.data, 'x', text.len) != NULL)
		return error_set(err, ERROR_INVALID, "\"%.*s\" is no number",
				 STR_ARGS(utf8_prefix(text, 32)));
	memcpy(copy, text.data, text.len);
	copy[text.len] = '\0';
	*ret_value = strtod(copy, &end);
	if (*end != '\0')
		return error_set(err, ERROR_INVALID, "\"%s\" is no number", copy);
	return 0;
}

static int next_of_pair(struct reading *r, struct error *err)
{
	int more = json_pull_element(&r->pull, err);

	if (more > 0)
		return 0;
	return more < 0 ? -1 : error_set(err, ERROR_INVALID, "a sample is a time and a value");
}

/* Of a time that cannot be, none can be told from the controller's. */
static int check_time(double at_s, struct error *err)
{
	if (at_s > 0 && at_s < 1e11)
		return 0;
	return error_set(err, ERROR_INVALID, "the time of a sample, %g, is none", at_s);
}

/* [ <seconds>, "<value>" ] */
static int read_pair(struct reading *r, double *ret_value, struct error *err)
{
	struct str time, value;

	if (json_pull_array(&r->pull, err) < 0 || next_of_pair(r, err) < 0 ||
	    json_pull_number(&r->pull, &time, err) < 0 || read_double(time, &r->at_s, err) < 0 ||
	    check_time(r->at_s, err) < 0 || next_of_pair(r, err) < 0 ||
	    json_pull_string(&r->pull, &value, err) < 0 || read_double(value, ret_value, err) < 0)
		return -1;
	switch (json_pull_element(&r->pull, err)) {
	case 0:
		return 0;
	case 1:
		return error_set(err, ERROR_INVALID, "a sample is a time and a value");
	default:
		return -1;
	}
}

static int read_labels(struct reading *r, struct prom_sample *sample, struct error *err)
{
	struct str key, value;
	int more;

	if (json_pull_object(&r->pull, err) < 0)
		return -1;
	while ((more = json_pull_key(&r->pull, &key, err)) > 0) {
		if (json_pull_string(&r->pull, &value, err) < 0)
			return -1;
		if (str_equal(key, STR("namespace")))
			sample->namespace = value;
		else if (str_equal(key, STR("pod")))
			sample->pod = value;
		else if (str_equal(key, STR(PROM_PART)))
			sample->part = value;
		else if (str_equal(key, STR(PROM_CARD)))
			sample->card = value;
	}
	return more;
}

static int read_series(struct reading *r, struct error *err)
{
	struct prom_sample sample = {.value = NAN};
	bool has_value = false;
	struct str key;
	int more, done;

	if (json_pull_object(&r->pull, err) < 0)
		return -1;
	while ((more = json_pull_key(&r->pull, &key, err)) > 0) {
		if (str_equal(key, STR("metric")))
			done = read_labels(r, &sample, err);
		else if (str_equal(key, STR("value")))
			done = read_pair(r, &sample.value, err);
		else
			done = json_pull_skip(&r->pull, NULL, err);
		if (done < 0)
			return -1;
		has_value |= str_equal(key, STR("value"));
	}
	if (more < 0)
		return -1;
	if (!has_value)
		return error_set(err, ERROR_INVALID, "a series that is no single number");
	if (make_room(r, err) < 0)
		return -1;
	r->samples[r->n++] = sample;
	return 0;
}

/* A list of series, or the pair of a scalar: told by what their first element is. */
static int read_vector(struct str text, struct reading *r, struct error *err)
{
	int more;

	json_pull_init(&r->pull, text, r->arena);
	if (json_pull_array(&r->pull, err) < 0)
		return -1;
	while ((more = json_pull_element(&r->pull, err)) > 0)
		if (read_series(r, err) < 0)
			return -1;
	return more;
}

static int read_scalar(struct str text, struct reading *r, struct error *err)
{
	struct prom_sample sample = {.value = NAN};

	json_pull_init(&r->pull, text, r->arena);
	if (read_pair(r, &sample.value, err) < 0 || make_room(r, err) < 0)
		return -1;
	r->samples[r->n++] = sample;
	return 0;
}

/* --- around them */

static int read_data(struct reading *r, struct str *ret_result, struct error *err)
{
	struct str key;
	int more;

	if (json_pull_object(&r->pull, err) < 0)
		return -1;
	while ((more = json_pull_key(&r->pull, &key, err)) > 0) {
		int done;

		if (str_equal(key, STR("resultType")))
			done = json_pull_string(&r->pull, &r->type, err);
		else if (str_equal(key, STR("result")))
			done = json_pull_skip(&r->pull, ret_result, err);
		else
			done = json_pull_skip(&r->pull, NULL, err);
		if (done < 0)
			return -1;
	}
	return more;
}

static int read_warnings(struct reading *r, struct error *err)
{
	enum json_pull_type type;
	struct str text;
	int more;

	if (json_pull_peek(&r->pull, &type, err) < 0)
		return -1;
	if (type == JSON_PULL_NULL)
		return json_pull_null(&r->pull, err);
	if (json_pull_array(&r->pull, err) < 0)
		return -1;
	while ((more = json_pull_element(&r->pull, err)) > 0) {
		if (json_pull_string(&r->pull, &text, err) < 0)
			return -1;
		if (str_empty(r->warning))
			r->warning = text;
	}
	return more;
}

static int read_member(struct reading *r, struct str key, struct str *ret_result, struct error *err)
{
	if (str_equal(key, STR("status")))
		return json_pull_string(&r->pull, &r->status, err);
	if (str_equal(key, STR("errorType")))
		return json_pull_string(&r->pull, &r->error_type, err);
	if (str_equal(key, STR("error")))
		return json_pull_string(&r->pull, &r->error, err);
	if (str_equal(key, STR("warnings")))
		return read_warnings(r, err);
	if (str_equal(key, STR("data")))
		return read_data(r, ret_result, err);
	return json_pull_skip(&r->pull, NULL, err);
}

static int read_envelope(struct reading *r, struct str *ret_result, struct error *err)
{
	struct str key;
	int more;

	if (json_pull_object(&r->pull, err) < 0)
		return -1;
	while ((more = json_pull_key(&r->pull, &key, err)) > 0)
		if (read_member(r, key, ret_result, err) < 0)
			return -1;
	return more < 0 ? -1 : json_pull_end(&r->pull, err);
}

static int refuse(const struct reading *r, struct error *err)
{
	enum error_kind kind = ERROR_UNAVAILABLE;

	if (str_equal(r->error_type, STR("bad_data")) || str_equal(r->error_type, STR("execution")))
		kind = ERROR_INVALID;
	else if (str_equal(r->error_type, STR("timeout")))
		kind = ERROR_TIMEOUT;
	return error_set(err, kind, "%.*s: %.*s", STR_ARGS(utf8_prefix(r->error_type, 32)),
			 STR_ARGS(utf8_prefix(r->error, 256)));
}

int prom_read_answer(struct str text, struct arena *arena, struct prom_answer *ret_answer,
		     struct error *err)
{
	struct reading r = {.arena = arena};
	struct str result = STR_NONE;
	int done;

	json_pull_init(&r.pull, text, arena);
	if (read_envelope(&r, &result, err) < 0)
		return -1;
	if (!str_equal(r.status, STR("success")))
		return refuse(&r, err);
	if (str_equal(r.type, STR("vector")))
		done = read_vector(result, &r, err);
	else if (str_equal(r.type, STR("scalar")))
		done = read_scalar(result, &r, err);
	else
		done = error_set(err, ERROR_INVALID,
				 "the result is a %.*s, not a number for each pod",
				 STR_ARGS(utf8_prefix(r.type, 32)));
	if (done < 0)
		return -1;
	*ret_answer = (struct prom_answer){r.samples, r.n, 0, r.warning};
	if (r.n > 0)
		ret_answer->at_us = (int64_t)llround(r.at_s * 1e6);
	return 0;
}
