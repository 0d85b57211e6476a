/* SPDX-License-Identifier: Apache-2.0 */
/* What a TenantQoS says of evictions: the spec, receipts written and read back, the notice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/body.h"
#include "api/pack.h"
#include "base/clock.h"
#include "base/limits.h"
#include "codec/json.h"
#include "recorded.h"
#include "written.h"

#define LEAST "'namespaceSelector':{'matchLabels':{'team':'a'}},'tier':'Training'"

static void read_tenant(struct fixture *f, const char *rest, struct tenant_facts *ret_facts)
{
	struct wire_tenant wire;
	char json[4096];

	snprintf(json, sizeof(json), "{'metadata':{'name':'t','uid':'u'},'spec':{" LEAST "%s}",
		 rest);
	sample_decode(&wire_tenant_schema, json, &f->arena, &wire);
	if (api_pack_tenant(&wire, &f->arena, ret_facts, &f->err) < 0)
		fail_msg("%s: %s", rest, f->err.message);
}

static void what_is_left_out_has_its_default(void **state)
{
	struct fixture f CLEANUP(fixture_clear);
	struct tenant_facts facts;

	(void)state;
	fixture_init(&f);
	read_tenant(&f, "}", &facts);
	assert_int_equal(facts.spec.protection.mode, PROTECTION_OFF);
	assert_int_equal(facts.spec.preemptible.min_run_us, 60 * USEC_PER_SEC);
	read_tenant(&f, ",'protection':{'mode':'Enforce'}}", &facts);
	assert_null(facts.invalid);
	assert_int_equal(facts.spec.protection.mode, PROTECTION_ENFORCE);
	assert_int_equal(facts.spec.protection.victim_tiers, UINT32_MAX);
	assert_int_equal(facts.spec.protection.per_minute, 6);
	assert_int_equal(facts.spec.protection.cooldown_us, 60 * USEC_PER_SEC);
	assert_int_equal(facts.spec.protection.observation_us, 120 * USEC_PER_SEC);
	assert_int_equal(facts.spec.protection.min_run_us, 60 * USEC_PER_SEC);
}

static void what_is_said_is_read(void **state)
{
	struct fixture f CLEANUP(fixture_clear);
	struct tenant_facts facts;

	(void)state;
	fixture_init(&f);
	read_tenant(&f,
		    ",'protection':{'mode':'DryRun','victimTiers':['BestEffort'],"
		    "'evictionsPerMinute':1,'cooldownSeconds':0,'observationSeconds':10,"
		    "'minVictimRunSeconds':86400},'preemptible':{'gracePeriodSeconds':0,"
		    "'minRunSeconds':3600,'checkpointCreditSeconds':7}}",
		    &facts);
	assert_null(facts.invalid);
	assert_int_equal(facts.spec.protection.mode, PROTECTION_DRY_RUN);
	assert_int_equal(facts.spec.protection.victim_tiers, 1U << TIER_BEST_EFFORT);
	assert_int_equal(facts.spec.protection.per_minute, 1);
	assert_int_equal(facts.spec.protection.cooldown_us, 0);
	assert_int_equal(facts.spec.protection.observation_us, 10 * USEC_PER_SEC);
	assert_int_equal(facts.spec.protection.min_run_us, 86400 * USEC_PER_SEC);
	assert_int_equal(facts.spec.preemptible.grace_us, 0);
	assert_int_equal(facts.spec.preemptible.min_run_us, 3600 * USEC_PER_SEC);
	assert_int_equal(facts.spec.preemptible.checkpoint_credit_us, 7 * USEC_PER_SEC);
}

static void what_cannot_be_used_says_why(void **state)
{
	static const struct {
		const char *rest, *invalid;
	} cases[] = {
		{",'protection':{}}", "spec.protection.mode is missing; it is DryRun or Enforce"},
		{",'protection':{'mode':'Always'}}",
		 "spec.protection.mode Always is not known to this version; it may be DryRun or "
		 "Enforce"},
		{",'protection':{'mode':'DryRun','evictionsPerMinute':0}}",
		 "spec.protection.evictionsPerMinute 0 must be between 1 and 60"},
		{",'protection':{'mode':'DryRun','observationSeconds':9}}",
		 "spec.protection.observationSeconds 9 must be between 10 and 3600"},
		{",'protection':{'mode':'DryRun','victimTiers':['Gold']}}",
		 "spec.protection.victimTiers Gold is not known to this version; it may be "
		 "BestEffort, Training or Inference"},
		{",'preemptible':{'minRunSeconds':3601}}",
		 "spec.preemptible.minRunSeconds 3601 must be between 0 and 3600"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f CLEANUP(fixture_clear);
		struct tenant_facts facts;

		fixture_init(&f);
		read_tenant(&f, cases[i].rest, &facts);
		if (!facts.invalid)
			fail_msg("%s", cases[i].rest);
		assert_string_equal(facts.invalid, cases[i].invalid);
	}
}

static void assert_pod_equal(const struct receipt_pod *a, const struct receipt_pod *b)
{
	assert_true(str_equal(a->namespace, b->namespace));
	assert_true(str_equal(a->name, b->name));
	assert_true(str_equal(a->uid, b->uid));
	assert_true(str_equal(a->owner, b->owner));
	assert_true(str_equal(a->tenant, b->tenant));
	assert_int_equal(a->gpu_memory, b->gpu_memory);
	assert_int_equal(a->lost, b->lost);
	assert_true(str_equal(a->note, b->note));
}

static void assert_receipt_equal(const struct receipt *a, const struct receipt *b)
{
	assert_true(str_equal(a->id, b->id));
	assert_int_equal(a->cause, b->cause);
	assert_int_equal(a->outcome, b->outcome);
	assert_int_equal(a->at_us, b->at_us);
	assert_int_equal(a->settled_us, b->settled_us);
	assert_pod_equal(&a->beneficiary, &b->beneficiary);
	assert_true(str_equal(a->objective, b->objective));
	assert_int_equal(a->value, b->value);
	assert_true(str_equal(a->node, b->node));
	assert_int_equal(a->cards, b->cards);
	assert_int_equal(a->held_until_us, b->held_until_us);
	assert_true(str_equal(a->proof, b->proof));
	assert_true(str_equal(a->limits, b->limits));
	assert_true(str_equal(a->message, b->message));
	assert_int_equal(a->n_victims, b->n_victims);
	for (size_t i = 0; i < a->n_victims; i++)
		assert_pod_equal(&a->victims[i], &b->victims[i]);
	assert_int_equal(a->n_spared, b->n_spared);
	for (size_t i = 0; i < a->n_spared; i++)
		assert_pod_equal(&a->spared[i], &b->spared[i]);
	assert_int_equal(a->n_spared_all, b->n_spared_all);
}

/* Everything in it is set. */
static struct receipt whole_receipt(struct receipt_pod victims[2], struct receipt_pod *spared)
{
	victims[0] = (struct receipt_pod){STR("ns"),    STR("v-0"), STR("v-uid"), STR("Job/v"),
					  STR("other"), 12345,      99,           STR("\"gone\"")};
	victims[1] = (struct receipt_pod){.namespace = STR("ns"), .name = STR("v-1")};
	*spared = (struct receipt_pod){
		.namespace = STR("ns"), .name = STR("s"), .note = STR("its tier is not lower")};
	return (struct receipt){
		.id = STR("pending-u-1"),
		.cause = RECEIPT_OBJECTIVE,
		.outcome = RECEIPT_HELPED,
		.at_us = 1767323045000001,
		.settled_us = 1767323046123456,
		.beneficiary = {.namespace = STR("a"),
				.name = STR("b"),
				.uid = STR("u"),
				.owner = STR("ReplicaSet/b"),
				.gpu_memory = 1 << 30},
		.objective = STR("ttft"),
		.value = 512340,
		.node = STR("n1"),
		.cards = UINT64_C(1) << 63 | 5,
		.held_until_us = 1767323165000001,
		.proof = STR("p"),
		.limits = STR("l"),
		.message = STR("m"),
		.victims = victims,
		.n_victims = 2,
		.spared = spared,
		.n_spared = 1,
		.n_spared_all = 12,
	};
}

static void decode_receipts(struct fixture *f, const struct receipt *receipts, size_t n,
			    struct tenant_facts *ret_facts)
{
	struct wire_tenant wire;

	buf_reset(&f->text);
	api_body_tenant_evictions(&f->text, STR("t"), STR("u"), receipts, n);
	assert_false(f->text.overflowed);
	if (json_decode(&wire_tenant_schema, buf_str(&f->text), &f->arena, &wire, &f->err) < 0)
		fail_msg("%s", f->err.message);
	assert_int_equal(api_pack_tenant(&wire, &f->arena, ret_facts, &f->err), 0);
}

static void receipts_are_read_back_as_they_were_written(void **state)
{
	struct receipt_pod victims[2], spared;
	struct fixture f CLEANUP(fixture_clear);
	struct tenant_facts facts;
	struct receipt receipts[2];

	(void)state;
	fixture_init(&f);
	receipts[0] = whole_receipt(victims, &spared);
	receipts[1] = (struct receipt){.id = STR("x"), .at_us = 1767323045000000};
	for (int i = 0; i < RECEIPT_CAUSE_COUNT; i++) {
		receipts[1].cause = (enum receipt_cause)i;
		receipts[1].outcome = (enum receipt_outcome)i;
		decode_receipts(&f, receipts, 2, &facts);
		/* The rest of the status was not written yet. */
		assert_false(facts.has_status);
		assert_int_equal(facts.status.n_receipts, 2);
		assert_receipt_equal(&facts.status.receipts[0], &receipts[0]);
		assert_receipt_equal(&facts.status.receipts[1], &receipts[1]);
	}
}

static void what_cannot_be_read_is_passed_over(void **state)
{
	static const char *const bad[] = {
		"'id':'','cause':'PendingPod','outcome':'Issued','time':'2026-01-02T03:04:05Z'",
		"'id':'a','cause':'Hunger','outcome':'Issued','time':'2026-01-02T03:04:05Z'",
		"'id':'a','cause':'PendingPod','outcome':'Maybe','time':'2026-01-02T03:04:05Z'",
		"'id':'a','cause':'PendingPod','outcome':'Issued'",
		"'id':'a','cause':'PendingPod','outcome':'Issued','time':'2026-01-02T03:04:05Z',"
		"'cards':'64'",
		"'id':'a','cause':'PendingPod','outcome':'Issued','time':'2026-01-02T03:04:05Z',"
		"'cards':'0,,1'",
		"'id':'a','cause':'PendingPod','outcome':'Issued','time':'2026-01-02T03:04:05Z',"
		"'sparedCount':-1",
		"'id':'a','cause':'PendingPod','outcome':'Issued','time':'2026-01-02T03:04:05Z',"
		"'victims':[{'lostGPUSeconds':-1}]",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct fixture f CLEANUP(fixture_clear);
		struct tenant_facts facts;
		char rest[1024];

		fixture_init(&f);
		snprintf(rest, sizeof(rest),
			 "},'status':{'evictions':[{%s},{'id':'b','cause':'PendingPod',"
			 "'outcome':'Issued','time':'2026-01-02T03:04:05Z'}]}",
			 bad[i]);
		read_tenant(&f, rest, &facts);
		if (facts.status.n_receipts != 1)
			fail_msg("%s", bad[i]);
		assert_true(str_equal(facts.status.receipts[0].id, STR("b")));
	}
}

static void a_notice_says_when_and_why(void **state)
{
	(void)state;
	api_body_eviction_notice(&body, STR("u"), STR("mismatch-u-1"), 1767323045000001);
	assert_body("{'metadata':{'uid':'u','annotations':{'gpuqos.io/eviction-notice':"
		    "'2026-01-02T03:04:05Z mismatch-u-1'}}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_left_out_has_its_default),
		cmocka_unit_test(what_is_said_is_read),
		cmocka_unit_test(what_cannot_be_used_says_why),
		cmocka_unit_test(receipts_are_read_back_as_they_were_written),
		cmocka_unit_test(what_cannot_be_read_is_passed_over),
		cmocka_unit_test_setup_teardown(a_notice_says_when_and_why, body_setup,
						body_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
