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
	{"a Prometheus without a URL", HEAD "prometheus: {intervalSeconds: 5}\n", "prometheus.url"},
	{"a Prometheus of another scheme", HEAD "prometheus: {url: \"file:///etc\"}\n",
	 "prometheus.url"},
	{"an interval of nothing", HEAD "prometheus: {url: \"http://p\", intervalSeconds: 0}\n",
	 "prometheus.intervalSeconds"},
	{"a grace period of a second", HEAD "feedback: {graceSeconds: 1}\n",
	 "feedback.graceSeconds"},
	{"a pace that is not known", HEAD "feedback: {recoverMinutes: 1}\n", "recoverMinutes"},
	{"an exporter that is not known",
	 HEAD "prometheus: {url: \"http://p\", deviceSeries: [DCGM, dcgm]}\n",
	 "prometheus.deviceSeries: \"dcgm\""},
	{"a user without password", HEAD "prometheus: {url: \"http://p\", username: u}\n",
	 "passwordFile"},
	{"two ways to authenticate",
	 HEAD
	 "prometheus: {url: \"http://p\", username: u, passwordFile: /p, bearerTokenFile: /t}\n",
	 "bearerTokenFile"},
	{"a certificate without its key", HEAD "prometheus: {url: \"http://p\", certFile: /c}\n",
	 "prometheus: certFile and keyFile"},
	{"an Alertmanager without a URL", HEAD "alertmanager: {timeoutSeconds: 5}\n",
	 "alertmanager.url"},
	{"an Alertmanager's user without password",
	 HEAD "alertmanager: {url: \"http://a\", username: u}\n", "alertmanager: username"},
	{"a post for an hour", HEAD "alertmanager: {url: \"http://a\", timeoutSeconds: 3600}\n",
	 "alertmanager.timeoutSeconds"},
	{"an interval of an Alertmanager",
	 HEAD "alertmanager: {url: \"http://a\", intervalSeconds: 5}\n", "intervalSeconds"},
	{"a Lease without a name", HEAD "leaderElection: {resourceName: \"\"}\n", "resourceName"},
	{"a Lease's name of 64 characters",
	 HEAD "leaderElection: {resourceName: "
	      "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg}\n",
	 "resourceName"},
	{"a resource without a name", HEAD "resources: [{unitMemory: 1Gi}]\n",
	 "resources[0]: name: must be"},
	{"a name that is none", HEAD "resources: [{name: gpu, unitMemory: 1Gi}]\n",
	 "resources[0]: name: must be"},
	{"what an adapter prices by parts",
	 HEAD "resources: [{name: nvidia.com/gpumem, unitMemory: 1Mi}]\n",
	 "resources[0]: name: nvidia.com/gpumem is priced by its own adapter"},
	{"devices of a class",
	 HEAD "resources: [{name: c.deviceclass.resource.k8s.io/devices, unitMemory: 1Mi}]\n",
	 "resources[0]: name:"},
	{"a resource of no memory", HEAD "resources: [{name: a.b/c}]\n",
	 "resources[0]: unitMemory: give either"},
	{"memory told twice", HEAD "resources: [{name: a.b/c, unitMemory: 1Gi, memoryLabel: x}]\n",
	 "resources[0]: unitMemory: give either"},
	{"memory that is none", HEAD "resources: [{name: a.b/c, unitMemory: lots}]\n",
	 "resources[0]: unitMemory: \"lots\" is no quantity"},
	{"memory of 0", HEAD "resources: [{name: a.b/c, unitMemory: 0}]\n",
	 "resources[0]: unitMemory: 0 bytes are less than 1Mi"},
	{"memory without a unit", HEAD "resources: [{name: a.b/c, unitMemory: 64}]\n",
	 "resources[0]: unitMemory: 64 bytes are less than 1Mi; write it with a unit, such as 64Gi"},
	{"a unit below 0", HEAD "resources: [{name: a.b/c, memoryLabel: x, memoryUnit: -1}]\n",
	 "resources[0]: memoryUnit: must be above 0"},
	{"two products",
	 HEAD "resources: [{name: a.b/c, unitMemory: 1Gi, product: x, productLabel: other}]\n",
	 "resources[0]: product: give at most one"},
	{"a sharing that is none",
	 HEAD "resources: [{name: a.b/c, unitMemory: 1Gi, sharing: Some}]\n",
	 "resources[0]: sharing: must be"},
	{"the second of two that are equal",
	 HEAD "resources: [{name: a.b/c, unitMemory: 1Gi}, {name: a.b/c, unitMemory: 2Gi}]\n",
	 "resources: name: a.b/c stands twice"},
	{"a field of a resource that is not known", HEAD "resources: [{name: a.b/c, unit: 1}]\n",
	 "unit"},
	{"a weight that is not known", HEAD "scheduling: {weights: {numa: 1}}\n", "numa"},
	{"a setting of scheduling that is not known", HEAD "scheduling: {weight: 1}\n", "weight"},
	{"a weight above its range", HEAD "scheduling: {weights: {pcie: 101}}\n",
	 "scheduling.weights.pcie: 101 is not in 0 to 100"},
	{"more candidates than names in a call", HEAD "scheduling: {candidates: 5001}\n",
	 "scheduling.candidates: 5001 is not in 0 to 5000"},
	{"a margin of more than all", HEAD "scheduling: {margin: 101}\n",
	 "scheduling.margin: 101 is not in 0 to 100"},
	{"a weight below 0", HEAD "scheduling: {weights: {alignment: -1}}\n",
	 "scheduling.weights.alignment: -1 is not in 0 to 100"},
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

static void weights_are_read_one_by_one(void **state UNUSED)
{
	static const struct {
		const char *text;
		struct placement_weights weights;
	} cases[] = {
		{HEAD, {100, 50, 20, 30}},
		{HEAD "scheduling: {}\n", {100, 50, 20, 30}},
		{HEAD "scheduling: {weights: {nvlink: 0, fragmentation: 100}}\n",
		 {100, 0, 20, 100}},
		{HEAD "scheduling: {weights: {alignment: 1, nvlink: 2, pcie: 3, fragmentation: 4}}",
		 {1, 2, 3, 4}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct controller_config config;
		struct error err = {0};

		controller_config_init(&config);
		if (controller_config_parse(str_from(cases[i].text), &config, &err) < 0)
			fail_msg("%s: %s", cases[i].text, err.message);
		assert_memory_equal(&config.weights, &cases[i].weights, sizeof(config.weights));
	}
}

static void resources_become_a_sorted_table(void **state UNUSED)
{
	const char *text = HEAD "resources:\n"
				"  - name: huawei.com/Ascend910\n"
				"    unitMemory: 64Gi\n"
				"    product: Ascend910B\n"
				"    sharing: None\n"
				"  - name: amd.com/cpx_nps4\n"
				"    memoryLabel: example.com/partition.memory\n"
				"    memoryUnit: 1Gi\n"
				"    productLabel: amd.com/gpu.product-name\n"
				"    sharing: MIG\n";
	struct controller_config config;
	const struct source_row *row;
	struct error err = {0};

	controller_config_init(&config);
	if (controller_config_parse(str_from(text), &config, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(config.resources.n_rows, 2);
	row = source_table_find(&config.resources, STR("huawei.com/Ascend910"));
	assert_non_null(row);
	assert_int_equal(row->unit_memory, 64 * GIB);
	assert_true(str_equal(row->product, STR("Ascend910B")));
	assert_int_equal(row->sharing, DEVICE_WHOLE);
	row = source_table_find(&config.resources, STR("amd.com/cpx_nps4"));
	assert_int_equal(row->unit_memory, AMOUNT_NONE);
	assert_int_equal(row->memory_unit, GIB);
	assert_int_equal(row->sharing, DEVICE_MIG);
	assert_true(str_equal(row->product_label, STR("amd.com/gpu.product-name")));
	assert_null(source_table_find(&config.resources, STR("amd.com/cpx_nps1")));
	assert_int_equal(controller_config_parse(STR(HEAD), &config, &err), 0);
	assert_int_equal(config.resources.n_rows, 0);
	controller_config_clear(&config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_documents_set_what_they_say),
		cmocka_unit_test(bad_documents_are_refused_by_name_and_change_nothing),
		cmocka_unit_test(weights_are_read_one_by_one),
		cmocka_unit_test(resources_become_a_sorted_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
