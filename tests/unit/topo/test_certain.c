/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes satisfy a required scope whatever kubelet picks, and what the others are told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "lib/layouts.h"
#include "topo/certain.h"

#define ALIGNED .guaranteed = true, .whole_cpus = true
#define ALL     0xffff

static struct machine machine;

struct row {
	const char *sentence;
	enum layout_scope scope;
	struct topo_request request;
	enum topo_verdict verdict;
};

static void check_rows(const struct row *table, size_t len)
{
	struct topo *topo CLEANUP(topo_free) = topo_new(&machine.layout);

	for (size_t i = 0; i < len; i++) {
		enum topo_verdict verdict = topo_certain(topo, table[i].scope, &table[i].request);

		if (verdict != table[i].verdict)
			fail_msg("%s: %s", table[i].sentence, topo_verdict_reason(verdict));
	}
}

static void a_dgx2_whose_kubelet_aligns(void **state)
{
	static const struct row table[] = {
		{"cards of one NUMA node",
		 LAYOUT_NUMA,
		 {.free = ALL, .count = 4, .most = 4, ALIGNED},
		 TOPO_CERTAIN_ALIGNED},
		{"NVLink joins them all",
		 LAYOUT_NVLINK,
		 {.free = ALL, .count = 4, .most = 4},
		 TOPO_CERTAIN_ALL},
		{"kubelet rejects what one NUMA node does not have",
		 LAYOUT_NVLINK,
		 {.free = ALL, .count = 9, .most = 9, ALIGNED},
		 TOPO_CERTAIN_REFUSES},
		{"kubelet may take cards of two switches",
		 LAYOUT_PCIE_SWITCH,
		 {.free = ALL, .count = 2, .most = 2, ALIGNED},
		 TOPO_CERTAIN_CHOICE},
		{"one switch is free in each NUMA node",
		 LAYOUT_PCIE_SWITCH,
		 {.free = 0x0ff0, .count = 2, .most = 2, ALIGNED},
		 TOPO_CERTAIN_ALIGNED},
		{"a NUMA node with too few does not count",
		 LAYOUT_PCIE_SWITCH,
		 {.free = 0x11f0, .count = 3, .most = 3, ALIGNED},
		 TOPO_CERTAIN_ALIGNED},
		{"a Burstable pod",
		 LAYOUT_NUMA,
		 {.free = ALL, .count = 2, .most = 2, .whole_cpus = true},
		 TOPO_CERTAIN_NOT_GUARANTEED},
		{"half a CPU",
		 LAYOUT_NUMA,
		 {.free = ALL, .count = 2, .most = 2, .guaranteed = true},
		 TOPO_CERTAIN_NO_WHOLE_CPUS},
		{"two containers are aligned one by one",
		 LAYOUT_NUMA,
		 {.free = ALL, .count = 2, .most = 1, ALIGNED},
		 TOPO_CERTAIN_CONTAINERS},
		{"two containers, where all that is free is of one NUMA node",
		 LAYOUT_NUMA,
		 {.free = 0x00ff, .count = 2, .most = 1, ALIGNED},
		 TOPO_CERTAIN_ALL},
	};

	(void)state;
	machine_dgx2(&machine);
	machine.layout.kubelet = (struct layout_kubelet){LAYOUT_POLICY_SINGLE_NUMA, false, true};
	check_rows(table, ARRAY_SIZE(table));
}

static void a_dgx2_whose_kubelet_aligns_whole_pods(void **state)
{
	static const struct row table[] = {
		{"two containers are aligned together",
		 LAYOUT_NUMA,
		 {.free = ALL, .count = 8, .most = 4, ALIGNED},
		 TOPO_CERTAIN_ALIGNED},
		{"and rejected together",
		 LAYOUT_NUMA,
		 {.free = ALL, .count = 10, .most = 5, ALIGNED},
		 TOPO_CERTAIN_REFUSES},
	};

	(void)state;
	machine_dgx2(&machine);
	machine.layout.kubelet = (struct layout_kubelet){LAYOUT_POLICY_SINGLE_NUMA, true, true};
	check_rows(table, ARRAY_SIZE(table));
}

static void a_box_whose_kubelet_does_not_align(void **state)
{
	static const struct row table[] = {
		{"nothing asked", LAYOUT_NUMA, {.free = 0xff}, TOPO_CERTAIN_ALL},
		{"one card",
		 LAYOUT_NUMA,
		 {.free = 0xff, .count = 1, .most = 1, ALIGNED},
		 TOPO_CERTAIN_ALL},
		{"two cards of two NUMA nodes",
		 LAYOUT_NUMA,
		 {.free = 0xff, .count = 2, .most = 2, ALIGNED},
		 TOPO_CERTAIN_NO_POLICY},
		{"two cards of the one NUMA node with free ones",
		 LAYOUT_NUMA,
		 {.free = 0x0e, .count = 2, .most = 2},
		 TOPO_CERTAIN_ALL},
		{"all free cards, of one switch",
		 LAYOUT_PCIE_SWITCH,
		 {.free = 0x0c, .count = 2, .most = 2},
		 TOPO_CERTAIN_ALL},
		{"two of three cards",
		 LAYOUT_PCIE_SWITCH,
		 {.free = 0x0e, .count = 2, .most = 2},
		 TOPO_CERTAIN_CHOICE},
		{"no switch has three cards",
		 LAYOUT_PCIE_SWITCH,
		 {.free = 0xff, .count = 3, .most = 3},
		 TOPO_CERTAIN_SPANS},
		{"no NUMA node has three free ones",
		 LAYOUT_NUMA,
		 {.free = 0x33, .count = 3, .most = 3},
		 TOPO_CERTAIN_SPANS},
		{"fewer are free",
		 LAYOUT_NUMA,
		 {.free = 0x01, .count = 2, .most = 2},
		 TOPO_CERTAIN_TOO_FEW},
		{"nobody knows of NVLink",
		 LAYOUT_NVLINK,
		 {.free = 0xff, .count = 2, .most = 2},
		 TOPO_CERTAIN_UNKNOWN},
		{"named cards of one switch",
		 LAYOUT_PCIE_SWITCH,
		 {.free = 0xff, .named = 0x30, .count = 2, .most = 2},
		 TOPO_CERTAIN_NAMED},
		{"named cards of two",
		 LAYOUT_PCIE_SWITCH,
		 {.free = 0xff, .named = 0x18, .count = 2, .most = 2},
		 TOPO_CERTAIN_APART},
	};

	(void)state;
	machine_pcie_box(&machine);
	machine.layout.kubelet = (struct layout_kubelet){LAYOUT_POLICY_BEST_EFFORT, false, true};
	check_rows(table, ARRAY_SIZE(table));
}

static void what_is_not_known_or_failed_is_not_certain(void **state)
{
	static const struct row table[] = {
		{"a free card without a NUMA node",
		 LAYOUT_NUMA,
		 {.free = 0xff, .count = 2, .most = 2, ALIGNED},
		 TOPO_CERTAIN_UNKNOWN},
		{"it is taken",
		 LAYOUT_NUMA,
		 {.free = 0x7e, .count = 2, .most = 2, ALIGNED},
		 TOPO_CERTAIN_ALIGNED},
		{"a named one",
		 LAYOUT_NUMA,
		 {.free = 0xff, .named = 0x03, .count = 2, .most = 2},
		 TOPO_CERTAIN_UNKNOWN},
		{"a failed card is free",
		 LAYOUT_NUMA,
		 {.free = 0xfe, .count = 2, .most = 2, ALIGNED},
		 TOPO_CERTAIN_FAILED},
		{"a failed card is named",
		 LAYOUT_NUMA,
		 {.free = 0xff, .named = 0x80, .count = 1, .most = 1},
		 TOPO_CERTAIN_FAILED},
	};

	(void)state;
	machine_pcie_box(&machine);
	machine.layout.kubelet = (struct layout_kubelet){LAYOUT_POLICY_SINGLE_NUMA, false, true};
	machine.gpus[0].numa = LAYOUT_NONE;
	machine.gpus[7].health = LAYOUT_HEALTH_FAILED;
	check_rows(table + 1, ARRAY_SIZE(table) - 1);
	machine.gpus[7].health = LAYOUT_HEALTH_OK;
	check_rows(table, 1);
}

static void a_node_without_any_knowledge_is_never_certain_for_two_cards(void **state)
{
	static const struct row table[] = {
		{"NUMA",
		 LAYOUT_NUMA,
		 {.free = 3, .count = 2, .most = 2, ALIGNED},
		 TOPO_CERTAIN_UNKNOWN},
		{"PCIe",
		 LAYOUT_PCIE_SWITCH,
		 {.free = 3, .count = 2, .most = 2, ALIGNED},
		 TOPO_CERTAIN_UNKNOWN},
		{"NVLink",
		 LAYOUT_NVLINK,
		 {.free = 3, .count = 2, .most = 2, ALIGNED},
		 TOPO_CERTAIN_UNKNOWN},
	};

	(void)state;
	machine_unknown(&machine, 8);
	check_rows(table, ARRAY_SIZE(table));
	machine.layout.kubelet = (struct layout_kubelet){LAYOUT_POLICY_SINGLE_NUMA, true, true};
	check_rows(table, ARRAY_SIZE(table));
}

static void where_nobody_tells_whose_cpus_are_whose_they_may_be_anywhere(void **state)
{
	const struct topo_request request = {.free = 3, .count = 2, .most = 2, ALIGNED};
	struct topo *topo;

	(void)state;
	machine_unknown(&machine, 2);
	machine.layout.kubelet.policy = LAYOUT_POLICY_UNKNOWN;
	topo = topo_new(&machine.layout);
	assert_false(topo_kubelet_pins_apart(topo, &request));
	topo_free(topo);
	machine.layout.cpus_unknown = true;
	topo = topo_new(&machine.layout);
	assert_true(topo_kubelet_pins_apart(topo, &request));
	topo_free(topo);
}

static const struct {
	const char *sentence;
	enum layout_policy policy;
	struct topo_request request;
	enum topo_answer answer;
} admissions[] = {
	{"no policy admits anything",
	 LAYOUT_POLICY_NONE,
	 {.free = 0x33, .count = 4, .most = 4},
	 TOPO_YES},
	{"best effort too",
	 LAYOUT_POLICY_BEST_EFFORT,
	 {.free = 0x33, .count = 4, .most = 4},
	 TOPO_YES},
	{"an unknown policy may do anything",
	 LAYOUT_POLICY_UNKNOWN,
	 {.free = 0xff, .count = 1, .most = 1},
	 TOPO_UNKNOWN},
	{"single: enough on one NUMA node",
	 LAYOUT_POLICY_SINGLE_NUMA,
	 {.free = 0xf1, .count = 4, .most = 4},
	 TOPO_YES},
	{"single: two and two",
	 LAYOUT_POLICY_SINGLE_NUMA,
	 {.free = 0x33, .count = 4, .most = 4},
	 TOPO_NO},
	{"single: more than a NUMA node has",
	 LAYOUT_POLICY_SINGLE_NUMA,
	 {.free = 0xff, .count = 5, .most = 5},
	 TOPO_NO},
	{"restricted: four would fit into one NUMA node",
	 LAYOUT_POLICY_RESTRICTED,
	 {.free = 0x33, .count = 4, .most = 4},
	 TOPO_NO},
	{"restricted: five never do, and two will",
	 LAYOUT_POLICY_RESTRICTED,
	 {.free = 0xff, .count = 5, .most = 5},
	 TOPO_YES},
	{"single: a pod before may leave two and two",
	 LAYOUT_POLICY_SINGLE_NUMA,
	 {.free = 0x7f, .pending = 1, .count = 4, .most = 4},
	 TOPO_UNKNOWN},
	{"single: a pod before cannot take from both",
	 LAYOUT_POLICY_SINGLE_NUMA,
	 {.free = 0xff, .pending = 1, .count = 4, .most = 4},
	 TOPO_YES},
	{"single: one on its way out has four of the other NUMA node left to others",
	 LAYOUT_POLICY_SINGLE_NUMA,
	 {.free = 0xff, .leaving = 0x80, .count = 4, .most = 4},
	 TOPO_YES},
	{"single: two on their way out, of one NUMA node each",
	 LAYOUT_POLICY_SINGLE_NUMA,
	 {.free = 0xff, .leaving = 0x88, .count = 4, .most = 4},
	 TOPO_UNKNOWN},
	{"single: one on its way out, and a pod before",
	 LAYOUT_POLICY_SINGLE_NUMA,
	 {.free = 0xff, .leaving = 0x80, .pending = 1, .count = 4, .most = 4},
	 TOPO_UNKNOWN},
	{"two containers of which each may find its NUMA node",
	 LAYOUT_POLICY_SINGLE_NUMA,
	 {.free = 0x33, .count = 4, .most = 2},
	 TOPO_UNKNOWN},
	{"two containers of which one cannot",
	 LAYOUT_POLICY_SINGLE_NUMA,
	 {.free = 0x33, .count = 4, .most = 3},
	 TOPO_NO},
};

static void what_kubelet_admits(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(admissions); i++) {
		struct topo *topo CLEANUP(topo_free) = NULL;

		machine_pcie_box(&machine);
		machine.layout.kubelet.policy = admissions[i].policy;
		topo = topo_new(&machine.layout);
		if (topo_kubelet_admits(topo, &admissions[i].request) != admissions[i].answer)
			fail_msg("not so: %s", admissions[i].sentence);
	}
}

/* Of two NUMA nodes with four cards and eight CPUs each. */
static const struct {
	const char *sentence;
	bool pod_scope;
	struct topo_request request;
	enum topo_answer answer;
} cpu_admissions[] = {
	{"a NUMA node has the cards, and the other the CPUs",
	 false,
	 {.free = 0x0f, .count = 2, .most = 2, .cpus = 4, .cpus_together = true, .cpus_taken = {6}},
	 TOPO_NO},
	{"one has both",
	 false,
	 {.free = 0xff, .count = 2, .most = 2, .cpus = 4, .cpus_together = true, .cpus_taken = {6}},
	 TOPO_YES},
	{"CPUs that kubelet keeps may be of the other NUMA node",
	 false,
	 {.free = 0xff,
	  .count = 2,
	  .most = 2,
	  .cpus = 8,
	  .cpus_together = true,
	  .cpus_reserved = 2},
	 TOPO_UNKNOWN},
	{"where enough is left besides they do not matter",
	 false,
	 {.free = 0xff,
	  .count = 2,
	  .most = 2,
	  .cpus = 6,
	  .cpus_together = true,
	  .cpus_reserved = 2},
	 TOPO_YES},
	{"a pod before may take them",
	 false,
	 {.free = 0x0f, .count = 2, .most = 2, .cpus = 6, .cpus_together = true, .cpus_pending = 3},
	 TOPO_UNKNOWN},
	{"a container without cards may have its CPUs elsewhere",
	 false,
	 {.free = 0xff, .count = 2, .most = 2, .cpus = 12},
	 TOPO_UNKNOWN},
	{"but not where pods are looked at as a whole",
	 true,
	 {.free = 0xff, .count = 2, .most = 2, .cpus = 12},
	 TOPO_NO},
	{"what an init container had may be of the NUMA node that has no cards left",
	 false,
	 {.free = 0x0f, .count = 2, .most = 2, .cpus = 4, .takes_over = true},
	 TOPO_UNKNOWN},
	{"not where pods are looked at as a whole",
	 true,
	 {.free = 0x0f, .count = 2, .most = 2, .cpus = 4, .takes_over = true},
	 TOPO_YES},
	{"nor where both have enough for all of the pod",
	 false,
	 {.free = 0xff, .count = 2, .most = 2, .cpus = 4, .takes_over = true},
	 TOPO_YES},
	{"containers with cards each need CPUs, too",
	 false,
	 {.free = 0xff, .count = 2, .most = 1, .cpus = 6, .cpus_taken = {6, 6}},
	 TOPO_UNKNOWN},
};

/* The same under restricted, where CPUs have to be of as few NUMA nodes as would do. */
static const struct {
	const char *sentence;
	struct topo_request request;
	enum topo_answer answer;
} restricted_admissions[] = {
	{"CPUs of a NUMA node without free cards are no help",
	 {.free = 0x0f, .count = 2, .most = 2, .cpus = 4, .cpus_taken = {6}},
	 TOPO_UNKNOWN},
	{"those of the one with cards are",
	 {.free = 0x0f, .count = 2, .most = 2, .cpus = 4, .cpus_taken = {0, 6}},
	 TOPO_YES},
	{"for cards of both NUMA nodes those of either do",
	 {.free = 0xff, .count = 8, .most = 8, .cpus = 4},
	 TOPO_YES},
	{"if others may not take them",
	 {.free = 0xff, .count = 8, .most = 8, .cpus = 4, .cpus_pending = 5},
	 TOPO_UNKNOWN},
};

static void what_restricted_admits_beside_its_cpus(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(restricted_admissions); i++) {
		struct topo *topo CLEANUP(topo_free) = NULL;

		machine_pcie_box(&machine);
		machine.layout.kubelet =
			(struct layout_kubelet){LAYOUT_POLICY_RESTRICTED, false, true};
		topo = topo_new(&machine.layout);
		if (topo_kubelet_admits(topo, &restricted_admissions[i].request) !=
		    restricted_admissions[i].answer)
			fail_msg("not so: %s", restricted_admissions[i].sentence);
	}
}

static void what_kubelet_admits_beside_its_cpus(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cpu_admissions); i++) {
		struct topo *topo CLEANUP(topo_free) = NULL;

		machine_pcie_box(&machine);
		machine.layout.kubelet = (struct layout_kubelet){LAYOUT_POLICY_SINGLE_NUMA,
								 cpu_admissions[i].pod_scope, true};
		topo = topo_new(&machine.layout);
		if (topo_kubelet_admits(topo, &cpu_admissions[i].request) !=
		    cpu_admissions[i].answer)
			fail_msg("not so: %s", cpu_admissions[i].sentence);
	}
}

static void every_verdict_has_a_reason_and_a_sentence(void **state)
{
	struct buf text CLEANUP(buf_clear);

	(void)state;
	buf_init(&text, LIMIT_EVENT_NOTE);
	for (unsigned int i = 0; i < TOPO_VERDICT_COUNT; i++) {
		buf_reset(&text);
		topo_verdict_describe((enum topo_verdict)i, LAYOUT_PCIE_SWITCH, &text);
		assert_true(text.len > 20 && !text.overflowed);
		assert_null(strchr(text.data, '%'));
		assert_true(strlen(topo_verdict_reason((enum topo_verdict)i)) > 3);
	}
	buf_reset(&text);
	topo_verdict_describe(TOPO_CERTAIN_SPANS, LAYOUT_NUMA, &text);
	assert_string_equal(text.data, "no NUMA node has as many free cards as the pod asks for");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dgx2_whose_kubelet_aligns),
		cmocka_unit_test(a_dgx2_whose_kubelet_aligns_whole_pods),
		cmocka_unit_test(a_box_whose_kubelet_does_not_align),
		cmocka_unit_test(what_is_not_known_or_failed_is_not_certain),
		cmocka_unit_test(a_node_without_any_knowledge_is_never_certain_for_two_cards),
		cmocka_unit_test(where_nobody_tells_whose_cpus_are_whose_they_may_be_anywhere),
		cmocka_unit_test(what_kubelet_admits),
		cmocka_unit_test(what_kubelet_admits_beside_its_cpus),
		cmocka_unit_test(what_restricted_admits_beside_its_cpus),
		cmocka_unit_test(every_verdict_has_a_reason_and_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
