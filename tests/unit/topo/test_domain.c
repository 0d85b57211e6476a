/* SPDX-License-Identifier: Apache-2.0 */
/* Domains of machines that people know. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/macros.h"
#include "lib/layouts.h"
#include "topo/domain.h"

struct sentence {
	const char *sentence;
	enum layout_scope scope;
	uint64_t set;
	enum topo_answer answer;
};

static struct machine machine;

static void check_answers(const struct sentence *table, size_t len)
{
	struct topo *topo CLEANUP(topo_free) = topo_new(&machine.layout);

	for (size_t i = 0; i < len; i++)
		if (topo_in_one_domain(topo, table[i].scope, table[i].set) != table[i].answer)
			fail_msg("not so: %s", table[i].sentence);
}

static void a_dgx2(void **state)
{
	static const struct sentence table[] = {
		{"no card lies in one of all", LAYOUT_NUMA, 0, TOPO_YES},
		{"8 cards of a socket lie in one NUMA node", LAYOUT_NUMA, 0xff00, TOPO_YES},
		{"cards of two sockets do not", LAYOUT_NUMA, 0x0180, TOPO_NO},
		{"a pair shares a switch", LAYOUT_PCIE_SWITCH, 0x0003, TOPO_YES},
		{"so do two pairs below one port, whose switches are nested", LAYOUT_PCIE_SWITCH,
		 0x000f, TOPO_YES},
		{"two ports of one socket are two switches", LAYOUT_PCIE_SWITCH, 0x0018, TOPO_NO},
		{"all 16 cards are joined by NVLink", LAYOUT_NVLINK, 0xffff, TOPO_YES},
	};

	(void)state;
	machine_dgx2(&machine);
	check_answers(table, ARRAY_SIZE(table));
}

static void a_dgx_h100(void **state)
{
	static const struct sentence table[] = {
		{"4 cards of a socket lie in one NUMA node", LAYOUT_NUMA, 0x0f, TOPO_YES},
		{"5 never do", LAYOUT_NUMA, 0x1f, TOPO_NO},
		{"one card shares its switch with itself", LAYOUT_PCIE_SWITCH, 0x04, TOPO_YES},
		{"no two cards share a switch", LAYOUT_PCIE_SWITCH, 0x03, TOPO_NO},
		{"all cards are joined by NVLink", LAYOUT_NVLINK, 0xff, TOPO_YES},
	};

	(void)state;
	machine_dgx_h100(&machine);
	check_answers(table, ARRAY_SIZE(table));
}

static void a_box_without_nvlink(void **state)
{
	static const struct sentence table[] = {
		{"two cards share a switch", LAYOUT_PCIE_SWITCH, 0x0c, TOPO_YES},
		{"three never do", LAYOUT_PCIE_SWITCH, 0x07, TOPO_NO},
		{"whether cards have NVLink was not said", LAYOUT_NVLINK, 0x03, TOPO_UNKNOWN},
	};

	(void)state;
	machine_pcie_box(&machine);
	check_answers(table, ARRAY_SIZE(table));
}

static void a_dgx1(void **state)
{
	static const struct sentence table[] = {
		{"a quad is joined all with all", LAYOUT_NVLINK, 0x0f, TOPO_YES},
		{"a card and its partner in the other quad are", LAYOUT_NVLINK, 0x11, TOPO_YES},
		{"cards that only a third one joins are not", LAYOUT_NVLINK, 0x21, TOPO_NO},
		{"the cube is not", LAYOUT_NVLINK, 0xff, TOPO_NO},
	};
	struct topo *topo CLEANUP(topo_free) = NULL;

	(void)state;
	machine_dgx1(&machine);
	check_answers(table, ARRAY_SIZE(table));
	topo = topo_new(&machine.layout);
	for (uint32_t card = 0; card < 8; card++)
		assert_int_equal(topo_domain(topo, LAYOUT_NVLINK, card), 0);
}

static void what_is_unknown_says_neither_yes_nor_no(void **state)
{
	static const struct sentence table[] = {
		{"one card lies in one domain wherever it is", LAYOUT_NUMA, 0x01, TOPO_YES},
		{"unknown beside known", LAYOUT_NUMA, 0x03, TOPO_UNKNOWN},
		{"two that are unknown", LAYOUT_NUMA, 0x05, TOPO_UNKNOWN},
		{"unknown beside two that are apart", LAYOUT_NUMA, 0x1a | 0x01, TOPO_NO},
		{"a card without a bridge may be on the root", LAYOUT_PCIE_SWITCH, 0x03,
		 TOPO_UNKNOWN},
	};

	(void)state;
	machine_dgx_h100(&machine);
	machine.gpus[0].numa = machine.gpus[2].numa = LAYOUT_NONE;
	machine.gpus[0].bridge = LAYOUT_NONE;
	check_answers(table, ARRAY_SIZE(table));
}

static void a_node_without_any_knowledge(void **state)
{
	struct topo *topo CLEANUP(topo_free) = NULL;

	(void)state;
	machine_unknown(&machine, LIMIT_LAYOUT_GPUS);
	topo = topo_new(&machine.layout);
	for (unsigned int i = 0; i < TOPO_SCOPES; i++) {
		enum layout_scope scope = (enum layout_scope)i;

		assert_int_equal(topo_domain(topo, scope, 63), LAYOUT_NONE);
		assert_int_equal(topo_in_one_domain(topo, scope, UINT64_MAX), TOPO_UNKNOWN);
		assert_int_equal(topo_largest_in_one(topo, scope, UINT64_MAX, false), 1);
		assert_int_equal(topo_largest_in_one(topo, scope, UINT64_MAX, true), 64);
	}
}

static void a_node_without_cards(void **state)
{
	struct topo *topo CLEANUP(topo_free) = NULL;

	(void)state;
	machine_unknown(&machine, 0);
	topo = topo_new(&machine.layout);
	assert_int_equal(topo->usable, 0);
	assert_int_equal(topo_in_one_domain(topo, LAYOUT_NUMA, 0), TOPO_YES);
	topo_free(NULL);
}

static void the_topmost_bridge_tells_pcie_domains_apart(void **state)
{
	struct topo *topo CLEANUP(topo_free) = NULL;

	(void)state;
	machine_dgx2(&machine);
	topo = topo_new(&machine.layout);
	for (uint32_t card = 0; card < 16; card++)
		assert_int_equal(topo_domain(topo, LAYOUT_PCIE_SWITCH, card), card / 4 * 4);
	assert_int_equal(topo_largest_in_one(topo, LAYOUT_PCIE_SWITCH, 0xffff, false), 4);
	assert_int_equal(topo_largest_in_one(topo, LAYOUT_PCIE_SWITCH, 0x1111, false), 1);
}

static void a_failed_card_is_not_usable(void **state)
{
	struct topo *topo CLEANUP(topo_free) = NULL;

	(void)state;
	machine_dgx_h100(&machine);
	machine.gpus[3].health = LAYOUT_HEALTH_FAILED;
	machine.gpus[4].health = LAYOUT_HEALTH_UNKNOWN;
	topo = topo_new(&machine.layout);
	assert_int_equal(topo->usable, 0xf7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dgx2),
		cmocka_unit_test(a_dgx_h100),
		cmocka_unit_test(a_box_without_nvlink),
		cmocka_unit_test(a_dgx1),
		cmocka_unit_test(what_is_unknown_says_neither_yes_nor_no),
		cmocka_unit_test(a_node_without_any_knowledge),
		cmocka_unit_test(a_node_without_cards),
		cmocka_unit_test(the_topmost_bridge_tells_pcie_domains_apart),
		cmocka_unit_test(a_failed_card_is_not_usable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
