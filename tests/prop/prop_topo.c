/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Domains, the best set and what is certain, against brute force: every set of cards is looked at,
 * by the definitions alone (lib/topo_oracle.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/macros.h"
#include "lib/layouts.h"
#include "lib/topo_oracle.h"
#include "topo/certain.h"
#include "topo/score.h"

#define SEEDS      400
#define SOAK_SEEDS 20000
#define CARDS      9  /* of a random machine */
#define MANY_CARDS 40 /* of one with more than 16 */
#define NO_SCOPE   TOPO_SCOPES

/* One machine, and what is true of each set of its cards. */
struct world {
	struct machine machine;
	struct topo *topo;
	uint64_t seed, usable;
	struct oracle_score scores[1 << 16];
	unsigned char in_one[TOPO_SCOPES][1 << 16]; /* enum oracle_answer */
};

static struct world world;
static size_t seen[TOPO_VERDICT_COUNT]; /* how often a verdict was met */

static void fail_world(const char *what, uint64_t free, uint32_t count, unsigned int scope)
{
	fail_msg("seed %llu: %s: %u of %llx in scope %u", (unsigned long long)world.seed, what,
		 count, (unsigned long long)free, scope);
}

static uint64_t seeds(void)
{
	return getenv("GPUQOS_SOAK") ? SOAK_SEEDS : SEEDS;
}

/* After the machine was built. */
static void look_at_all_sets(void)
{
	const struct layout *layout = &world.machine.layout;

	world.topo = topo_new(layout);
	world.usable = 0;
	for (size_t i = 0; i < layout->n_gpus; i++)
		if (layout->gpus[i].health != LAYOUT_HEALTH_FAILED)
			world.usable |= UINT64_C(1) << i;
	for (uint64_t set = 0; set < UINT64_C(1) << layout->n_gpus; set++) {
		world.scores[set] = oracle_score(layout, set);
		for (unsigned int scope = 0; scope < TOPO_SCOPES; scope++)
			world.in_one[scope][set] = (unsigned char)oracle_in_one_domain(
				layout, (enum layout_scope)scope, set);
	}
}

/* The machine of the world's seed; @random goes on from there. */
static void begin(struct random *random)
{
	random_init(random, world.seed);
	machine_random(&world.machine, random, CARDS);
	look_at_all_sets();
}

static void forget(void)
{
	topo_free(world.topo);
	world.topo = NULL;
}

/* --- domains and scores */

static enum topo_answer expected_answer(enum oracle_answer answer)
{
	return answer == ORACLE_YES ? TOPO_YES : answer == ORACLE_NO ? TOPO_NO : TOPO_UNKNOWN;
}

static void check_set(uint64_t set)
{
	struct topo_terms terms = topo_score_terms(topo_score(world.topo, set));
	const int64_t *sums = world.scores[set].sums;

	if (terms.nvlink != sums[0] || terms.pcie != sums[1] || terms.numa != sums[2])
		fail_world("score", set, topo_set_count(set), NO_SCOPE);
	for (unsigned int scope = 0; scope < TOPO_SCOPES; scope++)
		if (topo_in_one_domain(world.topo, (enum layout_scope)scope, set) !=
		    expected_answer((enum oracle_answer)world.in_one[scope][set]))
			fail_world("domain", set, topo_set_count(set), scope);
}

static void check_domains(unsigned int scope)
{
	const struct topo *topo = world.topo;

	for (uint32_t a = 0; a < topo->n_cards; a++) {
		for (uint32_t b = 0; b < a; b++) {
			uint32_t one = topo_domain(topo, (enum layout_scope)scope, a);
			uint32_t other = topo_domain(topo, (enum layout_scope)scope, b);
			unsigned char in_one = world.in_one[scope][topo_set_of(a) | topo_set_of(b)];

			if ((one == LAYOUT_NONE || other == LAYOUT_NONE) !=
			    (in_one == ORACLE_UNKNOWN))
				fail_world("unknown", a, b, scope);
			if (in_one == ORACLE_YES && one != other)
				fail_world("together", a, b, scope);
			if (in_one == ORACLE_NO && one == other && scope != LAYOUT_NVLINK)
				fail_world("apart", a, b, scope);
		}
	}
}

static void domains_and_scores_are_what_their_headers_say(void **state)
{
	(void)state;
	for (world.seed = 1; world.seed <= seeds(); world.seed++) {
		struct random random;

		begin(&random);
		for (uint64_t set = 0; set < UINT64_C(1) << world.topo->n_cards; set++)
			check_set(set);
		for (unsigned int scope = 0; scope < TOPO_SCOPES; scope++)
			check_domains(scope);
		forget();
	}
}

/* --- the best set */

static bool wins(uint64_t free, uint64_t a, uint64_t b)
{
	int order = oracle_compare(&world.scores[a], &world.scores[b]);

	if (order == 0)
		order = oracle_compare(&world.scores[free & ~a], &world.scores[free & ~b]);
	for (size_t i = 0; order == 0 && i < CARDS + 16; i++)
		order = (int)(a >> i & 1) - (int)(b >> i & 1);
	return order > 0;
}

/* By all subsets of @free. */
static bool brute_force(uint64_t free, uint32_t count, unsigned int scope, uint64_t *ret_set)
{
	uint64_t set = free;
	bool found = false;

	for (;;) {
		if (topo_set_count(set) == count &&
		    (scope == NO_SCOPE || world.in_one[scope][set] == ORACLE_YES) &&
		    (!found || wins(free, set, *ret_set))) {
			*ret_set = set;
			found = true;
		}
		if (set == 0)
			return found;
		set = (set - 1) & free;
	}
}

static void check_best(uint64_t free, uint32_t count, unsigned int scope)
{
	struct topo_ask ask = {free, count, scope != NO_SCOPE,
			       scope == NO_SCOPE ? LAYOUT_NUMA : (enum layout_scope)scope};
	uint64_t best = 0, set = 0;
	enum topo_found found = topo_best_set(world.topo, &ask, &set);

	if (found !=
	    (brute_force(free & world.usable, count, scope, &best) ? TOPO_BEST : TOPO_NONE))
		fail_world("found", free, count, scope);
	if (found == TOPO_BEST && set != best)
		fail_world("best", free, count, scope);
}

static void check_all_asks(uint64_t free)
{
	for (uint32_t count = 0; count <= topo_set_count(free) + 1; count++)
		for (unsigned int scope = 0; scope <= NO_SCOPE; scope++)
			check_best(free, count, scope);
}

static void the_best_set_of_a_random_machine_is_that_of_brute_force(void **state)
{
	(void)state;
	for (world.seed = 1; world.seed <= seeds(); world.seed++) {
		struct random random;

		begin(&random);
		check_all_asks(topo_set_below(world.topo->n_cards));
		for (int i = 0; i < 4; i++)
			check_all_asks(random_u64(&random) & topo_set_below(world.topo->n_cards));
		forget();
	}
}

static void check_machine(void (*build)(struct machine *), int n_free)
{
	struct random random;

	random_init(&random, 1);
	build(&world.machine);
	look_at_all_sets();
	check_all_asks(topo_set_below(world.topo->n_cards));
	for (int i = 0; i < n_free; i++)
		check_all_asks(random_u64(&random) & topo_set_below(world.topo->n_cards));
	forget();
}

static void the_best_set_of_known_machines_is_that_of_brute_force(void **state)
{
	(void)state;
	world.seed = 0;
	check_machine(machine_dgx2, 40);
	check_machine(machine_dgx_h100, 200);
	check_machine(machine_pcie_box, 200);
	check_machine(machine_dgx1, 200);
}

/* --- more than 16 cards */

/* @set is what was asked for, and no exchange of one card for another makes it better. */
static void check_many(const struct topo_ask *ask, uint64_t set, enum topo_found found)
{
	const struct layout *layout = &world.machine.layout;
	uint64_t rest = ask->free & world.topo->usable & ~set;
	struct oracle_score score = oracle_score(layout, set);

	if (topo_set_count(set) != ask->count || set & ~ask->free || set & ~world.topo->usable)
		fail_world("no such set", set, ask->count, ask->scope);
	if (ask->scoped && oracle_in_one_domain(layout, ask->scope, set) != ORACLE_YES)
		fail_world("not in one domain", set, ask->count, ask->scope);
	topo_set_for_each(out, set) {
		topo_set_for_each(in, rest) {
			uint64_t other = (set & ~(UINT64_C(1) << out)) | UINT64_C(1) << in;
			struct oracle_score better = oracle_score(layout, other);

			if (oracle_compare(&better, &score) > 0 &&
			    (!ask->scoped ||
			     oracle_in_one_domain(layout, ask->scope, other) == ORACLE_YES))
				fail_world(found == TOPO_BEST ? "not the best" : "not settled", set,
					   ask->count, ask->scope);
		}
	}
}

static enum topo_found check_many_cards(struct random *random)
{
	unsigned int scope = (unsigned int)random_below(random, TOPO_SCOPES + 1);
	struct topo_ask ask = {
		.free = topo_set_below(world.topo->n_cards) & ~(random_u64(random) & 0x421084),
		.count = 1 + (uint32_t)random_below(random, 12),
		.scoped = scope != NO_SCOPE,
		.scope = scope == NO_SCOPE ? LAYOUT_NUMA : (enum layout_scope)scope,
	};
	uint64_t set = 0;
	enum topo_found found = topo_best_set(world.topo, &ask, &set);

	if (found != TOPO_NONE)
		check_many(&ask, set, found);
	else if (ask.scope != LAYOUT_NVLINK &&
		 topo_largest_in_one(world.topo, ask.scope, ask.free & world.topo->usable, false) >=
			 ask.count)
		fail_world("missed", ask.free, ask.count, ask.scope);
	return found;
}

static void the_set_of_many_cards_cannot_be_made_better_by_one_exchange(void **state)
{
	size_t cut_short = 0;

	(void)state;
	for (world.seed = 1; world.seed <= seeds(); world.seed++) {
		struct random random;

		random_init(&random, world.seed);
		machine_random(&world.machine, &random, MANY_CARDS);
		world.topo = topo_new(&world.machine.layout);
		cut_short += check_many_cards(&random) == TOPO_GOOD;
		forget();
	}
	assert_true(cut_short > seeds() / 20);
}

/* --- what is certain */

static bool has_unknown_numa(uint64_t set)
{
	topo_set_for_each(card, set)
		if (world.machine.layout.gpus[card].numa == LAYOUT_NONE)
			return true;
	return false;
}

/* Whether kubelet may give @set to the pod. */
static bool may_be_given(const struct topo_request *request, uint64_t set)
{
	const struct layout_kubelet *kubelet = &world.machine.layout.kubelet;

	if (topo_set_count(set) != request->count || set & ~request->free)
		return false;
	if (kubelet->policy != LAYOUT_POLICY_SINGLE_NUMA || !kubelet->static_cpu ||
	    !request->guaranteed || !request->whole_cpus || has_unknown_numa(request->free) ||
	    (!kubelet->pod_scope && request->most != request->count))
		return true;
	return world.in_one[LAYOUT_NUMA][set] == ORACLE_YES;
}

static bool is_good(uint64_t set, unsigned int scope)
{
	return !(set & ~world.usable) && world.in_one[scope][set] == ORACLE_YES;
}

/* Every choice is good, and there is one; a failed card that nobody withdrew spoils them all. */
static bool all_choices_good(const struct topo_request *request, unsigned int scope)
{
	uint64_t set = request->free;
	bool any = false;

	if (request->named != 0)
		return is_good(request->named, scope);
	if (request->count > 0 && request->free & ~world.usable)
		return false;
	for (;;) {
		if (may_be_given(request, set)) {
			any = true;
			if (!is_good(set, scope))
				return false;
		}
		if (set == 0)
			return any;
		set = (set - 1) & request->free;
	}
}

/* Whether hints admit @count cards, whichever pending ones of the free are gone by then. */
static bool admitted_after_all(const struct topo_request *request)
{
	const struct layout *layout = &world.machine.layout;
	uint64_t gone = request->free;

	for (;;) {
		if (topo_set_count(gone) == request->pending &&
		    !oracle_admits(layout, request->free & ~gone, request->count))
			return false;
		if (gone == 0)
			return true;
		gone = (gone - 1) & request->free;
	}
}

static bool hints_decide(void)
{
	enum layout_policy policy = world.machine.layout.kubelet.policy;

	return policy == LAYOUT_POLICY_SINGLE_NUMA || policy == LAYOUT_POLICY_RESTRICTED;
}

/* What hints say of all cards together and of the largest container; see topo/certain.h. */
static void check_admission(const struct topo_request *request, enum topo_answer admits)
{
	const struct layout *layout = &world.machine.layout;
	bool apart = !layout->kubelet.pod_scope && request->most < request->count;
	/* containers that are aligned each by itself are for prop_place */
	bool exact = layout->kubelet.policy == LAYOUT_POLICY_SINGLE_NUMA ||
		     (request->pending == 0 && !apart);
	enum topo_answer expected = TOPO_YES;

	if (layout->kubelet.policy == LAYOUT_POLICY_UNKNOWN)
		expected = TOPO_UNKNOWN;
	else if (hints_decide() &&
		 !oracle_admits(layout, request->free, apart ? request->most : request->count))
		expected = has_unknown_numa(request->free) ? TOPO_UNKNOWN : TOPO_NO;
	else if (hints_decide() && !admitted_after_all(request))
		expected = TOPO_UNKNOWN;
	if (admits != expected && (exact || expected != TOPO_YES || admits != TOPO_UNKNOWN))
		fail_world("admission", request->free, request->count, NO_SCOPE);
}

/* Whatever is unknown: no choice lies in one domain. */
static void check_spans(uint64_t free, uint32_t count, unsigned int scope)
{
	for (uint64_t set = free; set != 0; set = (set - 1) & free)
		if (topo_set_count(set) == count && world.in_one[scope][set] != ORACLE_NO)
			fail_world("would not span", set, count, scope);
}

static void check_certain(const struct topo_request *request)
{
	enum topo_answer admits = topo_kubelet_admits(world.topo, request);

	check_admission(request, admits);
	for (unsigned int scope = 0; scope < TOPO_SCOPES; scope++) {
		enum topo_verdict verdict =
			topo_certain(world.topo, (enum layout_scope)scope, request);
		bool room = topo_set_count(request->free) >= request->count + request->pending;
		bool expected = all_choices_good(request, scope) &&
				(request->named != 0 || (room && admits != TOPO_NO));

		seen[verdict]++;
		if (topo_is_certain(verdict) != expected)
			fail_world(topo_verdict_reason(verdict), request->free, request->count,
				   scope);
		if (verdict == TOPO_CERTAIN_SPANS)
			check_spans(request->free, request->count, scope);
	}
}

static size_t n_leaving; /* certain, with some that leave */

/* It is certain exactly where it is whichever of those that leave are gone. */
static void check_leaving(const struct topo_request *request)
{
	for (unsigned int scope = 0; scope < TOPO_SCOPES; scope++) {
		enum topo_verdict verdict =
			topo_certain(world.topo, (enum layout_scope)scope, request);
		enum topo_answer admits = topo_kubelet_admits(world.topo, request);
		uint64_t there = request->leaving;
		bool certain = true, admitted = true;

		for (;;) {
			struct topo_request now = *request;

			now.free &= ~there;
			now.leaving = 0;
			certain &= topo_is_certain(
				topo_certain(world.topo, (enum layout_scope)scope, &now));
			admitted &= topo_kubelet_admits(world.topo, &now) == TOPO_YES;
			if (there == 0)
				break;
			there = (there - 1) & request->leaving;
		}
		if (topo_is_certain(verdict) != certain || (admits == TOPO_YES) != admitted)
			fail_world("those that leave", request->free, request->count, scope);
		n_leaving += certain && request->leaving != 0;
	}
}

static void check_requests(struct random *random)
{
	uint64_t all = topo_set_below(world.topo->n_cards);

	for (int i = 0; i < 40; i++) {
		struct topo_request request = {
			.free = random_below(random, 4) == 0 ? all : random_u64(random) & all,
			.guaranteed = random_below(random, 3) > 0,
			.whole_cpus = random_below(random, 3) > 0,
		};

		if (random_below(random, 3) > 0)
			request.free &= world.usable;
		request.count = (uint32_t)random_below(random, topo_set_count(request.free) + 2);
		request.most = request.count;
		if (random_below(random, 3) == 0)
			request.pending = (uint32_t)random_below(
				random, MIN(4, 1 + topo_set_count(request.free)));
		if (random_below(random, 4) == 0)
			request.most = (request.count + 1) / 2;
		if (random_below(random, 8) == 0) {
			request.named = random_u64(random) & all;
			request.count = request.most = topo_set_count(request.named);
		}
		check_certain(&request);
		request.leaving = request.free & random_u64(random) & random_u64(random);
		check_leaving(&request);
	}
}

static void what_is_certain_holds_for_every_choice_of_kubelet(void **state)
{
	(void)state;
	for (world.seed = 1; world.seed <= seeds(); world.seed++) {
		struct random random;

		random_init(&random, world.seed);
		if (world.seed % 4 == 0)
			machine_pcie_box(&world.machine);
		else
			machine_random(&world.machine, &random, CARDS);
		if (random_below(&random, 2) == 0)
			world.machine.layout.kubelet = (struct layout_kubelet){
				LAYOUT_POLICY_SINGLE_NUMA, random_below(&random, 2) == 0, true};
		look_at_all_sets();
		check_requests(&random);
		forget();
	}
	for (unsigned int verdict = 0; verdict < TOPO_VERDICT_COUNT; verdict++)
		if (seen[verdict] == 0)
			fail_msg("%s was never met",
				 topo_verdict_reason((enum topo_verdict)verdict));
	assert_true(n_leaving > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(domains_and_scores_are_what_their_headers_say),
		cmocka_unit_test(the_best_set_of_a_random_machine_is_that_of_brute_force),
		cmocka_unit_test(the_best_set_of_known_machines_is_that_of_brute_force),
		cmocka_unit_test(the_set_of_many_cards_cannot_be_made_better_by_one_exchange),
		cmocka_unit_test(what_is_certain_holds_for_every_choice_of_kubelet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
