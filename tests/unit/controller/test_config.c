/* SPDX-License-Identifier: Apache-2.0 */
/* --config documents: what they set, and what is refused with the field's name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "controller/config.h"

#define HEAD "apiVersion: config.gpuqos.io/v1alpha1\nkind: ControllerConfig\n"

struct good {
	const char *name, *text;
	int64_t lease_s, renew_s, retry_s, recount_s, usage_s;
	const char *lease_name;
};

static const struct good goods[] = {
	{"nothing but its head keeps every default", HEAD, 15, 10, 2, 300, 1, "gpuqos-controller"},
	{"an empty election keeps its defaults", HEAD "leaderElection: {}\n", 15, 10, 2, 300, 1,
	 "gpuqos-controller"},
	{"each field of the election is read",
	 HEAD "leaderElection:\n  resourceName: other\n  leaseDurationSeconds: 60\n"
	      "  renewDeadlineSeconds: 40\n  retryPeriodSeconds: 5\n",
	 60, 40, 5, 300, 1, "other"},
	{"the periods are read",
	 HEAD "recountPeriodSeconds: 10\nusageStatusIntervalSeconds: 3600\n", 15, 10, 2, 10, 3600,
	 "gpuqos-controller"},
	{"JSON is YAML",
	 "{\"apiVersion\":\"config.gpuqos.io/v1alpha1\",\"kind\":\"ControllerConfig\","
	 "\"recountPeriodSeconds\":86400}",
	 15, 10, 2, 86400, 1, "gpuqos-controller"},
};

static const struct {
	const char *name, *text, *why;
} bads[] = {
	{"no document", "", "configuration"},
	{"another version", "apiVersion: config.gpuqos.io/v1\nkind: ControllerConfig\n",
	 "apiVersion and kind"},
	{"another kind", "apiVersion: config.gpuqos.io/v1alpha1\nkind: Config\n",
	 "apiVersion and kind"},
	{"a field that is not known", HEAD "recountPeriod: 10\n", "recountPeriod"},
	{"a field of the election that is not known", HEAD "leaderElection: {leaseSeconds: 10}\n",
	 "leaseSeconds"},
	{"a number below its range", HEAD "recountPeriodSeconds: 9\n", "recountPeriodSeconds"},
	{"a number above its range", HEAD "usageStatusIntervalSeconds: 3601\n",
	 "usageStatusIntervalSeconds"},
	{"a zero", HEAD "leaderElection: {retryPeriodSeconds: 0}\n", "retryPeriodSeconds"},
	{"a number below zero", HEAD "leaderElection: {leaseDurationSeconds: -15}\n",
	 "leaseDurationSeconds"},
	{"a number beyond 64 bits", HEAD "recountPeriodSeconds: 99999999999999999999\n",
	 "configuration"},
	{"a text for a number", HEAD "recountPeriodSeconds: soon\n", "recountPeriodSeconds"},
	{"a list for an object", HEAD "leaderElection: [1]\n", "leaderElection"},
	{"a Lease without a name", HEAD "leaderElection: {resourceName: \"\"}\n", "resourceName"},
	{"a Lease's name of 64 characters",
	 HEAD "leaderElection: {resourceName: "
	      "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg}\n",
	 "resourceName"},
	{"what is no YAML", HEAD "leaderElection: {\n", "configuration"},
};

static void good_documents_set_what_they_say(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_SIZE(goods); i++) {
		const struct good *good = &goods[i];
		struct controller_config config;
		struct error err = {0};

		controller_config_init(&config);
		if (controller_config_parse(str_from(good->text), &config, &err) < 0)
			fail_msg("%s: %s", good->name, err.message);
		assert_int_equal(config.lease_duration_us, good->lease_s * USEC_PER_SEC);
		assert_int_equal(config.renew_deadline_us, good->renew_s * USEC_PER_SEC);
		assert_int_equal(config.retry_period_us, good->retry_s * USEC_PER_SEC);
		assert_int_equal(config.recount_period_us, good->recount_s * USEC_PER_SEC);
		assert_int_equal(config.usage_interval_us, good->usage_s * USEC_PER_SEC);
		assert_string_equal(config.lease_name, good->lease_name);
	}
}

static void bad_documents_are_refused_by_name_and_change_nothing(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_SIZE(bads); i++) {
		struct controller_config config, before;
		struct error err = {0};

		controller_config_init(&config);
		before = config;
		if (controller_config_parse(str_from(bads[i].text), &config, &err) == 0)
			fail_msg("%s was accepted", bads[i].name);
		if (!strstr(err.message, bads[i].why))
			fail_msg("%s: no \"%s\" in \"%s\"", bads[i].name, bads[i].why, err.message);
		assert_memory_equal(&config, &before, sizeof(config));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_documents_set_what_they_say),
		cmocka_unit_test(bad_documents_are_refused_by_name_and_change_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
