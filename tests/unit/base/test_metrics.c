/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics: what is counted, and the page that scrapers read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/metrics.h"
#include "base/utf8.h"

static struct metrics *metrics;
static struct buf page;

static int setup(void **state UNUSED)
{
	metrics = metrics_new();
	buf_init(&page, LIMIT_METRICS_PAGE);
	return 0;
}

static int teardown(void **state UNUSED)
{
	metrics_free(metrics);
	buf_clear(&page);
	return 0;
}

static const char *written(void)
{
	buf_reset(&page);
	metrics_write(metrics, &page);
	return page.data ? page.data : "";
}

static void counters_and_gauges(void **state UNUSED)
{
	static const char *const labels[] = {"verb", "code", NULL};
	struct metric_family *requests =
		metrics_counter(metrics, "gpuqos_requests_total", "Requests sent.", labels);
	struct metric_family *leader = metrics_gauge(metrics, "gpuqos_leader", "Leads.", NULL);
	struct metric_family *starts =
		metrics_counter(metrics, "gpuqos_starts_total", "Starts.", NULL);

	metric_add(requests, (const char *const[]){"get", "200"}, 1);
	metric_add(requests, (const char *const[]){"list", "200"}, 1);
	metric_add(requests, (const char *const[]){"get", "200"}, 2);
	metric_set(leader, NULL, 1);
	metric_add(starts, NULL, 0.5);
	metric_add(NULL, NULL, 1);
	assert_string_equal(written(), "# HELP gpuqos_requests_total Requests sent.\n"
				       "# TYPE gpuqos_requests_total counter\n"
				       "gpuqos_requests_total{verb=\"get\",code=\"200\"} 3\n"
				       "gpuqos_requests_total{verb=\"list\",code=\"200\"} 1\n"
				       "# HELP gpuqos_leader Leads.\n"
				       "# TYPE gpuqos_leader gauge\n"
				       "gpuqos_leader 1\n"
				       "# HELP gpuqos_starts_total Starts.\n"
				       "# TYPE gpuqos_starts_total counter\n"
				       "gpuqos_starts_total 0.5\n");
}

static void families_without_labels_start_at_zero_others_stay_out(void **state UNUSED)
{
	static const char *const labels[] = {"verb", NULL};

	metrics_counter(metrics, "a_total", "A.", labels);
	metrics_gauge(metrics, "b", "B.", NULL);
	assert_string_equal(written(), "# HELP b B.\n# TYPE b gauge\nb 0\n");
}

static void histograms_are_cumulative(void **state UNUSED)
{
	static const double buckets[] = {0.005, 0.1, 1};
	struct metric_family *seconds =
		metrics_histogram(metrics, "t_seconds", "T.", NULL, buckets, ARRAY_SIZE(buckets));

	metric_observe(seconds, NULL, 0.005);
	metric_observe(seconds, NULL, 0.25);
	metric_observe(seconds, NULL, 0.5);
	metric_observe(seconds, NULL, 8);
	assert_string_equal(written(), "# HELP t_seconds T.\n"
				       "# TYPE t_seconds histogram\n"
				       "t_seconds_bucket{le=\"0.005\"} 1\n"
				       "t_seconds_bucket{le=\"0.1\"} 1\n"
				       "t_seconds_bucket{le=\"1\"} 3\n"
				       "t_seconds_bucket{le=\"+Inf\"} 4\n"
				       "t_seconds_sum 8.755\n"
				       "t_seconds_count 4\n");
}

static void a_name_registered_twice_is_one_family(void **state UNUSED)
{
	static const char *const labels[] = {"queue", NULL}, *const same[] = {"queue", NULL};
	static const double buckets[] = {1, 2};
	struct metric_family *adds = metrics_counter(metrics, "adds_total", "A.", labels);
	struct metric_family *depth = metrics_gauge(metrics, "depth", "D.", NULL);
	struct metric_family *seconds =
		metrics_histogram(metrics, "t_seconds", "T.", labels, buckets, 2);

	metric_add(adds, (const char *const[]){"a"}, 1);
	metric_add(metrics_counter(metrics, "adds_total", "A.", same), (const char *const[]){"b"},
		   2);
	metric_set(depth, NULL, 3);
	assert_ptr_equal(metrics_gauge(metrics, "depth", "D.", NULL), depth);
	assert_ptr_equal(metrics_histogram(metrics, "t_seconds", "T.", same, buckets, 2), seconds);
	assert_string_equal(written(), "# HELP adds_total A.\n# TYPE adds_total counter\n"
				       "adds_total{queue=\"a\"} 1\nadds_total{queue=\"b\"} 2\n"
				       "# HELP depth D.\n# TYPE depth gauge\ndepth 3\n");
}

static void numbers_read_back_as_they_were(void **state UNUSED)
{
	static const struct {
		double value;
		const char *text;
	} rows[] = {
		{0.1, "x 0.1\n"},       {85899345920.0, "x 85899345920\n"},
		{-3, "x -3\n"},         {1.0 / 3, "x 0.3333333333333333\n"},
		{INFINITY, "x +Inf\n"}, {-INFINITY, "x -Inf\n"},
		{NAN, "x NaN\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		buf_reset(&page);
		metrics_write_sample(&page, "x", NULL, 0, rows[i].value);
		assert_string_equal(page.data, rows[i].text);
	}
}

static void label_values_are_escaped_and_valid(void **state UNUSED)
{
	const struct metric_label label = {"l", STR("a\"b\\c\nd\xff\xc3\xa4")};

	metrics_write_sample(&page, "x", &label, 1, 1);
	assert_string_equal(page.data, "x{l=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\xc3\xa4\"} 1\n");
	buf_reset(&page);
	metrics_write_family(&page, "x", "gauge", "a\nb\\ \"c\"");
	assert_string_equal(page.data, "# HELP x a\\nb\\\\ \"c\"\n# TYPE x gauge\n");
}

static void too_many_combinations_are_counted_as_other(void **state UNUSED)
{
	static const char *const labels[] = {"tenant", "verb", NULL};
	struct metric_family *family = metrics_counter(metrics, "x_total", "X.", labels);
	char name[20];
	int lines = 0;

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < METRICS_MAX_CELLS + 100; i++) {
			snprintf(name, sizeof(name), "tenant-%d", i);
			metric_add(family, (const char *const[]){name, "get"}, 1);
		}
	}
	assert_non_null(strstr(written(), "x_total{tenant=\"tenant-511\",verb=\"get\"} 2\n"));
	assert_null(strstr(page.data, "tenant-512"));
	assert_non_null(strstr(page.data, "x_total{tenant=\"other\",verb=\"other\"} 200\n"));
	for (const char *at = page.data; (at = strchr(at, '\n')); at++)
		lines++;
	assert_int_equal(lines, 2 + METRICS_MAX_CELLS + 1);
}

static void what_is_gone_is_forgotten(void **state UNUSED)
{
	static const char *const labels[] = {"namespace", "kind", NULL};
	struct metric_family *family = metrics_gauge(metrics, "x_bytes", "X.", labels);

	metric_set(family, (const char *const[]){"a", "hard"}, 1);
	metric_set(family, (const char *const[]){"b", "hard"}, 2);
	metric_set(family, (const char *const[]){"a", "used"}, 3);
	metric_set(family, (const char *const[]){"c", "hard"}, 4);
	metric_forget(family, "a");
	metric_forget(family, "nobody");
	metric_set(family, (const char *const[]){"c", "hard"}, 5);
	assert_string_equal(written(), "# HELP x_bytes X.\n# TYPE x_bytes gauge\n"
				       "x_bytes{namespace=\"b\",kind=\"hard\"} 2\n"
				       "x_bytes{namespace=\"c\",kind=\"hard\"} 5\n");
	metric_forget(family, "b");
	metric_forget(family, "c");
	assert_string_equal(written(), "");
	metric_set(family, (const char *const[]){"a", "hard"}, 6);
	assert_non_null(strstr(written(), "x_bytes{namespace=\"a\",kind=\"hard\"} 6\n"));
}

static void collect(void *context, struct buf *to)
{
	const struct metric_label labels[] = {{"namespace", STR("team\n\xff")},
					      {"kind", STR("used")}};

	metrics_write_family(to, "gpuqos_quota_bytes", "gauge", "Memory by quota.");
	metrics_write_sample(to, "gpuqos_quota_bytes", labels, 2, *(double *)context);
}

static void collectors_write_last(void **state UNUSED)
{
	double value = 85899345920;

	metrics_add_collector(metrics, collect, &value);
	metrics_gauge(metrics, "b", "B.", NULL);
	assert_string_equal(written(),
			    "# HELP b B.\n# TYPE b gauge\nb 0\n"
			    "# HELP gpuqos_quota_bytes Memory by quota.\n"
			    "# TYPE gpuqos_quota_bytes gauge\n"
			    "gpuqos_quota_bytes{namespace=\"team\\n\xef\xbf\xbd\",kind=\"used\"} "
			    "85899345920\n");
}

/* Its exit status for the page; 127 where there is no promtool. What it says goes to our stderr. */
static int promtool(void)
{
	FILE *file = tmpfile();
	int status = 0;
	pid_t child;

	assert_non_null(file);
	assert_int_equal(fwrite(page.data, 1, page.len, file), page.len);
	assert_int_equal(fflush(file), 0);
	rewind(file);
	child = fork();
	if (child == 0) {
		dup2(fileno(file), STDIN_FILENO);
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execlp("promtool", "promtool", "check", "metrics", (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	fclose(file);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void promtool_accepts_the_page(void **state UNUSED)
{
	static const char *const labels[] = {"verb", "code", NULL};
	static const double buckets[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
	struct metric_family *requests =
		metrics_counter(metrics, "gpuqos_requests_total", "Requests\nsent \\.", labels);
	struct metric_family *seconds =
		metrics_histogram(metrics, "gpuqos_request_duration_seconds", "Time of requests.",
				  labels, buckets, ARRAY_SIZE(buckets));
	double value = NAN;

	metrics_gauge(metrics, "gpuqos_leader", "Whether this replica leads.", NULL);
	metrics_add_collector(metrics, collect, &value);
	for (int i = 0; i < 256; i++) {
		char verb[] = {(char)i, '"', '\\', '\n', (char)(i ^ 0x55), '\0'};

		metric_add(requests, (const char *const[]){verb, "200"}, i / 3.0);
		metric_observe(seconds, (const char *const[]){verb, ""}, i / 100.0);
	}
	written();
	assert_false(page.overflowed);
	assert_true(utf8_valid(buf_str(&page)));
	if (promtool() == 127)
		skip();
	assert_int_equal(promtool(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counters_and_gauges, setup, teardown),
		cmocka_unit_test_setup_teardown(
			families_without_labels_start_at_zero_others_stay_out, setup, teardown),
		cmocka_unit_test_setup_teardown(histograms_are_cumulative, setup, teardown),
		cmocka_unit_test_setup_teardown(a_name_registered_twice_is_one_family, setup,
						teardown),
		cmocka_unit_test_setup_teardown(numbers_read_back_as_they_were, setup, teardown),
		cmocka_unit_test_setup_teardown(label_values_are_escaped_and_valid, setup,
						teardown),
		cmocka_unit_test_setup_teardown(too_many_combinations_are_counted_as_other, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_gone_is_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(collectors_write_last, setup, teardown),
		cmocka_unit_test_setup_teardown(promtool_accepts_the_page, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
