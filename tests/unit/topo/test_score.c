/* SPDX-License-Identifier: Apache-2.0 */
/* How good a set is, and which one is the best, where a person can tell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/macros.h"
#include "lib/layouts.h"
#include "topo/score.h"

#define ALL 0xffff

static struct machine machine;

static void assert_terms(uint64_t set, int64_t nvlink, int64_t pcie, int64_t numa)
{
	struct topo *topo CLEANUP(topo_free) = topo_new(&machine.layout);
	struct topo_terms terms = topo_score_terms(topo_score(topo, set));

	assert_int_equal(terms.nvlink, nvlink);
	assert_int_equal(terms.pcie, pcie);
	assert_int_equal(terms.numa, numa);
}

static void a_pair_has_three_terms(void **state)
{
	(void)state;
	machine_dgx2(&machine);
	assert_terms(0x0003, 150, 15, 245); /* below one leaf switch */
	assert_terms(0x0005, 150, 13, 245); /* below two leaves of one switch */
	assert_terms(0x0011, 150, 0, 245);  /* below two root ports */
	assert_terms(0x0101, 150, 0, 234);  /* on two sockets */
	machine_pcie_box(&machine);
	assert_terms(0x03, 0, 13, 245); /* below two ports of one switch */
}

static void a_set_is_the_sum_of_its_pairs(void **state)
{
	(void)state;
	machine_dgx_h100(&machine);
	assert_terms(0, 0, 0, 0);
	assert_terms(0x01, 0, 0, 0);
	assert_terms(0x07, 3 * 450, 0, 3 * 245);
	assert_terms(0xff, 28 * 450, 0, 12 * 245 + 16 * 234);
}

static void what_is_unknown_counts_as_far(void **state)
{
	(void)state;
	machine_unknown(&machine, 8);
	assert_terms(0xff, 0, 0, 0);
	machine_pcie_box(&machine);
	machine.layout.distances = NULL;
	assert_terms(0x03, 0, 13, 245);
	assert_terms(0x11, 0, 0, 0);
}

static void the_largest_score_there_can_be_keeps_its_terms_apart(void **state)
{
	size_t n = 0;

	(void)state;
	machine_unknown(&machine, LIMIT_LAYOUT_GPUS);
	machine.numas[0] = (struct layout_numa){0, STR_NONE, 0, GIB};
	machine.layout.n_numas = 1;
	machine.bridges[0] = (struct layout_bridge){LAYOUT_NONE, STR_NONE, AMOUNT_UNKNOWN};
	machine.layout.n_bridges = 1;
	for (uint32_t a = 0; a < LIMIT_LAYOUT_GPUS; a++) {
		machine.gpus[a].numa = machine.gpus[a].bridge = 0;
		for (uint32_t b = a + 1; b < LIMIT_LAYOUT_GPUS; b++)
			machine.links[n++] = (struct layout_link){a, b, LIMIT_LAYOUT_AMOUNT};
	}
	machine.layout.n_links = n;
	assert_terms(UINT64_MAX, 2016 * 65535, 2016 * 15, 2016 * 245);
}

struct expected {
	const char *sentence;
	struct topo_ask ask;
	uint64_t set; /* 0: none */
};

static void check_sets(const struct expected *table, size_t len)
{
	struct topo *topo CLEANUP(topo_free) = topo_new(&machine.layout);

	for (size_t i = 0; i < len; i++) {
		uint64_t set = 0;
		enum topo_found found = topo_best_set(topo, &table[i].ask, &set);

		if (found != (table[i].set || table[i].ask.count == 0 ? TOPO_BEST : TOPO_NONE))
			fail_msg("%s: found %d", table[i].sentence, (int)found);
		if (set != table[i].set)
			fail_msg("%s: %llx", table[i].sentence, (unsigned long long)set);
	}
}

static void sets_of_a_dgx2(void **state)
{
	static const struct expected table[] = {
		{"no card", {ALL, 0, false, LAYOUT_NUMA}, 0},
		{"one card is the first", {ALL, 1, false, LAYOUT_NUMA}, 0x0001},
		{"one card is one whose neighbour is taken", {0xffdf, 1, false, LAYOUT_NUMA}, 0x10},
		{"two cards are a pair", {ALL, 2, false, LAYOUT_NUMA}, 0x0003},
		{"two cards are the pair that leaves a quad", {0xfff3, 2, false, LAYOUT_NUMA}, 3},
		{"four cards are those of a port", {0xfffe, 4, false, LAYOUT_NUMA}, 0x00f0},
		{"eight cards are a socket", {0xfffe, 8, false, LAYOUT_NUMA}, 0xff00},
		{"nine cards span sockets", {ALL, 9, false, LAYOUT_NUMA}, 0x01ff},
		{"nine cards of one NUMA node are not there", {ALL, 9, true, LAYOUT_NUMA}, 0},
		{"four cards of one switch", {0x7777, 4, true, LAYOUT_PCIE_SWITCH}, 0},
		{"three cards of one switch", {0x7770, 3, true, LAYOUT_PCIE_SWITCH}, 0x0070},
		{"more than are free", {0x0003, 3, false, LAYOUT_NUMA}, 0},
	};

	(void)state;
	machine_dgx2(&machine);
	check_sets(table, ARRAY_SIZE(table));
}

static void sets_of_a_box_without_nvlink(void **state)
{
	static const struct expected table[] = {
		{"two cards share a switch", {0xfe, 2, false, LAYOUT_NUMA}, 0x0c},
		{"one card is the lonely one", {0xf7, 1, false, LAYOUT_NUMA}, 0x04},
		{"three cards are of one socket", {0xfe, 3, false, LAYOUT_NUMA}, 0x0e},
		{"nobody knows of NVLink", {0xff, 2, true, LAYOUT_NVLINK}, 0},
		{"one card needs none", {0xff, 1, true, LAYOUT_NVLINK}, 0x01},
	};

	(void)state;
	machine_pcie_box(&machine);
	check_sets(table, ARRAY_SIZE(table));
}

static void sets_of_a_dgx1(void **state)
{
	static const struct expected table[] = {
		{"two cards have two lanes between them", {0xff, 2, false, LAYOUT_NUMA}, 0x0c},
		{"four cards are a quad", {0xff, 4, true, LAYOUT_NVLINK}, 0x0f},
		{"five cards are never all joined", {0xff, 5, true, LAYOUT_NVLINK}, 0},
	};

	(void)state;
	machine_dgx1(&machine);
	check_sets(table, ARRAY_SIZE(table));
}

static void a_failed_card_is_in_no_set(void **state)
{
	static const struct expected table[] = {
		{"the pair of a failed card", {ALL, 2, false, LAYOUT_NUMA}, 0x000c},
		{"all cards", {ALL, 16, false, LAYOUT_NUMA}, 0},
		{"all others", {ALL, 15, false, LAYOUT_NUMA}, 0xfffe},
	};

	(void)state;
	machine_dgx2(&machine);
	machine.gpus[0].health = LAYOUT_HEALTH_FAILED;
	check_sets(table, ARRAY_SIZE(table));
}

static void regular_machines_of_any_size_are_searched_to_the_end(void **state)
{
	static const struct expected table[] = {
		{"half of 64 cards", {UINT64_MAX, 32, false, LAYOUT_NUMA}, 0xffffffff},
		{"all but one", {UINT64_MAX, 63, false, LAYOUT_NUMA}, UINT64_MAX >> 1},
		{"some of some", {~UINT64_C(0xf), 3, false, LAYOUT_NUMA}, 0x70},
	};

	(void)state;
	machine_unknown(&machine, 64);
	check_sets(table, ARRAY_SIZE(table));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pair_has_three_terms),
		cmocka_unit_test(a_set_is_the_sum_of_its_pairs),
		cmocka_unit_test(what_is_unknown_counts_as_far),
		cmocka_unit_test(the_largest_score_there_can_be_keeps_its_terms_apart),
		cmocka_unit_test(sets_of_a_dgx2),
		cmocka_unit_test(sets_of_a_box_without_nvlink),
		cmocka_unit_test(sets_of_a_dgx1),
		cmocka_unit_test(a_failed_card_is_in_no_set),
		cmocka_unit_test(regular_machines_of_any_size_are_searched_to_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
