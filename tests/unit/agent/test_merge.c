/* SPDX-License-Identifier: Apache-2.0 */
/* Facts laid over the layouts of known machines, and whether what comes of it can be published. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "agent/facts.h"
#include "api/layout.h"
#include "lib/layouts.h"

#define MEMORY (16 * 1024 * 1024)
#define CARDS  8

struct place {
	struct arena arena;
	struct machine machine;
	struct card_facts cards[CARDS];
	struct link_facts links[64];
	struct machine_facts facts;
	struct layout merged;
};

/* A DGX H100 whose cards all answer; tests change what they are about. */
static int set_up(void **state)
{
	static struct place place;

	place = (struct place){0};
	arena_init(&place.arena, MEMORY);
	machine_dgx_h100(&place.machine);
	for (uint32_t i = 0; i < CARDS; i++)
		place.cards[i] = (struct card_facts){
			.pci = place.machine.gpus[i].pci,
			.index = i,
			.numa = LAYOUT_NONE,
			.memory = AMOUNT_UNKNOWN,
			.health = LAYOUT_HEALTH_OK,
		};
	place.facts = (struct machine_facts){
		.cards = place.cards, .n_cards = CARDS, .links = place.links, .theirs = 0xff};
	*state = &place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	arena_clear(&place->arena);
	return 0;
}

/* Merges, and reads back what would be published. */
static const struct layout *merge(struct place *place)
{
	struct error err = {0};
	struct layout again;
	struct buf body;

	if (machine_merge(&place->machine.layout, &place->facts, &place->arena, &place->merged,
			  &err) < 0)
		fail_msg("%s", err.message);
	buf_init(&body, LIMIT_LAYOUT);
	api_body_layout(&body, &place->merged);
	if (api_read_layout(buf_str(&body), &place->arena, &again, &err) < 0)
		fail_msg("%s", err.message);
	assert_true(layouts_equal(&again, &place->merged));
	buf_clear(&body);
	return &place->merged;
}

static void what_facts_leave_open_stays(void **state)
{
	struct place *place = *state;
	const struct layout *merged;

	for (size_t i = 0; i < CARDS; i++) {
		place->machine.gpus[i].index = (uint32_t)i;
		place->machine.gpus[i].health = LAYOUT_HEALTH_OK;
	}
	merged = merge(place);
	assert_true(layouts_equal(merged, &place->machine.layout));
}

static void facts_win_over_what_was_shown(void **state)
{
	struct place *place = *state;
	const struct layout_gpu *gpu;

	place->cards[3] = (struct card_facts){
		.pci = place->machine.gpus[5].pci,
		.uuid = STR("GPU-x"),
		.product = STR("A-Card"),
		.index = 17,
		.numa = place->machine.numas[0].id,
		.memory = 40 * GIB,
		.health = LAYOUT_HEALTH_FAILED,
	};
	place->cards[5].pci = place->machine.gpus[3].pci;
	gpu = &merge(place)->gpus[5];
	assert_true(str_equal(gpu->uuid, STR("GPU-x")));
	assert_true(str_equal(gpu->product, STR("A-Card")));
	assert_int_equal(gpu->index, 17);
	assert_int_equal(gpu->memory, 40 * GIB);
	assert_int_equal(gpu->health, LAYOUT_HEALTH_FAILED);
	assert_int_equal(gpu->numa, place->machine.gpus[5].numa);
}

static void a_numa_node_fills_a_gap_where_it_has_cpus(void **state)
{
	struct place *place = *state;
	const struct layout *merged;

	place->machine.numas[0].n_cpus = 0;
	place->machine.numas[0].cpus = STR_NONE;
	for (size_t i = 0; i < 3; i++)
		place->machine.gpus[i].numa = LAYOUT_NONE;
	place->cards[0].numa = place->machine.numas[0].id;
	place->cards[1].numa = place->machine.numas[1].id;
	place->cards[2].numa = 77;
	merged = merge(place);
	assert_int_equal(merged->gpus[0].numa, LAYOUT_NONE);
	assert_int_equal(merged->gpus[1].numa, 1);
	assert_int_equal(merged->gpus[2].numa, LAYOUT_NONE);
}

static void a_card_without_facts_is_as_it_was_shown(void **state)
{
	struct place *place = *state;
	struct str uuid = place->machine.gpus[7].uuid;

	place->facts.n_cards = 7;
	place->machine.gpus[7].health = LAYOUT_HEALTH_UNKNOWN;
	assert_int_equal(merge(place)->gpus[7].health, LAYOUT_HEALTH_UNKNOWN);
	assert_true(str_equal(place->merged.gpus[7].uuid, uuid));
}

static void a_card_that_only_the_driver_knows_is_left_out(void **state)
{
	struct place *place = *state;

	place->cards[7].pci = STR("0000:ff:1f.0");
	assert_int_equal(merge(place)->n_gpus, CARDS);
}

static void lost_cards_are_those_of_which_nothing_is_told(void **state)
{
	struct place *place = *state;

	for (size_t i = 0; i < CARDS; i++)
		place->machine.gpus[i].health = LAYOUT_HEALTH_UNKNOWN;
	place->cards[2].pci = place->cards[6].pci = STR_NONE;
	place->cards[2].health = place->cards[6].health = LAYOUT_HEALTH_FAILED;
	merge(place);
	for (size_t i = 0; i < CARDS; i++)
		assert_int_equal(place->merged.gpus[i].health,
				 i == 2 || i == 6 ? LAYOUT_HEALTH_FAILED : LAYOUT_HEALTH_OK);
}

static void which_card_was_lost_is_unknown_where_more_are_silent(void **state)
{
	struct place *place = *state;

	for (size_t i = 0; i < CARDS; i++)
		place->machine.gpus[i].health = LAYOUT_HEALTH_UNKNOWN;
	place->cards[2].pci = place->cards[6].pci = STR_NONE;
	place->cards[2].health = LAYOUT_HEALTH_FAILED;
	place->cards[6].health = LAYOUT_HEALTH_UNKNOWN;
	merge(place);
	assert_int_equal(place->merged.gpus[2].health, LAYOUT_HEALTH_UNKNOWN);
	assert_int_equal(place->merged.gpus[6].health, LAYOUT_HEALTH_UNKNOWN);
}

static void another_makers_card_is_not_the_one_that_was_lost(void **state)
{
	struct place *place = *state;

	for (size_t i = 0; i < CARDS; i++)
		place->machine.gpus[i].health = LAYOUT_HEALTH_UNKNOWN;
	place->cards[2].pci = place->cards[6].pci = STR_NONE;
	place->cards[2].health = LAYOUT_HEALTH_FAILED;
	place->facts.theirs = 0xbf;
	merge(place);
	assert_int_equal(place->merged.gpus[2].health, LAYOUT_HEALTH_FAILED);
	assert_int_equal(place->merged.gpus[6].health, LAYOUT_HEALTH_UNKNOWN);
}

static void a_uuid_of_two_cards_is_of_neither(void **state)
{
	struct place *place = *state;

	place->cards[0].uuid = place->cards[4].uuid = STR("GPU-same");
	place->cards[1].uuid = STR("GPU-other");
	merge(place);
	assert_true(str_empty(place->merged.gpus[0].uuid));
	assert_true(str_empty(place->merged.gpus[4].uuid));
	assert_true(str_equal(place->merged.gpus[1].uuid, STR("GPU-other")));
}

static void partitions_are_counted_by_profile(void **state)
{
	const struct partition_facts partitions[] = {
		{STR("MIG-a"), STR("1g.10gb"), 7, 9728 * MIB},
		{STR("MIG-b"), STR("3g.40gb"), 1, 40192 * MIB},
		{STR("MIG-c"), STR("1g.10gb"), 8, 9728 * MIB},
		{STR("MIG-d"), STR_NONE, 9, 9728 * MIB},
	};
	struct place *place = *state;
	const struct layout_gpu *gpu;

	place->cards[0].memory = 80 * GIB;
	place->cards[0].partitioned = place->cards[1].partitioned = true;
	place->cards[0].partitions = partitions;
	place->cards[0].n_partitions = ARRAY_SIZE(partitions);
	gpu = merge(place)->gpus;
	assert_int_equal(gpu->sharing, DEVICE_MIG);
	assert_int_equal(gpu->n_migs, 2);
	assert_true(str_equal(gpu->migs[0].profile, STR("1g.10gb")));
	assert_int_equal(gpu->migs[0].count, 2);
	assert_int_equal(gpu->migs[0].memory, 9728 * MIB);
	assert_int_equal(gpu->migs[1].count, 1);
	assert_int_equal(gpu[1].sharing, DEVICE_MIG);
	assert_int_equal(gpu[1].n_migs, 0);
}

static void partitions_have_no_more_than_their_card(void **state)
{
	const struct partition_facts partitions[] = {
		{STR("MIG-a"), STR("4g.40gb"), 7, 40 * GIB},
		{STR("MIG-b"), STR("4g.40gb"), 1, 40 * GIB},
		{STR("MIG-c"), STR("1g.10gb"), 8, 1 * GIB},
	};
	struct place *place = *state;
	const struct layout_gpu *gpu;

	place->cards[0].memory = 80 * GIB;
	place->cards[0].partitioned = true;
	place->cards[0].partitions = partitions;
	place->cards[0].n_partitions = ARRAY_SIZE(partitions);
	gpu = merge(place)->gpus;
	assert_int_equal(gpu->n_migs, 2);
	assert_int_equal(gpu->migs[0].memory, AMOUNT_UNKNOWN);
	assert_int_equal(gpu->migs[1].memory, AMOUNT_UNKNOWN);
}

static void add_link(struct place *place, uint32_t card, const char *to, int64_t gb)
{
	place->cards[card].links_known = true;
	place->links[place->facts.n_links++] = (struct link_facts){
		.card = card,
		.switched = !to,
		.to = str_from(to),
		.speed = gb * 1000000000,
	};
}

static int64_t bandwidth(const struct layout *layout, uint32_t a, uint32_t b)
{
	for (size_t i = 0; i < layout->n_links; i++)
		if (layout->links[i].a == a && layout->links[i].b == b)
			return layout->links[i].bandwidth / 1000000000;
	return 0;
}

static const char *address(const struct place *place, uint32_t card)
{
	return place->machine.gpus[card].pci.data;
}

static void links_between_two_cards_sum_up(void **state)
{
	struct place *place = *state;

	add_link(place, 0, address(place, 1), 25);
	add_link(place, 0, address(place, 1), 25);
	add_link(place, 0, address(place, 2), 25);
	add_link(place, 1, address(place, 0), 25);
	add_link(place, 1, address(place, 0), 25);
	add_link(place, 2, address(place, 0), 20);
	merge(place);
	assert_int_equal(bandwidth(&place->merged, 0, 1), 50);
	assert_int_equal(bandwidth(&place->merged, 0, 2), 20);
	assert_int_equal(bandwidth(&place->merged, 1, 2), 0);
}

static void switches_give_what_the_lesser_card_has(void **state)
{
	struct place *place = *state;

	for (int i = 0; i < 18; i++)
		add_link(place, 0, NULL, 25);
	for (int i = 0; i < 12; i++)
		add_link(place, 1, NULL, 25);
	add_link(place, 0, address(place, 1), 1);
	add_link(place, 1, address(place, 0), 1);
	merge(place);
	assert_int_equal(bandwidth(&place->merged, 0, 1), 301);
}

static void links_of_a_card_that_does_not_know_its_own_stay(void **state)
{
	struct place *place = *state;
	int64_t shown = bandwidth(&place->machine.layout, 0, 7);

	assert_true(shown > 0);
	add_link(place, 0, address(place, 1), 25);
	place->cards[1].links_known = true;
	merge(place);
	assert_int_equal(bandwidth(&place->merged, 0, 7), shown);
	assert_int_equal(bandwidth(&place->merged, 0, 1), 0);
}

static void speeds_beyond_all_limits_stay_within(void **state)
{
	struct place *place = *state;

	for (int i = 0; i < 20; i++)
		add_link(place, (uint32_t)i % 2,
			 i < 10 ? NULL : address(place, (uint32_t)(i + 1) % 2),
			 LIMIT_LAYOUT_AMOUNT / 1000000000);
	merge(place);
	assert_true(bandwidth(&place->merged, 0, 1) > 0);
}

static void no_room_is_a_limit(void **state)
{
	struct place *place = *state;
	struct error err = {0};
	struct arena small;

	for (size_t room = 16; room < 4096; room += 256) {
		arena_init(&small, room);
		if (machine_merge(&place->machine.layout, &place->facts, &small, &place->merged,
				  &err) < 0)
			assert_int_equal(err.kind, ERROR_LIMIT);
		arena_clear(&small);
	}
}

#define MERGE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		MERGE_TEST(what_facts_leave_open_stays),
		MERGE_TEST(facts_win_over_what_was_shown),
		MERGE_TEST(a_numa_node_fills_a_gap_where_it_has_cpus),
		MERGE_TEST(a_card_without_facts_is_as_it_was_shown),
		MERGE_TEST(a_card_that_only_the_driver_knows_is_left_out),
		MERGE_TEST(lost_cards_are_those_of_which_nothing_is_told),
		MERGE_TEST(which_card_was_lost_is_unknown_where_more_are_silent),
		MERGE_TEST(another_makers_card_is_not_the_one_that_was_lost),
		MERGE_TEST(a_uuid_of_two_cards_is_of_neither),
		MERGE_TEST(partitions_are_counted_by_profile),
		MERGE_TEST(partitions_have_no_more_than_their_card),
		MERGE_TEST(links_between_two_cards_sum_up),
		MERGE_TEST(switches_give_what_the_lesser_card_has),
		MERGE_TEST(links_of_a_card_that_does_not_know_its_own_stay),
		MERGE_TEST(speeds_beyond_all_limits_stay_within),
		MERGE_TEST(no_room_is_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
