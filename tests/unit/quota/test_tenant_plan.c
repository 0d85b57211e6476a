/* SPDX-License-Identifier: Apache-2.0 */
/* A TenantQoS's status and bindings, case by case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "quota/tenant_plan.h"

/* STR() for what is static. */
#define TEXT(literal)                          \
	{                                      \
		(literal), sizeof(literal) - 1 \
	}

#define NOW (1700000000 * USEC_PER_SEC)

static const struct str team = TEXT("vision");
static const struct label_requirement by_team[] = {{TEXT("team"), LABEL_IN, &team, 1}};
static const struct str namespaces[] = {TEXT("b"), TEXT("a"), TEXT("c")};

/* A world of one tenant: what the tests change and what follows from it. */
struct world {
	struct tenant_facts facts;
	struct tenant_plan_view view;
	struct binding_facts bindings[TENANT_BINDING_COUNT];
	struct arena arena;
	struct tenant_plan plan;
};

static void decide(struct world *w)
{
	struct error err;

	assert_int_equal(tenant_plan_decide(&w->view, &w->arena, &w->plan, &err), 0);
}

/* Makes the server hold what the plan says. */
static void settle(struct world *w)
{
	for (int i = 0; i < TENANT_BINDING_COUNT; i++) {
		const struct tenant_binding_plan *binding = &w->plan.bindings[i];

		if (binding->remove)
			w->view.bindings[i] = NULL;
		if (!binding->write)
			continue;
		w->bindings[i] = (struct binding_facts){
			.name = binding->name, .owner_uid = w->facts.uid, .spec = binding->spec};
		w->view.bindings[i] = &w->bindings[i];
	}
	if (w->plan.write_status) {
		w->facts.status = w->plan.status;
		w->facts.has_status = true;
	}
}

static bool writes_a_binding(const struct world *w)
{
	for (int i = 0; i < TENANT_BINDING_COUNT; i++)
		if (w->plan.bindings[i].write || w->plan.bindings[i].remove)
			return true;
	return false;
}

static void converge(struct world *w)
{
	for (int i = 0; i < 3; i++) {
		decide(w);
		settle(w);
	}
	decide(w);
	assert_false(w->plan.write_status || w->plan.status_urgent || writes_a_binding(w));
}

static int setup(void **state)
{
	static struct world w;

	w = (struct world){
		.facts = {.name = STR("vision"),
			  .uid = STR("uid-1"),
			  .generation = 4,
			  .spec = {.namespaces = {by_team, 1},
				   .ceiling = 640 * GIB,
				   .ceiling_gpus = 8,
				   .qos = POD_QOS_GUARANTEED}},
		.view = {.sums = {.granted = 320 * GIB, .granted_gpus = 4, .used = 80 * GIB},
			 .namespaces = namespaces,
			 .n_namespaces = ARRAY_SIZE(namespaces),
			 .now_real_us = NOW + 5},
	};
	w.view.facts = &w.facts;
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	arena_clear(&w->arena);
	return 0;
}

static void check(const struct world *w, enum tenant_condition which, enum condition_status status,
		  enum quota_reason reason, const char *part)
{
	const struct condition *c = &w->plan.status.conditions[which];

	assert_string_equal(quota_reason_text(c->reason), quota_reason_text(reason));
	assert_int_equal(c->status, status);
	if (!strstr(c->message, part))
		fail_msg("\"%s\" is not in \"%s\"", part, c->message);
}

static const struct tenant_binding_plan *binding(const struct world *w, enum tenant_binding which)
{
	return &w->plan.bindings[which];
}

static void assert_str(struct str s, const char *text)
{
	assert_true(str_equal(s, str_from(text)));
}

/* --- bindings */

static void test_each_binding_has_its_name_and_selector(void **state)
{
	struct world *w = *state;
	const struct tenant_binding_plan *pods = binding(w, TENANT_BINDING_PODS);
	const struct tenant_binding_plan *qos = binding(w, TENANT_BINDING_QOS);
	const struct tenant_binding_plan *labels = binding(w, TENANT_BINDING_LABELS);

	decide(w);
	assert_true(pods->write && qos->write && labels->write);
	assert_false(pods->replace || qos->replace || labels->replace);
	assert_str(pods->name, "gpuqos-tenant-vision");
	assert_str(qos->name, "gpuqos-tenant-qos-vision");
	assert_str(labels->name, "gpuqos-tenant-labels-vision");
	assert_str(pods->spec.policy, "gpuqos-tenant-pods");
	assert_str(pods->spec.param, "vision");
	assert_true(pods->spec.denies && labels->spec.denies);
	assert_str(pods->spec.namespaces.requirements[0].key, "gpuqos.io/tenant");
	assert_str(pods->spec.namespaces.requirements[0].values[0], "vision");
	assert_int_equal(pods->spec.objects.n_requirements, 0);
	assert_int_equal(labels->spec.namespaces.n_requirements, 0);
	assert_true(label_selector_equal(&labels->spec.objects, &w->facts.spec.namespaces));
}

static void test_the_qos_class_warns_or_denies_or_is_not_asked_for(void **state)
{
	struct world *w = *state;
	const struct tenant_binding_plan *qos = binding(w, TENANT_BINDING_QOS);

	converge(w);
	assert_false(qos->spec.denies);
	w->facts.spec.qos_denies = true;
	decide(w);
	assert_true(qos->write && qos->spec.denies && !qos->replace);
	converge(w);
	w->facts.spec.qos = POD_QOS_ANY;
	decide(w);
	assert_true(qos->remove);
	assert_false(qos->write);
	converge(w);
	assert_null(w->view.bindings[TENANT_BINDING_QOS]);
}

static void test_another_s_binding_is_not_deleted(void **state)
{
	struct world *w = *state;

	converge(w);
	w->bindings[TENANT_BINDING_QOS].owner_uid = STR("uid-2");
	w->facts.spec.qos = POD_QOS_ANY;
	decide(w);
	assert_false(binding(w, TENANT_BINDING_QOS)->remove);
}

static void test_what_others_made_of_a_binding_is_put_right(void **state)
{
	struct world *w = *state;
	const struct tenant_binding_plan *pods = binding(w, TENANT_BINDING_PODS);
	struct binding_facts *seen = &w->bindings[TENANT_BINDING_PODS];

	converge(w);
	seen->spec.denies = false;
	decide(w);
	assert_true(pods->write && !pods->replace);
	seen->spec.denies = seen->other = true;
	decide(w);
	assert_true(pods->write && pods->replace);
	seen->other = false;
	seen->owner_uid = STR("uid-2");
	decide(w);
	assert_true(pods->write && pods->replace);
	seen->owner_uid = STR_NONE;
	decide(w);
	assert_true(pods->write && !pods->replace);
	w->view.bindings[TENANT_BINDING_PODS] = NULL;
	decide(w);
	assert_true(pods->write && !pods->replace);
	check(w, TENANT_READY, CONDITION_FALSE, QUOTA_REASON_PENDING,
	      "gpuqos-tenant-vision is about to be written");
}

static void test_a_selector_that_changed_is_written(void **state)
{
	static const struct label_requirement other[] = {{TEXT("team"), LABEL_EXISTS, NULL, 0}};
	struct world *w = *state;

	converge(w);
	w->facts.spec.namespaces.requirements = other;
	decide(w);
	assert_true(binding(w, TENANT_BINDING_LABELS)->write);
	assert_false(binding(w, TENANT_BINDING_PODS)->write);
}

/* --- status */

static void test_the_status_of_a_tenant_that_is_enforced(void **state)
{
	struct world *w = *state;
	const struct tenant_status *status = &w->plan.status;

	converge(w);
	assert_int_equal(status->observed_generation, 4);
	assert_int_equal(status->ceiling, 640 * GIB);
	assert_int_equal(status->ceiling_gpus, 8);
	assert_int_equal(status->granted, 320 * GIB);
	assert_int_equal(status->n_namespaces, 3);
	assert_int_equal(status->n_namespaces_listed, 3);
	assert_str(status->namespaces[0], "a");
	assert_str(status->namespaces[2], "c");
	check(w, TENANT_ACCEPTED, CONDITION_TRUE, QUOTA_REASON_ACCEPTED, "governs all");
	check(w, TENANT_READY, CONDITION_TRUE, QUOTA_REASON_ENFORCED, "all 3 namespaces");
	check(w, TENANT_EXCEEDED, CONDITION_FALSE, QUOTA_REASON_WITHIN_LIMIT, "within the ceiling");
	assert_int_equal(status->conditions[TENANT_READY].since_us, NOW);
	w->view.n_namespaces = 1;
	decide(w);
	check(w, TENANT_READY, CONDITION_TRUE, QUOTA_REASON_ENFORCED, "in its one namespace");
	w->view.n_namespaces = 0;
	decide(w);
	check(w, TENANT_READY, CONDITION_TRUE, QUOTA_REASON_ENFORCED, "It has no namespaces yet.");
}

static void test_an_invalid_one_allows_nothing_and_frees_nobody(void **state)
{
	struct world *w = *state;

	converge(w);
	w->facts.invalid = "ceiling.gpuMemory is no quantity";
	w->facts.spec.qos = POD_QOS_ANY;
	w->view.bindings[TENANT_BINDING_PODS] = NULL;
	decide(w);
	assert_false(writes_a_binding(w));
	assert_int_equal(w->plan.status.ceiling, 0);
	assert_int_equal(w->plan.status.ceiling_gpus, 0);
	check(w, TENANT_ACCEPTED, CONDITION_FALSE, QUOTA_REASON_INVALID,
	      "ceiling.gpuMemory is no quantity");
	check(w, TENANT_READY, CONDITION_FALSE, QUOTA_REASON_NOT_ACCEPTED, "see condition");
	check(w, TENANT_EXCEEDED, CONDITION_UNKNOWN, QUOTA_REASON_NOT_ACCEPTED, "not in force");
	assert_true(w->plan.status_urgent);
}

static void test_one_that_is_being_deleted_likewise(void **state)
{
	struct world *w = *state;

	w->facts.terminating = true;
	decide(w);
	assert_false(writes_a_binding(w));
	check(w, TENANT_ACCEPTED, CONDITION_FALSE, QUOTA_REASON_TERMINATING, "being deleted");
}

static void test_namespaces_of_an_older_one_are_a_conflict(void **state)
{
	struct world *w = *state;

	w->view.elsewhere = (struct tenant_some){2, STR("shared")};
	w->view.elsewhere_tenant = STR("speech");
	converge(w);
	check(w, TENANT_ACCEPTED, CONDITION_FALSE, QUOTA_REASON_NAMESPACE_CONFLICT,
	      "2 of those that this one selects belong to others, as shared does to speech");
	check(w, TENANT_READY, CONDITION_TRUE, QUOTA_REASON_ENFORCED, "3");
	w->view.n_namespaces = 0;
	decide(w);
	check(w, TENANT_READY, CONDITION_FALSE, QUOTA_REASON_NOT_ACCEPTED, "");
}

static void test_ready_waits_for_the_namespaces(void **state)
{
	struct world *w = *state;

	w->view.unenforced = (struct tenant_some){1, STR("b")};
	converge(w);
	check(w, TENANT_READY, CONDITION_FALSE, QUOTA_REASON_PENDING,
	      "1 of 3 namespaces the API server does not enforce yet");
	check(w, TENANT_READY, CONDITION_FALSE, QUOTA_REASON_PENDING, "b among them");
}

static void test_more_than_the_ceiling_is_exceeded(void **state)
{
	struct world *w = *state;

	w->view.sums.used = 641 * GIB;
	decide(w);
	check(w, TENANT_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_OVER_LIMIT, "641Gi");
	check(w, TENANT_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_OVER_LIMIT, "640Gi");
	w->view.sums.used = 640 * GIB;
	w->view.sums.used_gpus = 9;
	decide(w);
	check(w, TENANT_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_OVER_LIMIT, "9 whole GPUs");
	w->facts.spec.ceiling = w->facts.spec.ceiling_gpus = AMOUNT_NONE;
	decide(w);
	check(w, TENANT_EXCEEDED, CONDITION_FALSE, QUOTA_REASON_WITHIN_LIMIT, "no ceiling");
}

static void test_use_and_loans_are_not_urgent_and_all_else_is(void **state)
{
	struct world *w = *state;

	converge(w);
	w->view.sums.used += GIB;
	w->view.sums.lent += GIB;
	w->view.sums.used_gpus++;
	decide(w);
	assert_true(w->plan.write_status);
	assert_false(w->plan.status_urgent);
	w->view.sums.used = 700 * GIB;
	decide(w);
	assert_true(w->plan.status_urgent);
	settle(w);
	w->view.sums.used = 701 * GIB;
	decide(w);
	assert_true(w->plan.write_status);
	assert_false(w->plan.status_urgent);
	settle(w);
	w->view.n_namespaces--;
	decide(w);
	assert_true(w->plan.status_urgent);
	settle(w);
	w->view.sums.granted++;
	decide(w);
	assert_true(w->plan.status_urgent);
}

static void test_a_transition_is_a_change_of_status(void **state)
{
	struct world *w = *state;
	const struct condition *ready = &w->plan.status.conditions[TENANT_READY];

	converge(w);
	w->view.now_real_us += 60 * USEC_PER_SEC;
	w->view.n_namespaces--;
	decide(w);
	assert_int_equal(ready->since_us, NOW);
	w->view.unenforced.n = 1;
	decide(w);
	assert_int_equal(ready->since_us, NOW + 60 * USEC_PER_SEC);
}

static void test_the_list_of_namespaces_has_an_end(void **state)
{
	static struct str many[LIMIT_STATUS_NAMESPACES + 9];
	static char names[LIMIT_STATUS_NAMESPACES + 9][8];
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		snprintf(names[i], sizeof(names[i]), "n%04zu", ARRAY_SIZE(many) - i);
		many[i] = str_from(names[i]);
	}
	w->view.namespaces = many;
	w->view.n_namespaces = ARRAY_SIZE(many);
	converge(w);
	assert_int_equal(w->plan.status.n_namespaces, ARRAY_SIZE(many));
	assert_int_equal(w->plan.status.n_namespaces_listed, LIMIT_STATUS_NAMESPACES);
	assert_str(w->plan.status.namespaces[0], "n0001");
}

static void test_a_full_arena_is_an_error(void **state)
{
	struct world *w = *state;
	struct arena arena;
	struct error err;

	for (size_t limit = 1; limit < 256; limit += 16) {
		arena_init(&arena, limit);
		assert_int_equal(tenant_plan_decide(&w->view, &arena, &w->plan, &err), -1);
		assert_int_equal(err.kind, ERROR_LIMIT);
		arena_clear(&arena);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* --- TopologyMismatch */

static void test_nothing_is_asked_of_topology(void **state)
{
	struct world *w = *state;

	decide(w);
	check(w, TENANT_TOPOLOGY, CONDITION_FALSE, QUOTA_REASON_NOT_ASKED, "Nothing is asked");
	w->facts.spec.topology =
		(struct topology_spec){TOPOLOGY_REQUIRED, LAYOUT_NUMA, MISMATCH_IGNORE};
	decide(w);
	check(w, TENANT_TOPOLOGY, CONDITION_FALSE, QUOTA_REASON_NOT_ASKED, "nobody looks");
	w->facts.spec.topology.on_mismatch = MISMATCH_ALERT;
	decide(w);
	check(w, TENANT_TOPOLOGY, CONDITION_FALSE, QUOTA_REASON_AS_ASKED, "No pod of it");
}

static void test_what_spans_is_a_mismatch_where_it_is_required(void **state)
{
	struct world *w = *state;
	struct topology_count *required = &w->view.topology.of[TOPOLOGY_REQUIRED];

	*required = (struct topology_count){
		.pods = 9, .unknown = 1, .spans = {[LAYOUT_NUMA] = 2, [LAYOUT_NVLINK] = 1}};
	w->view.mismatch_namespace = STR("a");
	w->view.mismatch_pod = STR("train-0");
	decide(w);
	check(w, TENANT_TOPOLOGY, CONDITION_TRUE, QUOTA_REASON_SPANS_DOMAINS,
	      "3 of 9 pods do not lie within the scope that is required (NUMA: 2, NVLink: 1), "
	      "a/train-0 among them");
	converge(w);
	required->spans[LAYOUT_NUMA] = 1;
	decide(w);
	assert_true(w->plan.write_status);
	assert_false(w->plan.status_urgent);
}

static void test_what_nothing_tells_is_unknown_where_it_is_required(void **state)
{
	struct world *w = *state;

	w->view.topology.of[TOPOLOGY_REQUIRED] = (struct topology_count){.pods = 4, .unknown = 3};
	decide(w);
	check(w, TENANT_TOPOLOGY, CONDITION_UNKNOWN, QUOTA_REASON_DEVICES_UNKNOWN, "Of 3 of 4");
}

static void test_what_is_only_preferred_is_no_mismatch(void **state)
{
	struct world *w = *state;

	w->view.topology.of[TOPOLOGY_REQUIRED] = (struct topology_count){.pods = 2, .other = 1};
	w->view.topology.of[TOPOLOGY_PREFERRED] = (struct topology_count){
		.pods = 5, .unknown = 1, .spans = {[LAYOUT_PCIE_SWITCH] = 3}};
	decide(w);
	check(w, TENANT_TOPOLOGY, CONDITION_FALSE, QUOTA_REASON_AS_ASKED, "in all of 2 pods");
	check(w, TENANT_TOPOLOGY, CONDITION_FALSE, QUOTA_REASON_AS_ASKED,
	      "Of 5 that only prefer it, 3 do not lie so, and of 1 it is not known.");
	check(w, TENANT_TOPOLOGY, CONDITION_FALSE, QUOTA_REASON_AS_ASKED,
	      "Pods with other cards than were chosen: 1");
}

/* --- objectives */

static void test_values_of_objectives_may_wait_and_states_may_not(void **state)
{
	static const struct objective_spec spec = {.name = TEXT("ttft"), .threshold = 200000};
	struct objective_status now = {TEXT("ttft"), OBJECTIVE_MET, OBJECTIVE_REASON_WITHIN, 150000,
				       NOW + 7};
	struct world *w = *state;

	w->facts.spec.objectives = &spec;
	w->facts.spec.n_objectives = 1;
	w->view.objectives = &now;
	w->view.n_objectives = 1;
	converge(w);
	assert_int_equal(w->facts.status.objectives[0].since_us, NOW);
	now.value = 160000;
	now.since_us += 99;
	w->view.keep_values = true;
	decide(w);
	assert_false(w->plan.write_status);
	w->view.keep_values = false;
	decide(w);
	assert_true(w->plan.write_status);
	assert_false(w->plan.status_urgent);
	assert_int_equal(w->plan.status.objectives[0].since_us, NOW);
	now.state = OBJECTIVE_AT_RISK;
	w->view.keep_values = true;
	decide(w);
	assert_true(w->plan.status_urgent);
	assert_int_equal(w->plan.status.objectives[0].value, 160000);
}

static void test_idle_gpus_are_told_of_whatever_feedback_says(void **state)
{
	struct world *w = *state;

	w->view.idle = (struct tenant_idle){.idle_us = 1800 * USEC_PER_SEC};
	decide(w);
	check(w, TENANT_IDLE, CONDITION_FALSE, QUOTA_REASON_IN_USE, "None of its pods");
	w->view.idle.pods = 3;
	decide(w);
	check(w, TENANT_IDLE, CONDITION_UNKNOWN, QUOTA_REASON_SIGNALS_UNKNOWN, "Nothing tells");
	w->view.idle.told = w->view.idle.idle = 2;
	w->view.idle.namespace = STR("a");
	w->view.idle.name = STR("p");
	decide(w);
	check(w, TENANT_IDLE, CONDITION_TRUE, QUOTA_REASON_IDLE_GPUS,
	      "2 of its pods have done nothing with their GPUs for 1800 seconds or more: a/p is "
	      "one of them.");
}

static void test_signals_that_nobody_asks_for_are_not_missed(void **state)
{
	struct world *w = *state;

	w->facts.spec.feedback.mode = FEEDBACK_ALERT;
	w->facts.spec.isolation = ISOLATION_SPEC_DEFAULT;
	w->view.unseen = FEEDBACK_BIT(FEEDBACK_UTILISATION) | FEEDBACK_BIT(FEEDBACK_PCIE);
	decide(w);
	check(w, TENANT_ABNORMAL, CONDITION_FALSE, QUOTA_REASON_NORMAL_USE,
	      "Nothing that is seen of its use is abnormal.");
	assert_null(strstr(w->plan.status.conditions[TENANT_ABNORMAL].message, "Not known"));
	w->view.unseen |= FEEDBACK_BIT(FEEDBACK_MEMORY);
	decide(w);
	check(w, TENANT_ABNORMAL, CONDITION_UNKNOWN, QUOTA_REASON_SIGNALS_UNKNOWN, "Nothing tells");
}

/* Of an older release, which did not write what the columns show. */
static void test_a_status_without_what_is_shown_is_written_once(void **state)
{
	struct world *w = *state;

	converge(w);
	w->facts.status.unshown = true;
	decide(w);
	assert_true(w->plan.write_status && !w->plan.status_urgent);
	assert_false(w->plan.status.unshown);
	settle(w);
	decide(w);
	assert_false(w->plan.write_status);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_values_of_objectives_may_wait_and_states_may_not),
		TEST(test_each_binding_has_its_name_and_selector),
		TEST(test_the_qos_class_warns_or_denies_or_is_not_asked_for),
		TEST(test_another_s_binding_is_not_deleted),
		TEST(test_what_others_made_of_a_binding_is_put_right),
		TEST(test_a_selector_that_changed_is_written),
		TEST(test_the_status_of_a_tenant_that_is_enforced),
		TEST(test_an_invalid_one_allows_nothing_and_frees_nobody),
		TEST(test_one_that_is_being_deleted_likewise),
		TEST(test_namespaces_of_an_older_one_are_a_conflict),
		TEST(test_ready_waits_for_the_namespaces),
		TEST(test_more_than_the_ceiling_is_exceeded),
		TEST(test_use_and_loans_are_not_urgent_and_all_else_is),
		TEST(test_a_transition_is_a_change_of_status),
		TEST(test_the_list_of_namespaces_has_an_end),
		TEST(test_a_full_arena_is_an_error),
		TEST(test_a_status_without_what_is_shown_is_written_once),
		TEST(test_nothing_is_asked_of_topology),
		TEST(test_idle_gpus_are_told_of_whatever_feedback_says),
		TEST(test_signals_that_nobody_asks_for_are_not_missed),
		TEST(test_what_spans_is_a_mismatch_where_it_is_required),
		TEST(test_what_nothing_tells_is_unknown_where_it_is_required),
		TEST(test_what_is_only_preferred_is_no_mismatch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
