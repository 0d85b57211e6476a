/* SPDX-License-Identifier: Apache-2.0 */
/* The CPUs that a pod has for itself, as kubelet's static CPU manager counts them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/pack.h"
#include "api/wire.h"
#include "base/limits.h"
#include "recorded.h"

#define CONTAINER(name, cpu, more)                                                        \
	"{'name':'" name "','resources':{'requests':{'cpu':'" cpu "','memory':'1Gi'" more \
	"},'limits':{'cpu':'" cpu "','memory':'1Gi'" more "}}}"
#define SIDECAR(name, cpu)                                                                 \
	"{'name':'" name "','restartPolicy':'Always','resources':{'requests':{'cpu':'" cpu \
	"','memory':'1Gi'},'limits':{'cpu':'" cpu "','memory':'1Gi'}}}"
#define CARDS ",'nvidia.com/gpu':'2'"

static const struct {
	const char *sentence, *class, *init, *containers;
	uint32_t cpus;
	bool whole, together, takes_over;
} rows[] = {
	{"one container has all of them", "Guaranteed", "", CONTAINER("a", "4", CARDS), 4, true,
	 true, false},
	{"a part of a CPU is nobody's own", "Guaranteed", "", CONTAINER("a", "3500m", CARDS), 0,
	 false, false, false},
	{"who is not Guaranteed has none", "Burstable", "", CONTAINER("a", "4", CARDS), 0, true,
	 false, false},
	{"containers run beside each other", "Guaranteed", "",
	 CONTAINER("a", "4", CARDS) "," CONTAINER("b", "2", ""), 6, true, false, false},
	{"an init container comes before them, and they take over what it had", "Guaranteed",
	 CONTAINER("i", "5", ""), CONTAINER("a", "4", CARDS), 5, true, false, true},
	{"also what it had of cards alone", "Guaranteed", CONTAINER("i", "500m", CARDS),
	 CONTAINER("a", "4", ""), 4, false, true, true},
	{"one that has nothing of its own leaves nothing", "Guaranteed", CONTAINER("i", "100m", ""),
	 CONTAINER("a", "4", CARDS), 4, true, true, false},
	{"a sidecar stays beside them", "Guaranteed", SIDECAR("s", "2"), CONTAINER("a", "4", CARDS),
	 6, true, false, false},
	{"and beside init containers after it", "Guaranteed",
	 SIDECAR("s", "2") "," CONTAINER("i", "5", ""), CONTAINER("a", "4", CARDS), 7, true, false,
	 true},
};

static void each_pod_has_its_cpus(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fixture f CLEANUP(fixture_clear);
		struct wire_pod wire;
		struct pod_facts facts;
		struct buf json CLEANUP(buf_clear);

		print_message("%s\n", rows[i].sentence);
		fixture_init(&f);
		buf_init(&json, 8192);
		buf_printf(&json,
			   "{'metadata':{'namespace':'n','name':'p','uid':'u'},'spec':{"
			   "'initContainers':[%s],'containers':[%s]},'status':{'qosClass':'%s'}}",
			   rows[i].init, rows[i].containers, rows[i].class);
		buf_add(&json, "", 1);
		sample_decode(&wire_pod_schema, json.data, &f.arena, &wire);
		assert_int_equal(api_pack_pod(&wire, NULL, &f.arena, &facts, &f.err), 0);
		assert_int_equal(facts.alignment.cpus, rows[i].cpus);
		assert_int_equal(facts.alignment.whole_cpus, rows[i].whole);
		assert_int_equal(facts.alignment.cpus_together, rows[i].together);
		assert_int_equal(facts.alignment.takes_over, rows[i].takes_over);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_pod_has_its_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
