/* SPDX-License-Identifier: Apache-2.0 */
/* How many may go now: each limit by itself, and what a restart or another order changes: nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "plan/limits.h"

#define NOW    (1000000 * USEC_PER_SEC)
#define AGO(s) (NOW - (s)*USEC_PER_SEC)
#define MOST   4
#define ENFORCED                                                                        \
	((struct protection_spec){PROTECTION_ENFORCE, UINT32_MAX, 6, 60 * USEC_PER_SEC, \
				  120 * USEC_PER_SEC, 60 * USEC_PER_SEC})

static struct receipt_pod pod(const char *owner)
{
	return (struct receipt_pod){
		.namespace = STR("ns"), .uid = str_from(owner), .owner = str_from(owner)};
}

/* One that evicted @n pods of Job/victim for Job/me. */
static struct receipt receipt(enum receipt_outcome outcome, int64_t at_us, size_t n)
{
	static struct receipt_pod victims[RECEIPT_VICTIMS];

	for (size_t i = 0; i < RECEIPT_VICTIMS; i++)
		victims[i] = pod("Job/victim");
	return (struct receipt){.id = STR("r"),
				.outcome = outcome,
				.at_us = at_us,
				.beneficiary = pod("Job/me"),
				.held_until_us = at_us + 120 * USEC_PER_SEC,
				.victims = victims,
				.n_victims = n};
}

static struct limits_answer ask(const struct receipt *own, size_t n, const char *beneficiary)
{
	const struct limits_view view = {
		.own = own, .n_own = n, .nodes = 10, .nodes_not_ready = 2, .now_real_us = NOW};
	const struct protection_spec spec = ENFORCED;
	const struct receipt_pod for_whom = pod(beneficiary);
	struct limits_answer answer;

	limits_decide(&view, &spec, &for_whom, &answer);
	return answer;
}

static void assert_answer(struct limits_answer answer, enum limit_verdict verdict, size_t left,
			  int64_t again_us)
{
	assert_int_equal(answer.verdict, verdict);
	assert_int_equal(answer.left, left);
	assert_int_equal(answer.again_us, again_us);
}

static void without_receipts_the_least_limit_is_left(void **state)
{
	(void)state;
	assert_answer(ask(NULL, 0, "Job/me"), LIMITED_FREE, 6, TIME_NEVER);
}

static void a_minute_has_so_many(void **state)
{
	struct receipt own[] = {receipt(RECEIPT_HELPED, AGO(59), 2),
				receipt(RECEIPT_MOOT, AGO(30), 2),
				receipt(RECEIPT_HELPED, AGO(60), 6)};

	(void)state;
	assert_answer(ask(own, 3, "Job/other"), LIMITED_FREE, 2, TIME_NEVER);
	own[1].n_victims = 4;
	assert_answer(ask(own, 3, "Job/other"), LIMITED_PER_TENANT, 0, AGO(-1));
}

static void what_was_refused_or_planned_evicted_nobody(void **state)
{
	const struct receipt own[] = {receipt(RECEIPT_REFUSED, AGO(1), 6),
				      receipt(RECEIPT_PLANNED, AGO(1), 6)};

	(void)state;
	assert_answer(ask(own, 2, "Job/other"), LIMITED_FREE, 6, TIME_NEVER);
}

static void plans_count_for_who_only_plans(void **state)
{
	const struct receipt own = receipt(RECEIPT_PLANNED, AGO(1), 6);
	const struct limits_view view = {.own = &own, .n_own = 1, .nodes = 1, .now_real_us = NOW};
	struct protection_spec spec = ENFORCED;
	const struct receipt_pod for_whom = pod("Job/other");
	struct limits_answer answer;

	(void)state;
	spec.mode = PROTECTION_DRY_RUN;
	limits_decide(&view, &spec, &for_whom, &answer);
	assert_answer(answer, LIMITED_PER_TENANT, 0, AGO(-59));
}

static void one_beneficiary_waits_for_its_cooldown_and_others_do_not(void **state)
{
	const struct receipt own[] = {receipt(RECEIPT_HELPED, AGO(59), 1)};

	(void)state;
	assert_answer(ask(own, 1, "Job/me"), LIMITED_COOLDOWN, 0, AGO(-1));
	assert_answer(ask(own, 1, "Job/other"), LIMITED_FREE, 5, TIME_NEVER);
}

static void what_did_not_help_waits_twice_as_long_each_time(void **state)
{
	struct receipt own[] = {receipt(RECEIPT_HELPED, AGO(3000), 1),
				receipt(RECEIPT_INEFFECTIVE, AGO(2000), 1),
				receipt(RECEIPT_REFUSED, AGO(500), 1)};

	(void)state;
	own[2].settled_us = AGO(400);
	assert_answer(ask(own, 3, "Job/me"), LIMITED_INEFFECTIVE, 0, AGO(-200));
	/* One that helped begins anew. */
	own[1].outcome = RECEIPT_HELPED;
	assert_answer(ask(own, 3, "Job/me"), LIMITED_FREE, 6, TIME_NEVER);
}

static void open_victims_of_all_tenants_are_in_flight(void **state)
{
	struct receipt others[] = {receipt(RECEIPT_ISSUED, AGO(70), 9),
				   receipt(RECEIPT_HELPED, AGO(70), 60)};
	const struct receipt own[] = {receipt(RECEIPT_ISSUED, AGO(80), 4)};
	struct limits_view view = {.own = own,
				   .n_own = 1,
				   .others = others,
				   .n_others = 2,
				   .nodes = 1,
				   .shrinking = 1,
				   .now_real_us = NOW};
	const struct protection_spec spec = ENFORCED;
	const struct receipt_pod for_whom = pod("Job/other");
	struct limits_answer answer;

	(void)state;
	limits_decide(&view, &spec, &for_whom, &answer);
	assert_answer(answer, LIMITED_FREE, 2, TIME_NEVER);
	view.shrinking = 3;
	limits_decide(&view, &spec, &for_whom, &answer);
	assert_answer(answer, LIMITED_IN_FLIGHT, 0, AGO(-40));
}

static void many_nodes_down_stop_all(void **state)
{
	static const struct {
		uint32_t nodes, down;
		enum limit_verdict verdict;
	} cases[] = {{10, 2, LIMITED_FREE}, {10, 3, LIMITED_BRAKE}, {1, 1, LIMITED_BRAKE},
		     {0, 0, LIMITED_FREE},  {5, 1, LIMITED_FREE},   {4, 1, LIMITED_BRAKE}};
	const struct protection_spec spec = ENFORCED;
	const struct receipt_pod for_whom = pod("Job/me");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct limits_view view = {.nodes = cases[i].nodes,
						 .nodes_not_ready = cases[i].down,
						 .now_real_us = NOW};
		struct limits_answer answer;

		limits_decide(&view, &spec, &for_whom, &answer);
		assert_int_equal(answer.verdict, cases[i].verdict);
	}
}

static void a_full_status_forgets_nothing_for_more(void **state)
{
	static struct receipt own[RECEIPTS_MOST];
	struct limits_answer answer;

	(void)state;
	for (size_t i = 0; i < RECEIPTS_MOST; i++)
		own[i] = receipt(RECEIPT_HELPED, AGO(3599 - (int64_t)i * 50), 1);
	assert_answer(ask(own, RECEIPTS_MOST, "Job/other"), LIMITED_RECEIPTS, 0, AGO(-1));
	answer = ask(own, RECEIPTS_MOST - 1, "Job/other");
	assert_int_equal(answer.verdict, LIMITED_FREE);
}

static void a_workload_is_left_alone_twice_as_long_after_each_loss(void **state)
{
	struct receipt own[MOST] = {
		receipt(RECEIPT_HELPED, AGO(119), 3), receipt(RECEIPT_HELPED, AGO(1000), 1),
		receipt(RECEIPT_REFUSED, AGO(2), 1), receipt(RECEIPT_HELPED, AGO(3600), 1)};
	struct limits_view view = {.own = own, .n_own = 1, .now_real_us = NOW};

	(void)state;
	assert_int_equal(limits_owner_until(&view, STR("ns"), STR("Job/victim")), AGO(-1));
	assert_int_equal(limits_owner_until(&view, STR("other"), STR("Job/victim")), 0);
	assert_int_equal(limits_owner_until(&view, STR("ns"), STR_NONE), 0);
	view.n_own = MOST;
	assert_int_equal(limits_owner_until(&view, STR("ns"), STR("Job/victim")), AGO(-121));
	view.now_real_us = AGO(-121);
	assert_int_equal(limits_owner_until(&view, STR("ns"), STR("Job/victim")), 0);
}

static void help_is_under_way_while_a_receipt_for_the_workload_is_open(void **state)
{
	static const struct {
		enum receipt_outcome outcome;
		const char *owner;
		bool watched;
	} cases[] = {
		{RECEIPT_ISSUED, "Job/me", true},       {RECEIPT_ISSUED, "Job/other", false},
		{RECEIPT_PLANNED, "Job/me", false},     {RECEIPT_HELPED, "Job/me", false},
		{RECEIPT_INEFFECTIVE, "Job/me", false}, {RECEIPT_REFUSED, "Job/me", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct receipt one = receipt(cases[i].outcome, AGO(10), 1);
		const struct limits_view own = {.own = &one, .n_own = 1, .now_real_us = NOW};
		const struct limits_view another = {.others = &one, .n_others = 1};
		struct receipt_pod replica = pod(cases[i].owner);

		replica.uid = STR("another replica");
		assert_int_equal(limits_helps(&own, &replica), cases[i].watched);
		assert_false(limits_helps(&another, &replica));
	}
}

static void what_is_used_is_said_in_a_sentence(void **state)
{
	const struct receipt own[] = {receipt(RECEIPT_ISSUED, AGO(10), 2)};
	const struct limits_view view = {.own = own, .n_own = 1, .now_real_us = NOW};
	const struct protection_spec spec = ENFORCED;
	struct buf text;

	(void)state;
	buf_init(&text, 256);
	limits_describe(&view, &spec, &text);
	assert_true(
		str_equal(buf_str(&text), STR("2 of 6 evictions in a minute, 2 of 16 under way")));
	buf_clear(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_receipts_the_least_limit_is_left),
		cmocka_unit_test(a_minute_has_so_many),
		cmocka_unit_test(what_was_refused_or_planned_evicted_nobody),
		cmocka_unit_test(plans_count_for_who_only_plans),
		cmocka_unit_test(one_beneficiary_waits_for_its_cooldown_and_others_do_not),
		cmocka_unit_test(what_did_not_help_waits_twice_as_long_each_time),
		cmocka_unit_test(open_victims_of_all_tenants_are_in_flight),
		cmocka_unit_test(many_nodes_down_stop_all),
		cmocka_unit_test(a_full_status_forgets_nothing_for_more),
		cmocka_unit_test(a_workload_is_left_alone_twice_as_long_after_each_loss),
		cmocka_unit_test(help_is_under_way_while_a_receipt_for_the_workload_is_open),
		cmocka_unit_test(what_is_used_is_said_in_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
