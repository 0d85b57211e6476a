/* SPDX-License-Identifier: Apache-2.0 */
/* What a pod may ask for beyond what its tenant says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "model/topology.h"

static const enum layout_scope numa = LAYOUT_NUMA, pcie = LAYOUT_PCIE_SWITCH,
			       nvlink = LAYOUT_NVLINK;

static const struct {
	const char *name;
	enum topology_policy tenant;
	enum layout_scope scope;
	enum topology_policy policy; /* that the pod asks for */
	const enum layout_scope *within;
	enum topology_policy holds;
	enum layout_scope holds_within;
} cases[] = {
	{"a stricter policy, the tenant's scope", TOPOLOGY_PREFERRED, LAYOUT_NVLINK,
	 TOPOLOGY_REQUIRED, NULL, TOPOLOGY_REQUIRED, LAYOUT_NVLINK},
	{"a stricter policy, another scope", TOPOLOGY_PREFERRED, LAYOUT_NUMA, TOPOLOGY_REQUIRED,
	 &nvlink, TOPOLOGY_REQUIRED, LAYOUT_NVLINK},
	{"a tenant that says nothing", TOPOLOGY_NONE, LAYOUT_NUMA, TOPOLOGY_PREFERRED, &pcie,
	 TOPOLOGY_PREFERRED, LAYOUT_PCIE_SWITCH},
	{"a weaker policy", TOPOLOGY_REQUIRED, LAYOUT_NUMA, TOPOLOGY_NONE, NULL, TOPOLOGY_REQUIRED,
	 LAYOUT_NUMA},
	{"a weaker policy, a narrower scope", TOPOLOGY_REQUIRED, LAYOUT_NUMA, TOPOLOGY_PREFERRED,
	 &pcie, TOPOLOGY_REQUIRED, LAYOUT_NUMA},
	{"the same policy, a narrower scope", TOPOLOGY_REQUIRED, LAYOUT_NUMA, TOPOLOGY_REQUIRED,
	 &pcie, TOPOLOGY_REQUIRED, LAYOUT_PCIE_SWITCH},
	{"the same policy, a wider scope", TOPOLOGY_REQUIRED, LAYOUT_PCIE_SWITCH, TOPOLOGY_REQUIRED,
	 &numa, TOPOLOGY_REQUIRED, LAYOUT_PCIE_SWITCH},
	{"the same policy, a scope that is neither", TOPOLOGY_REQUIRED, LAYOUT_NUMA,
	 TOPOLOGY_REQUIRED, &nvlink, TOPOLOGY_REQUIRED, LAYOUT_NUMA},
	{"the same of both", TOPOLOGY_PREFERRED, LAYOUT_NVLINK, TOPOLOGY_PREFERRED, &nvlink,
	 TOPOLOGY_PREFERRED, LAYOUT_NVLINK},
};

static void a_pod_may_ask_for_more_and_never_for_less(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct topology_spec tenant = {cases[i].tenant, cases[i].scope, MISMATCH_MIGRATE};
		struct topology_spec spec =
			topology_of_pod(tenant, cases[i].policy, cases[i].within);

		print_message("%s\n", cases[i].name);
		assert_int_equal(spec.policy, cases[i].holds);
		assert_int_equal(spec.scope, cases[i].holds_within);
		assert_int_equal(spec.on_mismatch, MISMATCH_MIGRATE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_may_ask_for_more_and_never_for_less),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
