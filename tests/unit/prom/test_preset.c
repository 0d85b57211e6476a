/* SPDX-License-Identifier: Apache-2.0 */
/* What presets ask: byte for byte, and never of a namespace that was not named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "prom/preset.h"

static const char *query_of(enum objective_preset preset, int percentile,
			    const struct str *namespaces, size_t n)
{
	static char text[8192];
	struct buf query CLEANUP(buf_clear);

	buf_init(&query, sizeof(text) - 1);
	prom_preset_query(preset, percentile, namespaces, n, &query);
	assert_false(query.overflowed);
	memcpy(text, query.data, query.len + 1);
	return text;
}

static void a_histogram_is_asked_classic_and_native(void **state)
{
	const struct str namespaces[] = {STR("a"), STR("b-2")};

	(void)state;
#define M  "vllm:time_to_first_token_seconds"
#define IN "{namespace=~\"a|b-2\"}"
	assert_string_equal(
		query_of(PRESET_VLLM_FIRST_TOKEN, 95, namespaces, 2),
		"label_replace((histogram_quantile(0.95, sum by (namespace, pod, le) "
		"(rate(" M "_bucket" IN "[2m]))) or histogram_quantile(0.95, sum by (namespace, "
		"pod) (rate(" M IN "[2m])))), \"gpuqos_part\", \"value\", \"\", \"\") or "
		"label_replace(sum by (namespace, pod) (rate(" M "_sum" IN "[2m])) or "
		"histogram_sum(sum by (namespace, pod) (rate(" M IN "[2m]))), \"gpuqos_part\", "
		"\"sum\", \"\", \"\") or label_replace(max by (namespace, pod) (timestamp(" M
		"_count" IN ")) or max by (namespace, pod) (timestamp(" M IN
		")), \"gpuqos_part\", \"at\", \"\", \"\") or label_replace(min by (namespace, "
		"pod) (min_over_time(timestamp(" M "_count" IN ")[2m:5s])) or min by (namespace, "
		"pod) (min_over_time(timestamp(" M IN
		")[2m:5s])), \"gpuqos_part\", \"from\", \"\", \"\")");
}

static void a_mean_is_asked_in_seconds(void **state)
{
	const struct str namespaces[] = {STR("a")};

	(void)state;
#undef IN
#define IN "{namespace=~\"a\"}"
	assert_string_equal(
		query_of(PRESET_TRITON_QUEUE, 0, namespaces, 1),
		"label_replace(sum by (namespace, pod) (rate(nv_inference_queue_duration_us" IN
		"[2m])) / sum by (namespace, pod) (rate(nv_inference_request_success" IN
		"[2m])) / 1e6, \"gpuqos_part\", \"value\", \"\", \"\") or label_replace(sum by "
		"(namespace, pod) (rate(nv_inference_queue_duration_us" IN
		"[2m])), \"gpuqos_part\", \"sum\", \"\", \"\") or label_replace(max by "
		"(namespace, pod) (timestamp(nv_inference_request_success" IN
		")), \"gpuqos_part\", \"at\", \"\", \"\") or label_replace(min by (namespace, "
		"pod) (min_over_time(timestamp(nv_inference_request_success" IN
		")[2m:5s])), \"gpuqos_part\", \"from\", \"\", \"\")");
}

static void nothing_in_a_name_gets_out_of_the_matcher(void **state)
{
	const struct str namespaces[] = {STR("a\"} or up{x=\".*|\\")};
	const char *query = query_of(PRESET_TGI_QUEUE, 99, namespaces, 1);

	(void)state;
	assert_non_null(strstr(query,
			       "{namespace=~\"a\\\\x{22}\\\\x{7d}\\\\x{20}or\\\\x{20}up\\\\x{7b}"
			       "x\\\\x{3d}\\\\x{22}\\\\x{2e}\\\\x{2a}\\\\x{7c}\\\\x{5c}\"}"));
	assert_null(strstr(query, ".*"));
	assert_null(strstr(query, "up{"));
}

static void every_selector_of_every_preset_names_the_namespaces(void **state)
{
	const struct str namespaces[] = {STR("team")};

	(void)state;
	for (int i = PRESET_NONE + 1; i < PRESET_COUNT; i++) {
		enum objective_preset preset = (enum objective_preset)i;
		const char *at = query_of(preset, 50, namespaces, 1);
		int selectors = 0;

		assert_int_equal(strstr(at, "histogram_quantile") == NULL,
				 objective_preset_is_mean(preset));
		while ((at = strchr(at, '{')) != NULL) {
			assert_int_equal(strncmp(at, "{namespace=~\"team\"}", 19), 0);
			at++;
			selectors++;
		}
		assert_true(selectors >= 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_histogram_is_asked_classic_and_native),
		cmocka_unit_test(a_mean_is_asked_in_seconds),
		cmocka_unit_test(nothing_in_a_name_gets_out_of_the_matcher),
		cmocka_unit_test(every_selector_of_every_preset_names_the_namespaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
