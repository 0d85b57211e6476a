/* SPDX-License-Identifier: Apache-2.0 */
/* Exporters' series: what is asked, and which answers are figures; ' stands for ". */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/macros.h"
#include "prom/device_series.h"

static struct arena arena;

static int setup(void **state)
{
	(void)state;
	arena_clear(&arena);
	arena_init(&arena, 32 * 1024 * 1024);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_clear(&arena);
	return 0;
}

/* --- questions */

static const struct prom_jobs anybody = {NULL, 0};

static const char *query_of(enum device_series series, const struct prom_jobs *jobs)
{
	static char text[16384];
	struct buf query CLEANUP(buf_clear);

	buf_init(&query, sizeof(text) - 1);
	prom_device_series_query(series, jobs, &query);
	assert_false(query.overflowed);
	memcpy(text, query.data, query.len + 1);
	return text;
}

#define BY_CARD(selector)                                                                 \
	"label_replace(label_replace(label_replace(label_replace(label_replace(" selector \
	", \"gpuqos_host\", \"$1\", \"instance\", \"(.+)\"), \"gpuqos_host\", \"$1\", "   \
	"\"hostname\", \"(.+)\"), \"gpuqos_host\", \"$1\", \"Hostname\", \"(.+)\"), "     \
	"\"gpuqos_card\", \"$1\", \"uuid\", \"(.+)\"), \"gpuqos_card\", \"$1\", \"UUID\", \"(.+)\")"
#define ONE_HOST(selector)                                                             \
	" and (count by (gpuqos_card) (group by (gpuqos_card, gpuqos_host) (" BY_CARD( \
		selector) ")) == 1))"

static void a_card_is_asked_for_by_its_uuid_and_one_host(void **state)
{
	(void)state;
#define FB "DCGM_FI_DEV_FB_USED{GPU_I_ID=\"\",}"
	assert_string_equal(
		query_of(SERIES_DCGM_MEMORY, &anybody),
		"label_replace((min by (gpuqos_card) (" BY_CARD(FB) ") * 1048576" ONE_HOST(
			FB) ", \"gpuqos_part\", \"value\", \"\", \"\") or "
			    "label_replace((min by (gpuqos_card) (" BY_CARD(
				    "timestamp(" FB ")") ")" ONE_HOST(FB) ", \"gpuqos_part\", "
									  "\"at\", \"\", \"\")");
}

static void each_asks_by_all_names_that_it_has(void **state)
{
	static const struct {
		enum device_series series;
		const char *names[5];
	} rows[] = {
		{SERIES_DCGM_SM, {"DCGM_FI_PROF_GR_ENGINE_ACTIVE{", "DCGM_FI_DEV_GPU_UTIL{"}},
		{SERIES_DCGM_PCIE, {"DCGM_FI_PROF_PCIE_TX_BYTES{", "DCGM_FI_PROF_PCIE_RX_BYTES{"}},
		{SERIES_HAMI_OWN_MEMORY,
		 {"(hami_vgpu_memory_used_bytes{}", "(vGPU_device_memory_usage_in_bytes{}",
		  "\"podnamespace\"", "\"exported_pod\"", "\"count\""}},
		{SERIES_HAMI_OWN_SM,
		 {"(hami_container_device_utilization_ratio{}",
		  "(Device_utilization_desc_of_container{}"}},
		{SERIES_HAMI_MEMORY,
		 {"(hami_host_gpu_memory_used_bytes{}", "(HostGPUMemoryUsage{}", "\"deviceuuid\"",
		  "\"device_uuid\""}},
		{SERIES_HAMI_SM, {"(hami_host_gpu_utilization_ratio{}", "(HostCoreUtilization{}"}},
		{SERIES_AMD_MEMORY, {"(gpu_used_vram{}", "* 1e6", "\"count\""}},
		{SERIES_AMD_SM, {"(gpu_gfx_activity{}"}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t k = 0; k < 5 && rows[i].names[k]; k++)
			assert_non_null(
				strstr(query_of(rows[i].series, &anybody), rows[i].names[k]));
}

static void others_jobs_are_not_asked(void **state)
{
	const struct str names[] = {STR("monitoring/dcgm"), STR("b\"")};
	const struct prom_jobs jobs = {names, 2};

	(void)state;
	assert_non_null(strstr(query_of(SERIES_DCGM_SM, &jobs),
			       "(DCGM_FI_DEV_GPU_UTIL{GPU_I_ID=\"\",job=~\"monitoring\\\\x{2f}"
			       "dcgm|b\\\\x{22}\"},"));
	assert_non_null(strstr(query_of(SERIES_AMD_SM, &jobs), "gpu_gfx_activity{job=~\"moni"));
}

/* --- answers */

#define NOW_S 1767225600

static size_t read_samples(enum device_series series, const struct prom_sample *samples, size_t n,
			   const struct device_figure **ret_figures)
{
	const struct prom_answer answer = {samples, n, NOW_S * 1000000LL, STR_NONE};
	struct device_figures figures;

	assert_int_equal(prom_device_series_read(series, &answer, &arena, &figures, NULL), 0);
	*ret_figures = figures.list;
	return figures.n;
}

static struct prom_sample of_card(const char *card, const char *part, double value)
{
	return (struct prom_sample){.card = str_from(card), .part = str_from(part), .value = value};
}

static struct prom_sample of_pod(const char *pod, const char *part, double value)
{
	return (struct prom_sample){.namespace = STR("a"),
				    .pod = str_from(pod),
				    .part = str_from(part),
				    .value = value};
}

static void parts_make_a_figure(void **state)
{
	const struct prom_sample samples[] = {
		of_card("GPU-b", "value", 3),
		of_card("GPU-a", "at", NOW_S - 10.5),
		of_card("GPU-b", "at", NOW_S + 1),
		of_card("GPU-a", "value", 91.6),
	};
	const struct device_figure *figures;

	(void)state;
	assert_int_equal(read_samples(SERIES_DCGM_SM, samples, 4, &figures), 2);
	assert_true(str_equal(figures[0].card, STR("GPU-a")));
	assert_int_equal(figures[0].value, 92);
	assert_int_equal(figures[0].cards, 1);
	assert_int_equal(figures[0].age_us, 10500000);
	assert_true(str_equal(figures[1].card, STR("GPU-b")));
	assert_int_equal(figures[1].age_us, 0);
}

static void a_pod_has_as_many_cards_as_are_counted(void **state)
{
	const struct prom_sample samples[] = {
		of_pod("p", "value", 170), of_pod("p", "at", NOW_S), of_pod("p", "count", 2),
		of_pod("q", "value", 170), of_pod("q", "at", NOW_S), of_pod("q", "count", 1),
		of_pod("r", "value", 17),  of_pod("r", "at", NOW_S),
	};
	const struct device_figure *figures;

	(void)state;
	assert_int_equal(read_samples(SERIES_HAMI_OWN_SM, samples, ARRAY_SIZE(samples), &figures),
			 1);
	assert_true(str_equal(figures[0].namespace, STR("a")));
	assert_true(str_equal(figures[0].pod, STR("p")));
	assert_int_equal(figures[0].cards, 2);
	assert_int_equal(figures[0].value, 170);
}

static void what_cannot_be_is_unknown(void **state)
{
	static const struct {
		const char *why;
		enum device_series series;
		double value, at;
	} rows[] = {
		{"NaN", SERIES_DCGM_SM, NAN, NOW_S},
		{"infinite", SERIES_DCGM_SM, INFINITY, NOW_S},
		{"negative", SERIES_DCGM_SM, -1, NOW_S},
		{"more than a card has", SERIES_DCGM_SM, 101, NOW_S},
		{"DCGM's blank value", SERIES_DCGM_MEMORY, 9223372036854775794.0, NOW_S},
		{"faster than any bus", SERIES_DCGM_PCIE, 2e12, NOW_S},
		{"old", SERIES_DCGM_SM, 50, NOW_S - 61},
		{"of the future", SERIES_DCGM_SM, 50, NOW_S + 6},
		{"of no time", SERIES_DCGM_SM, 50, NAN},
	};
	const struct device_figure *figures;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct prom_sample samples[] = {
			of_card("GPU-a", "value", rows[i].value),
			of_card("GPU-a", "at", rows[i].at),
		};

		if (read_samples(rows[i].series, samples, 2, &figures) != 0)
			fail_msg("%s", rows[i].why);
	}
}

static void what_is_not_whole_is_unknown(void **state)
{
	const struct prom_sample samples[] = {
		of_card("GPU-a", "value", 1), /* and no time */
		of_card("GPU-b", "at", NOW_S), of_card("GPU-c", "value", 1),
		of_card("GPU-c", "value", 1),  of_card("GPU-c", "at", NOW_S),
		of_card("", "value", 1),       of_card("", "at", NOW_S),
		of_card("GPU-d", "else", 1),
	};
	const struct device_figure *figures;

	(void)state;
	assert_int_equal(read_samples(SERIES_DCGM_SM, samples, ARRAY_SIZE(samples), &figures), 0);
	assert_int_equal(read_samples(SERIES_DCGM_SM, NULL, 0, &figures), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_card_is_asked_for_by_its_uuid_and_one_host),
		cmocka_unit_test(each_asks_by_all_names_that_it_has),
		cmocka_unit_test(others_jobs_are_not_asked),
		cmocka_unit_test_setup_teardown(parts_make_a_figure, setup, teardown),
		cmocka_unit_test_setup_teardown(a_pod_has_as_many_cards_as_are_counted, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_is_unknown, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_not_whole_is_unknown, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
