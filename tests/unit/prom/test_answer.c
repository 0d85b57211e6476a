/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of Prometheus: what is read, and what is refused in which words; ' stands for ". */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/macros.h"
#include "prom/answer.h"

static struct arena arena;
static char text[4096];

static int read_text(const char *json, struct prom_answer *answer, struct error *err)
{
	arena_clear(&arena);
	arena_init(&arena, 32 * 1024 * 1024);
	snprintf(text, sizeof(text), "%s", json);
	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	return prom_read_answer(str_from(text), &arena, answer, err);
}

#define VECTOR(items) "{'status':'success','data':{'resultType':'vector','result':[" items "]}"

static void a_vector_is_read_with_our_labels(void **state)
{
	struct prom_answer answer;
	struct error err;

	(void)state;
	assert_int_equal(
		read_text(
			VECTOR("{'metric':{'__name__':'x','namespace':'a','pod':'p-1',"
			       "'gpuqos_part':'value'},'value':[1767225600.25,'0.93']},"
			       "{'value':[1767225600.25,'NaN'],'metric':{}},"
			       "{'metric':{'pod':'q'},'value':[1767225600.25,'+Inf']}") ",'warnings':['some blocks are missing'],'infos':['i']}",
			&answer, &err),
		0);
	assert_int_equal(answer.n_samples, 3);
	assert_true(str_equal(answer.samples[0].namespace, STR("a")));
	assert_true(str_equal(answer.samples[0].pod, STR("p-1")));
	assert_true(str_equal(answer.samples[0].part, STR("value")));
	assert_true(answer.samples[0].value == 0.93);
	assert_true(isnan(answer.samples[1].value) && str_empty(answer.samples[1].pod));
	assert_true(isinf(answer.samples[2].value));
	assert_int_equal(answer.at_us, 1767225600250000);
	assert_true(str_equal(answer.warning, STR("some blocks are missing")));
}

static void a_scalar_is_one_sample(void **state)
{
	struct prom_answer answer;
	struct error err;

	(void)state;
	assert_int_equal(read_text("{'data':{'result':[1767225600,'-2.5e1'],'resultType':'scalar'},"
				   "'status':'success','warnings':null}",
				   &answer, &err),
			 0);
	assert_int_equal(answer.n_samples, 1);
	assert_true(answer.samples[0].value == -25);
	assert_true(str_empty(answer.warning));
}

static void nothing_is_an_answer_too(void **state)
{
	struct prom_answer answer;
	struct error err;

	(void)state;
	assert_int_equal(read_text(VECTOR("") "}", &answer, &err), 0);
	assert_int_equal(answer.n_samples, 0);
	assert_int_equal(answer.at_us, 0);
}

static const struct {
	const char *json;
	enum error_kind kind;
	const char *part;
} refused[] = {
	{"{'status':'error','errorType':'bad_data','error':'parse error: unexpected }'}",
	 ERROR_INVALID, "bad_data: parse error: unexpected }"},
	{"{'status':'error','errorType':'execution','error':'many-to-many'}", ERROR_INVALID,
	 "execution: many-to-many"},
	{"{'status':'error','errorType':'timeout','error':'query timed out'}", ERROR_TIMEOUT,
	 "timeout: query timed out"},
	{"{'status':'error','errorType':'unavailable','error':'starting'}", ERROR_UNAVAILABLE,
	 "unavailable: starting"},
	{"{'status':'success','data':{'resultType':'matrix','result':[]}}", ERROR_INVALID,
	 "the result is a matrix"},
	{"{'status':'success'}", ERROR_INVALID, "the result is a "},
	{VECTOR("{'metric':{},'histogram':[1,{}]}") "}", ERROR_INVALID, "no single number"},
	{VECTOR("{'metric':{},'value':[1]}") "}", ERROR_INVALID, "a time and a value"},
	{VECTOR("{'metric':{},'value':[1,'2','3']}") "}", ERROR_INVALID, "a time and a value"},
	{VECTOR("{'metric':{},'value':[1,'']}") "}", ERROR_INVALID, "is no number"},
	{VECTOR("{'metric':{},'value':[1,'0x1p3']}") "}", ERROR_INVALID, "is no number"},
	{VECTOR("{'metric':{},'value':[1,'1s']}") "}", ERROR_INVALID, "is no number"},
	{VECTOR("{'metric':{},'value':[-5,'1']}") "}", ERROR_INVALID, "time of a sample, -5,"},
	{VECTOR("{'metric':{},'value':[0,'1']}") "}", ERROR_INVALID, "time of a sample, 0,"},
	{VECTOR("{'metric':{},'value':[1e300,'1']}") "}", ERROR_INVALID, "time of a sample"},
	{VECTOR("{'metric':{'pod':3},'value':[1,'1']}") "}", ERROR_INVALID, "byte"},
	{"<html>", ERROR_INVALID, "byte"},
	{"", ERROR_INVALID, "byte"},
	{VECTOR("") "} ]", ERROR_INVALID, "byte"},
};

static void what_is_refused_says_why(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct prom_answer answer;
		struct error err = {0};

		if (read_text(refused[i].json, &answer, &err) == 0)
			fail_msg("%s was read", refused[i].json);
		if (err.kind != refused[i].kind || !strstr(err.message, refused[i].part))
			fail_msg("%s: %s", refused[i].json, err.message);
	}
}

static void a_storm_of_series_is_refused(void **state)
{
	struct buf json CLEANUP(buf_clear);
	struct prom_answer answer;
	struct error err;

	(void)state;
	buf_init(&json, LIMIT_PROM_BODY);
	buf_add_cstr(&json,
		     "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[");
	for (int i = 0; i <= LIMIT_PROM_SERIES; i++)
		buf_printf(&json, "%s{\"metric\":{},\"value\":[1,\"1\"]}", i ? "," : "");
	buf_add_cstr(&json, "]}}");
	assert_false(json.overflowed);
	arena_clear(&arena);
	arena_init(&arena, 32 * 1024 * 1024);
	assert_int_equal(prom_read_answer(buf_str(&json), &arena, &answer, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

static int teardown(void **state)
{
	(void)state;
	arena_clear(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vector_is_read_with_our_labels),
		cmocka_unit_test(a_scalar_is_one_sample),
		cmocka_unit_test(nothing_is_an_answer_too),
		cmocka_unit_test(what_is_refused_says_why),
		cmocka_unit_test(a_storm_of_series_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
