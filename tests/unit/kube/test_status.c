/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of answers that are no success. Bodies as API server 1.37 sends them. */
#include "fixture.h"

#define STATUS(reason, code, message, more)                                                  \
	"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\"," \
	"\"message\":\"" message "\",\"reason\":\"" reason "\"" more ",\"code\":" #code "}\n"
#define CAUSE(reason) ",\"details\":{\"causes\":[{\"reason\":\"" reason "\",\"message\":\"m\"}]}"

static const struct {
	const char *name;
	int status;
	const char *body;
	int64_t retry_after_us;
	enum error_kind kind;
	const char *message;
	int64_t ret_retry_us;
} kinds[] = {
	{"no such object", 404, STATUS("NotFound", 404, "pods \\\"a\\\" not found", ""), 0,
	 ERROR_NOT_FOUND, "pods \"a\" not found", 0},
	{"no such path", 404, "404 page not found\n", 0, ERROR_NOT_FOUND, "404 page not found", 0},
	{"exists", 409, STATUS("AlreadyExists", 409, "m", ""), 0, ERROR_EXISTS, "m", 0},
	{"changed meanwhile", 409, STATUS("Conflict", 409, "m", ""), 0, ERROR_CONFLICT, "m", 0},
	{"too old", 410, STATUS("Expired", 410, "m", ""), 0, ERROR_EXPIRED, "m", 0},
	{"gone", 410, STATUS("Gone", 410, "m", ""), 0, ERROR_EXPIRED, "m", 0},
	{"gone, says a proxy", 410, "", 0, ERROR_EXPIRED, "HTTP status 410", 0},
	{"a version of the future", 504,
	 STATUS("Timeout", 504, "Too large resource version", CAUSE("ResourceVersionTooLarge")),
	 USEC_PER_SEC, ERROR_EXPIRED, "Too large resource version", USEC_PER_SEC},
	{"timeout", 504, STATUS("Timeout", 504, "m", ""), 0, ERROR_TIMEOUT, "m", 0},
	{"server timeout", 500,
	 STATUS("ServerTimeout", 500, "m", ",\"details\":{\"retryAfterSeconds\":2}"), 0,
	 ERROR_UNAVAILABLE, "m", 2 * USEC_PER_SEC},
	{"invalid", 422, STATUS("Invalid", 422, "spec.a: Required value", ""), 0, ERROR_INVALID,
	 "spec.a: Required value", 0},
	{"unknown field", 400, STATUS("BadRequest", 400, "strict decoding error", ""), 0,
	 ERROR_INVALID, "strict decoding error", 0},
	{"unauthorized", 401, STATUS("Unauthorized", 401, "Unauthorized", ""), 0,
	 ERROR_UNAUTHORIZED, "Unauthorized", 0},
	{"forbidden", 403, STATUS("Forbidden", 403, "m", ""), 0, ERROR_FORBIDDEN, "m", 0},
	{"a budget allows no eviction", 429,
	 STATUS("TooManyRequests", 429, "Cannot evict pod", CAUSE("DisruptionBudget")), 0,
	 ERROR_BUDGET, "Cannot evict pod", 0},
	{"more budgets than one, which is an error without a reason", 500,
	 "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"This pod has more than one "
	 "PodDisruptionBudget, which the eviction subresource does not support.\",\"code\":500}",
	 0, ERROR_BUDGET,
	 "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
	 0},
	{"an error that only tells of budgets", 403,
	 STATUS("Forbidden", 403, "poddisruptionbudgets: PodDisruptionBudget", ""), 0,
	 ERROR_FORBIDDEN, "poddisruptionbudgets: PodDisruptionBudget", 0},
	{"priority and fairness", 429, "Too many requests, please try again later.\n",
	 5 * USEC_PER_SEC, ERROR_THROTTLED, "Too many requests, please try again later.",
	 5 * USEC_PER_SEC},
	{"the longer wish counts", 429,
	 STATUS("TooManyRequests", 429, "m", ",\"details\":{\"retryAfterSeconds\":9}"),
	 USEC_PER_SEC, ERROR_THROTTLED, "m", 9 * USEC_PER_SEC},
	{"internal", 500, STATUS("InternalError", 500, "m", ""), 0, ERROR_UNAVAILABLE, "m", 0},
	{"an unknown reason goes by its code", 503, STATUS("New", 503, "m", ""), 0,
	 ERROR_UNAVAILABLE, "m", 0},
	{"etcd did not answer in time", 500,
	 STATUS("InternalError", 500, "etcdserver: request timed out", ""), 0, ERROR_TIMEOUT,
	 "etcdserver: request timed out", 0},
	{"a webhook that does not answer", 500,
	 STATUS("InternalError", 500, "failed calling webhook a: context deadline exceeded", ""), 0,
	 ERROR_UNAVAILABLE, "failed calling webhook a: context deadline exceeded", 0},
	{"no message but a reason", 403, STATUS("Forbidden", 403, "", ""), 0, ERROR_FORBIDDEN,
	 "Forbidden", 0},
	{"a gateway's page", 502, "<html>\r\n <h1>Bad\tGateway</h1>\r\n</html>", 0,
	 ERROR_UNAVAILABLE, "<html> <h1>Bad Gateway</h1> </html>", 0},
	{"a redirect", 302, "", 0, ERROR_INVALID, "HTTP status 302", 0},
	{"cut JSON", 409, "{\"kind\":\"Status\",\"mess", 0, ERROR_CONFLICT,
	 "{\"kind\":\"Status\",\"mess", 0},
	{"an empty object", 403, "{}", 0, ERROR_FORBIDDEN, "{}", 0},
};

static void test_kinds(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct error err = {0};

		kube_status_error(kinds[i].status, str_from(kinds[i].body), false,
				  kinds[i].retry_after_us, &err);
		if (err.kind != kinds[i].kind || strcmp(err.message, kinds[i].message) != 0 ||
		    err.retry_after_us != kinds[i].ret_retry_us ||
		    err.http_status != kinds[i].status)
			fail_msg("%s: %s, \"%s\", %lld", kinds[i].name, error_kind_name(err.kind),
				 err.message, (long long)err.retry_after_us);
	}
}

/* Status { status = 2, message = 3, reason = 4, details = 5 { causes = 4 { reason = 1 },
 * retryAfterSeconds = 5 }, code = 6 } in an envelope. */
static void test_protobuf(void **state)
{
	static const char body[] = "k8s\0\x0a\x0c\x0a\x02v1\x12\x06Status\x12\x3b"
				   "\x12\x07"
				   "Failure\x1a\x04nope\x22\x0fTooManyRequests"
				   "\x2a\x16\x22\x12\x0a\x10"
				   "DisruptionBudget\x28\x03\x30\xad\x03";
	struct error err = {0};

	(void)state;
	kube_status_error(429, (struct str){body, sizeof(body) - 1}, true, 0, &err);
	assert_int_equal(err.kind, ERROR_BUDGET);
	assert_string_equal(err.message, "nope");
	assert_int_equal(err.retry_after_us, 3 * USEC_PER_SEC);

	kube_status_error(500, (struct str){body, sizeof(body) - 20}, true, 0, &err);
	assert_int_equal(err.kind, ERROR_UNAVAILABLE);
	assert_string_equal(err.message, "HTTP status 500");
}

static void test_long_pages_are_cut(void **state)
{
	static char page[100000];
	struct error err = {0};

	(void)state;
	memset(page, 'x', sizeof(page));
	kube_status_error(500, (struct str){page, sizeof(page)}, false, 0, &err);
	assert_int_equal(strlen(err.message), 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_protobuf),
		cmocka_unit_test(test_long_pages_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
