/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which resource names are GPUs, and what a MIG name claims. The admission policies know them by a
 * pattern of their own, which is held to the same table.
 */
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "lib/files.h"
#include "model/amount.h"
#include "model/resource.h"

static const struct {
	const char *name;
	enum resource_family family;
	int64_t memory; /* GiB, or AMOUNT_UNKNOWN */
} cases[] = {
	{"nvidia.com/gpu", RESOURCE_CARD, AMOUNT_UNKNOWN},
	{"nvidia.com/gpu.shared", RESOURCE_CARD, AMOUNT_UNKNOWN},
	{"nvidia.com/mig-1g.10gb", RESOURCE_MIG, 10},
	{"nvidia.com/mig-1g.10gb.shared", RESOURCE_MIG, 10},
	{"nvidia.com/mig-1g.10gb.me", RESOURCE_MIG, 10},
	{"nvidia.com/mig-1g.24gb-me", RESOURCE_MIG, 24},
	{"nvidia.com/mig-7g.141gb", RESOURCE_MIG, 141},
	{"nvidia.com/mig-odd", RESOURCE_MIG, AMOUNT_UNKNOWN},
	{"nvidia.com/mig-1g.", RESOURCE_MIG, AMOUNT_UNKNOWN},
	{"nvidia.com/mig-1g.0gb", RESOURCE_MIG, AMOUNT_UNKNOWN},
	{"nvidia.com/mig-1g.99999999999999999999gb", RESOURCE_MIG, AMOUNT_UNKNOWN},
	{"nvidia.com/mig-", RESOURCE_MIG, AMOUNT_UNKNOWN},
	{"nvidia.com/gpumem", RESOURCE_FRACTION, AMOUNT_UNKNOWN},
	{"nvidia.com/gpumem-percentage", RESOURCE_FRACTION, AMOUNT_UNKNOWN},
	{"nvidia.com/gpucores", RESOURCE_FRACTION, AMOUNT_UNKNOWN},
	{"nvidia.com/priority", RESOURCE_NOT_GPU, AMOUNT_UNKNOWN},
	{"nvidia.com/gpus", RESOURCE_NOT_GPU, AMOUNT_UNKNOWN},
	{"amd.com/gpu", RESOURCE_CARD, AMOUNT_UNKNOWN},
	{"amd.com/spx_nps1", RESOURCE_CARD, AMOUNT_UNKNOWN},
	{"amd.com/cpx_nps4", RESOURCE_MIG, AMOUNT_UNKNOWN},
	{"amd.com/cpx", RESOURCE_NOT_GPU, AMOUNT_UNKNOWN},
	{"amd.com/", RESOURCE_NOT_GPU, AMOUNT_UNKNOWN},
	{"gpu.intel.com/i915", RESOURCE_CARD, AMOUNT_UNKNOWN},
	{"gpu.intel.com/xe", RESOURCE_CARD, AMOUNT_UNKNOWN},
	{"gpu.intel.com/monitoring", RESOURCE_NOT_GPU, AMOUNT_UNKNOWN},
	{"volcano.sh/vgpu-number", RESOURCE_FRACTION, AMOUNT_UNKNOWN},
	{"volcano.sh/gpu-memory", RESOURCE_FRACTION, AMOUNT_UNKNOWN},
	{"koordinator.sh/gpu-memory-ratio", RESOURCE_FRACTION, AMOUNT_UNKNOWN},
	{"koordinator.sh/gpu.shared", RESOURCE_FRACTION, AMOUNT_UNKNOWN},
	{"koordinator.sh/rdma", RESOURCE_NOT_GPU, AMOUNT_UNKNOWN},
	{"aliyun.com/gpu-mem", RESOURCE_FRACTION, AMOUNT_UNKNOWN},
	{"kai.scheduler/gpu-memory", RESOURCE_FRACTION, AMOUNT_UNKNOWN},
	{"kai.scheduler/gpu-fraction", RESOURCE_FRACTION, AMOUNT_UNKNOWN},
	{"kai.scheduler/queue", RESOURCE_NOT_GPU, AMOUNT_UNKNOWN},
	{"kai.scheduler/gpu-memory-limit", RESOURCE_NOT_GPU, AMOUNT_UNKNOWN},
	{"gpu.nvidia.com.deviceclass.resource.k8s.io/devices", RESOURCE_DEVICE_CLASS,
	 AMOUNT_UNKNOWN},
	{"deviceclass.resource.kubernetes.io/gpu.nvidia.com", RESOURCE_DEVICE_CLASS,
	 AMOUNT_UNKNOWN},
	{".deviceclass.resource.k8s.io/devices", RESOURCE_NOT_GPU, AMOUNT_UNKNOWN},
	{"deviceclass.resource.kubernetes.io/", RESOURCE_NOT_GPU, AMOUNT_UNKNOWN},
	{"a.deviceclass.resource.k8s.io/other", RESOURCE_NOT_GPU, AMOUNT_UNKNOWN},
	{"cpu", RESOURCE_NOT_GPU, AMOUNT_UNKNOWN},
	{"", RESOURCE_NOT_GPU, AMOUNT_UNKNOWN},
};

static void test_names_tell_the_family(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (resource_family(str_from(cases[i].name)) != cases[i].family)
			fail_msg("%s", cases[i].name);
}

static void test_mig_names_claim_memory(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t want = cases[i].memory;

		if (want != AMOUNT_UNKNOWN)
			want *= GIB;
		if (resource_memory_by_name(str_from(cases[i].name)) != want)
			fail_msg("%s", cases[i].name);
	}
}

static void an_extended_resource_is_written_domain_and_name(void **state)
{
	static const struct {
		const char *resource;
		bool extended;
	} names[] = {
		{"nvidia.com/gpu", true},
		{"amd.com/cpx_nps4", true},
		{"example.com/A-b_c.d", true},
		{"a/b", true},
		{"memory", false},
		{"", false},
		{"/gpu", false},
		{"nvidia.com/", false},
		{"a/b/c", false},
		{"Nvidia.com/gpu", false},
		{"nvidia..com/gpu", false},
		{"nvidia.com/-gpu", false},
		{"nvidia.com/g pu", false},
		{"requests.nvidia.com/gpu", false},
		{"kubernetes.io/gpu", false},
		{"some.kubernetes.io/gpu", false},
		{"nvidia.com/a23456789012345678901234567890123456789012345678901234567890123",
		 true},
		{"nvidia.com/a234567890123456789012345678901234567890123456789012345678901234",
		 false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (resource_is_extended(str_from(names[i].resource)) != names[i].extended)
			fail_msg("\"%s\"", names[i].resource);
}

static void both_forms_of_a_device_class_name_it(void **state)
{
	struct str class = STR("untouched");

	(void)state;
	assert_true(resource_device_class(STR("mig.nvidia.com" RESOURCE_CLASS_SUFFIX), &class));
	assert_true(str_equal(class, STR("mig.nvidia.com")));
	assert_true(resource_device_class(STR("deviceclass.resource.kubernetes.io/a.b"), &class));
	assert_true(str_equal(class, STR("a.b")));
	assert_false(resource_device_class(STR("nvidia.com/gpu"), &class));
	assert_true(str_equal(class, STR("a.b")));
}

/* Keys are read as they are written, and no other form of them. */
static void a_quota_has_one_key_for_each_resource(void **state)
{
	static const struct {
		const char *name;
		enum resource_key_kind kind;
		const char *key;       /* that bounds it */
		const char *other_key; /* that the API server would take and we do not */
	} keys[] = {
		{"nvidia.com/gpu", RESOURCE_KEY_REQUESTS, "requests.nvidia.com/gpu",
		 "nvidia.com/gpu"},
		{"nvidia.com/gpumem", RESOURCE_KEY_REQUESTS, "requests.nvidia.com/gpumem",
		 "nvidia.com/gpumem"},
		{"limits.nvidia.com/gpumem", RESOURCE_KEY_BARE, "limits.nvidia.com/gpumem",
		 "requests.limits.nvidia.com/gpumem"},
		{"limits.nvidia.com/gpu", RESOURCE_KEY_REQUESTS, "requests.limits.nvidia.com/gpu",
		 "limits.nvidia.com/gpu"},
		{"huawei.com/Ascend910B", RESOURCE_KEY_REQUESTS, "requests.huawei.com/Ascend910B",
		 "huawei.com/Ascend910B"},
		{"a.b" RESOURCE_CLASS_SUFFIX, RESOURCE_KEY_BARE, "a.b" RESOURCE_CLASS_SUFFIX,
		 "requests.a.b" RESOURCE_CLASS_SUFFIX},
		{"deviceclass.resource.kubernetes.io/a.b", RESOURCE_KEY_REQUESTS,
		 "requests.deviceclass.resource.kubernetes.io/a.b",
		 "deviceclass.resource.kubernetes.io/a.b"},
		{"kai.scheduler/gpu-memory", RESOURCE_KEY_NONE, NULL, "kai.scheduler/gpu-memory"},
		{"kai.scheduler/gpu-fraction", RESOURCE_KEY_NONE, NULL,
		 "requests.kai.scheduler/gpu-fraction"},
		{"cpu", RESOURCE_KEY_NONE, NULL, "requests.cpu"},
		{"pods", RESOURCE_KEY_NONE, NULL, "pods"},
		{"", RESOURCE_KEY_NONE, NULL, "requests."},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		struct str name = STR_NONE;

		if (resource_quota_key_kind(str_from(keys[i].name)) != keys[i].kind)
			fail_msg("%s", keys[i].name);
		if (keys[i].key && (!resource_of_quota_key(str_from(keys[i].key), &name) ||
				    !str_equal(name, str_from(keys[i].name))))
			fail_msg("%s is not read back", keys[i].key);
		if (resource_of_quota_key(str_from(keys[i].other_key), &name))
			fail_msg("%s bounds nothing", keys[i].other_key);
	}
}

/* --- the pattern in the policies */

#define QUOTA_POLICY    "config/admission/quota-policy.yaml"
#define TENANT_POLICIES "config/admission/tenant-policies.yaml"
#define IMPLICIT_CLASS  "deviceclass.resource.kubernetes.io/"

struct pattern {
	char text[512];
};

/* The one pattern of a policy that begins with the names of NVIDIA. */
static struct pattern pattern_in(const char *path)
{
	const char *call = "matches('^(nvidia", *from, *to;
	struct buf yaml CLEANUP(buf_clear);
	struct pattern pattern = {0};

	buf_init(&yaml, (size_t)256 * 1024);
	file_read(path, &yaml);
	from = strstr(yaml.data, call);
	assert_non_null(from);
	assert_null(strstr(from + 1, call));
	from += strlen("matches('");
	to = strchr(from, '\'');
	assert_non_null(to);
	assert_in_range((size_t)(to - from), 1, sizeof(pattern.text) - 1);
	memcpy(pattern.text, from, (size_t)(to - from));
	return pattern;
}

/* No names of ours, and refused all the same. */
static bool is_refused_too(const char *name)
{
	return strcmp(name, "nvidia.com/gpus") == 0 || strcmp(name, IMPLICIT_CLASS) == 0 ||
	       strcmp(name, RESOURCE_CLASS_SUFFIX) == 0;
}

static void policies_know_gpus_by_the_same_names(void **state)
{
	struct pattern pattern = pattern_in(TENANT_POLICIES);
	regex_t regex;

	(void)state;
	assert_int_equal(regcomp(&regex, pattern.text, REG_EXTENDED | REG_NOSUB), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *name = cases[i].name;
		bool known = regexec(&regex, name, 0, NULL, 0) == 0;
		bool gpu = cases[i].family != RESOURCE_NOT_GPU;

		if (known != (gpu || is_refused_too(name)))
			fail_msg("%s: %s", name, known ? "only the policies know it" : "unknown");
	}
	regfree(&regex);
}

/* But for classes that a container names, which the quota's policy prices by their rows. */
static void both_policies_have_one_pattern(void **state)
{
	const char *classes = "|deviceclass[.]resource[.]kubernetes[.]io/";
	struct pattern quota = pattern_in(QUOTA_POLICY), tenant = pattern_in(TENANT_POLICIES);
	char *at = strstr(tenant.text, classes);

	(void)state;
	assert_non_null(at);
	memmove(at, at + strlen(classes), strlen(at + strlen(classes)) + 1);
	assert_string_equal(tenant.text, quota.text);
}

/* Whatever is so many parts of a card is a fraction by name. */
static void hundredths_and_thousandths_make_a_card(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_true(resource_parts_of_card(str_from(cases[i].name)) == 0 ||
			    cases[i].family == RESOURCE_FRACTION);
	assert_int_equal(resource_parts_of_card(STR("nvidia.com/gpumem-percentage")), 100);
	assert_int_equal(resource_parts_of_card(STR("volcano.sh/vgpu-memory-percentage")), 100);
	assert_int_equal(resource_parts_of_card(STR("koordinator.sh/gpu-memory-ratio")), 100);
	assert_int_equal(resource_parts_of_card(STR("kai.scheduler/gpu-fraction")), 1000);
	assert_int_equal(resource_parts_of_card(STR("koordinator.sh/gpu-memory")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_tell_the_family),
		cmocka_unit_test(policies_know_gpus_by_the_same_names),
		cmocka_unit_test(both_policies_have_one_pattern),
		cmocka_unit_test(test_mig_names_claim_memory),
		cmocka_unit_test(hundredths_and_thousandths_make_a_card),
		cmocka_unit_test(an_extended_resource_is_written_domain_and_name),
		cmocka_unit_test(both_forms_of_a_device_class_name_it),
		cmocka_unit_test(a_quota_has_one_key_for_each_resource),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
