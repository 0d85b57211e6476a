/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A TenantQoS of random values in every field, as it is kept: what is unpacked packs to the same
 * bytes, and its plain parts are the same in all of their bytes, so that none is left out or read
 * in another's place. Lists are empty at times, and texts too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/macros.h"
#include "base/random.h"
#include "cluster/pack/pack.h"

#define ROUNDS 2000
#define MOST   3

struct made {
	struct objective_spec objectives[MOST];
	struct objective_status statuses[MOST];
	struct str texts[2 * MOST];
	struct receipt_pod pods[MOST];
	struct receipt receipts[MOST];
};

static struct random source;

static int64_t any(void)
{
	return (int64_t)random_u64(&source);
}

static uint32_t below(uint32_t bound)
{
	return (uint32_t)random_below(&source, bound);
}

static struct str text(void)
{
	static const char bytes[] = "a text of which some part is taken, now and then none";
	uint32_t first = below(10);

	return below(4) == 0 ? STR_NONE : (struct str){bytes + first, below(40)};
}

/* Those have no padding, or it is zero. */
static void fill_plain(struct tenant_spec *spec)
{
	spec->topology.policy = (enum topology_policy)below(3);
	spec->topology.scope = (enum layout_scope)below(3);
	spec->topology.on_mismatch = (enum topology_mismatch)below(3);
	spec->protection.mode = (enum protection_mode)below(3);
	spec->protection.victim_tiers = (uint32_t)any();
	spec->protection.per_minute = (uint32_t)any();
	spec->protection.cooldown_us = any();
	spec->protection.observation_us = any();
	spec->protection.min_run_us = any();
	spec->preemptible = (struct preemptible_spec){any(), any(), any()};
	spec->isolation.pcie = any();
	spec->isolation.utilisation = any();
	spec->isolation.memory_overshoot = any();
	spec->feedback.mode = (enum feedback_mode)below(3);
	spec->feedback.decrease = any();
	spec->feedback.recover = any();
	spec->feedback.floor = any();
	spec->feedback.evict_offender = below(2);
	spec->feedback.reclaim_idle = below(2);
	spec->feedback.override = any();
	spec->feedback.override_until_us = any();
}

static void fill_spec(struct made *made, struct tenant_spec *spec)
{
	spec->tier = (enum tenant_tier)below(3);
	spec->ceiling = any();
	spec->ceiling_gpus = any();
	spec->qos = (enum pod_qos)below(3);
	spec->qos_denies = below(2);
	spec->priority_classes = made->texts;
	spec->n_priority_classes = below(MOST + 1);
	spec->pending_us = any();
	fill_plain(spec);
	for (int i = 0; i < MOST; i++)
		made->objectives[i] = (struct objective_spec){
			.name = text(),
			.preset = (enum objective_preset)below(5),
			.percentile = (int)below(100),
			.query = text(),
			.threshold = any(),
			.direction = (enum objective_direction)below(2),
			.for_us = any(),
		};
	spec->objectives = made->objectives;
	spec->n_objectives = below(MOST + 1);
}

static void fill_status(struct made *made, struct tenant_status *status)
{
	int64_t *const numbers[] = {&status->observed_generation,
				    &status->ceiling,
				    &status->ceiling_gpus,
				    &status->granted,
				    &status->used,
				    &status->lent,
				    &status->granted_gpus,
				    &status->used_gpus,
				    &status->n_namespaces,
				    &status->throttle.percent,
				    &status->throttle.since_us,
				    &status->throttle.until_us,
				    &status->throttle.futile};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		*numbers[i] = any();
	status->throttle.step = (enum throttle_step)below(THROTTLE_STEP_COUNT);
	status->throttle.signals = (uint32_t)any();
	status->namespaces = &made->texts[MOST];
	status->n_namespaces_listed = below(MOST + 1);
	for (int i = 0; i < MOST; i++)
		made->statuses[i] = (struct objective_status){
			.name = text(),
			.state = (enum objective_state)below(4),
			.reason = (enum objective_reason)below(5),
			.value = any(),
			.since_us = any(),
		};
	status->objectives = made->statuses;
	status->n_objectives = below(MOST + 1);
	for (int i = 0; i < TENANT_CONDITION_COUNT; i++) {
		status->conditions[i].status = (enum condition_status)below(3);
		status->conditions[i].reason = (enum quota_reason)below(5);
		status->conditions[i].since_us = any();
		snprintf(status->conditions[i].message, sizeof(status->conditions[i].message), "%u",
			 below(1000));
	}
}

static struct receipt_pod pod(void)
{
	return (struct receipt_pod){.namespace = text(),
				    .name = text(),
				    .uid = text(),
				    .owner = text(),
				    .tenant = text(),
				    .gpu_memory = any(),
				    .lost = any(),
				    .note = text()};
}

static void fill_receipts(struct made *made)
{
	for (int i = 0; i < MOST; i++)
		made->pods[i] = pod();
	for (int i = 0; i < MOST; i++)
		made->receipts[i] = (struct receipt){
			.id = text(),
			.cause = (enum receipt_cause)below(RECEIPT_CAUSE_COUNT),
			.outcome = (enum receipt_outcome)below(RECEIPT_OUTCOME_COUNT),
			.at_us = any(),
			.settled_us = any(),
			.beneficiary = pod(),
			.objective = text(),
			.node = text(),
			.cards = (uint64_t)any(),
			.held_until_us = any(),
			.proof = text(),
			.limits = text(),
			.message = text(),
			.victims = made->pods,
			.n_victims = below(MOST + 1),
			.spared = &made->pods[1],
			.n_spared = below(MOST),
			.n_spared_all = any(),
		};
}

static void check_plain(const struct tenant_facts *a, const struct tenant_facts *b)
{
	assert_memory_equal(&a->spec.topology, &b->spec.topology, sizeof(a->spec.topology));
	assert_memory_equal(&a->spec.protection, &b->spec.protection, sizeof(a->spec.protection));
	assert_memory_equal(&a->spec.preemptible, &b->spec.preemptible,
			    sizeof(a->spec.preemptible));
	assert_memory_equal(&a->spec.isolation, &b->spec.isolation, sizeof(a->spec.isolation));
	assert_memory_equal(&a->spec.feedback, &b->spec.feedback, sizeof(a->spec.feedback));
	if (!a->has_status)
		return;
	assert_int_equal(a->status.unshown, b->status.unshown);
	assert_memory_equal(&a->status.throttle, &b->status.throttle, sizeof(a->status.throttle));
	assert_int_equal(a->status.n_namespaces_listed, b->status.n_namespaces_listed);
	assert_int_equal(a->spec.n_objectives, b->spec.n_objectives);
}

static void check_tenant(struct made *made, struct arena *arena, struct buf *buf, struct buf *again)
{
	struct tenant_facts facts, seen;

	memset(&facts, 0, sizeof(facts));
	facts.uid = text();
	facts.created_us = any();
	facts.generation = any();
	facts.terminating = below(2);
	facts.invalid = below(2) ? "spec.tier is missing" : NULL;
	facts.has_status = below(4) != 0;
	for (int i = 0; i < 2 * MOST; i++)
		made->texts[i] = text();
	fill_spec(made, &facts.spec);
	fill_status(made, &facts.status);
	facts.status.unshown = below(2);
	pack_tenant(&facts, buf);
	assert_true(unpack_tenant(buf_str(buf), arena, &seen));
	check_plain(&facts, &seen);
	pack_tenant(&seen, again);
	assert_true(str_equal(buf_str(buf), buf_str(again)));
}

static void check_receipts(struct made *made, struct arena *arena, struct buf *buf,
			   struct buf *again)
{
	const struct receipt *seen;
	size_t n, packed = below(MOST + 1);

	fill_receipts(made);
	pack_receipts(made->receipts, packed, buf);
	assert_true(unpack_receipts(buf_str(buf), arena, &seen, &n));
	assert_int_equal(n, packed);
	pack_receipts(seen, n, again);
	assert_true(str_equal(buf_str(buf), buf_str(again)));
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(seen[i].n_victims, made->receipts[i].n_victims);
		assert_int_equal(seen[i].n_spared, made->receipts[i].n_spared);
		assert_int_equal(seen[i].cards, made->receipts[i].cards);
	}
}

static void what_is_kept_is_read_as_it_was(void **state)
{
	struct buf buf CLEANUP(buf_clear) = {0}, again CLEANUP(buf_clear) = {0};
	static struct made made;
	struct arena arena;

	(void)state;
	arena_init(&arena, 1 << 20);
	buf_init(&buf, LIMIT_PACKED);
	buf_init(&again, LIMIT_PACKED);
	random_init(&source, 1);
	for (int i = 0; i < ROUNDS; i++) {
		arena_reset(&arena);
		buf_reset(&buf);
		buf_reset(&again);
		check_tenant(&made, &arena, &buf, &again);
		buf_reset(&buf);
		buf_reset(&again);
		check_receipts(&made, &arena, &buf, &again);
	}
	arena_clear(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_kept_is_read_as_it_was)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
