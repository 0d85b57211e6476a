/* SPDX-License-Identifier: Apache-2.0 */
/* The election over an API server that answers when the test says so: who leads, what the fence
 * says, and who is told in which order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "lib/fake_kube.h"
#include "runtime/elector.h"

#define DURATION_US (15 * USEC_PER_SEC)
#define DEADLINE_US (10 * USEC_PER_SEC)
#define RETRY_US    (2 * USEC_PER_SEC)

struct world {
	struct fake_kube_world kube;
	struct elector *elector;
	int led, lost, released, holders;
	char holder[64];
	bool fence_was_open_when_lost;
	int writes_done, writes_fenced;
};

static void on_leading(void *context)
{
	((struct world *)context)->led++;
}

static void on_write_done(void *context, const struct kube_answer *answer UNUSED,
			  const struct error *err)
{
	struct world *w = context;

	w->writes_done += !err;
	w->writes_fenced += err && err->kind == ERROR_FENCED;
}

static void send_write(struct world *w)
{
	kube_send(w->kube.client, KUBE_WRITE,
		  &(struct kube_request){.verb = KUBE_APPLY,
					 .type = &api_resource_quotas,
					 .namespace = STR("a"),
					 .name = STR("gpuqos"),
					 .fenced = true},
		  &(struct kube_handlers){.on_done = on_write_done, .context = w});
}

static void on_lost(void *context)
{
	struct world *w = context;

	w->lost++;
	w->fence_was_open_when_lost = elector_leads(w->elector);
}

static void on_new_holder(void *context, struct str holder)
{
	struct world *w = context;

	w->holders++;
	snprintf(w->holder, sizeof(w->holder), "%.*s", STR_ARGS(holder));
}

static void on_released(void *context)
{
	((struct world *)context)->released++;
}

static int setup(void **state)
{
	struct world *w = mem_alloc(sizeof(*w));
	struct elector_options options = {
		.namespace = STR("system"),
		.name = STR("lease"),
		.lease = {"me", DURATION_US, DEADLINE_US, RETRY_US},
		.on_leading = on_leading,
		.on_lost = on_lost,
		.on_new_holder = on_new_holder,
		.context = w,
		.seed = 1,
	};

	fake_kube_world_init(&w->kube);
	assert_int_equal(elector_new(w->kube.client, &options, &w->elector, NULL), 0);
	elector_start(w->elector);
	fake_kube_settle(w->kube.client);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	elector_free(w->elector);
	fake_kube_world_clear(&w->kube);
	mem_free(w);
	return 0;
}

static const char *lease_json(const char *holder, int version, int renewed)
{
	static char text[512];

	snprintf(
		text, sizeof(text),
		"{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":"
		"\"lease\",\"namespace\":\"system\",\"resourceVersion\":\"%d\"},\"spec\":{"
		"\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":15,\"renewTime\":"
		"\"2026-01-01T00:00:%02d.000000Z\"}}",
		version, holder, renewed);
	return text;
}

/* Lets the test be the leader, by creating the Lease. */
static void lead(struct world *w)
{
	fake_kube_refuse(&w->kube, "GET leases system/lease", ERROR_NOT_FOUND, 404);
	fake_kube_reply(&w->kube, "CREATE leases system/", lease_json("me", 1, 0));
	assert_true(elector_leads(w->elector));
	assert_int_equal(w->led, 1);
}

static bool write_passes(struct world *w)
{
	int fenced = w->writes_fenced;

	send_write(w);
	fake_kube_settle(w->kube.client);
	if (w->writes_fenced > fenced)
		return false;
	fake_kube_reply(&w->kube, "APPLY", "{}");
	return true;
}

static void a_lease_that_nobody_has_is_created_and_opens_the_fence(void **state)
{
	struct world *w = *state;

	assert_false(write_passes(w));
	lead(w);
	assert_true(write_passes(w));
}

static void a_lease_of_another_is_left_alone(void **state)
{
	struct world *w = *state;

	fake_kube_reply(&w->kube, "GET", lease_json("other", 1, 0));
	fake_kube_pass(&w->kube, DURATION_US - 1);
	assert_null(fake_kube_find(&w->kube, "UPDATE"));
	assert_false(write_passes(w));
	assert_int_equal(w->led, 0);
}

static void a_lease_of_another_that_is_not_renewed_is_taken(void **state)
{
	struct world *w = *state;

	fake_kube_reply(&w->kube, "GET", lease_json("other", 1, 0));
	/* Reads show no change meanwhile. */
	for (int i = 0; i < 16 && !fake_kube_find(&w->kube, "UPDATE"); i++) {
		fake_kube_pass(&w->kube, USEC_PER_SEC);
		if (fake_kube_find(&w->kube, "GET"))
			fake_kube_reply(&w->kube, "GET", lease_json("other", 1, 0));
	}
	assert_non_null(strstr(fake_kube_body(fake_kube_expect(&w->kube, "UPDATE")),
			       "\"resourceVersion\":\"1\""));
	fake_kube_reply(&w->kube, "UPDATE leases system/lease", lease_json("me", 2, 1));
	assert_true(elector_leads(w->elector));
}

static void a_leader_renews_and_stays(void **state)
{
	struct world *w = *state;

	lead(w);
	for (int i = 0; i < 10; i++) {
		fake_kube_pass(&w->kube, RETRY_US);
		fake_kube_reply(&w->kube, "UPDATE", lease_json("me", 2 + i, 1 + i));
		assert_true(write_passes(w));
	}
	assert_int_equal(w->led, 1);
	assert_int_equal(w->lost, 0);
}

static void without_renewal_the_fence_closes_at_the_deadline_and_then_the_loss_is_told(void **state)
{
	struct world *w = *state;

	lead(w);
	fake_kube_pass(&w->kube, DEADLINE_US - 1);
	assert_true(write_passes(w));
	assert_int_equal(w->lost, 0);
	fake_kube_pass(&w->kube, 1);
	assert_int_equal(w->lost, 1);
	assert_false(w->fence_was_open_when_lost);
	assert_false(write_passes(w));
}

/* As after SIGCONT: the clock has jumped and nothing else has happened yet. */
static void a_write_that_waited_through_a_standstill_is_refused_before_anybody_is_told(void **state)
{
	struct world *w = *state;

	lead(w);
	send_write(w);
	manual_clock_advance(&w->kube.clock, DEADLINE_US);
	fake_kube_settle(w->kube.client);
	assert_int_equal(w->writes_fenced, 1);
	assert_int_equal(fake_kube_fenced(w->kube.client) + (unsigned int)w->lost, 2);
	assert_null(fake_kube_find(&w->kube, "APPLY"));
}

static void writes_under_way_end_when_the_lease_is_lost(void **state)
{
	struct world *w = *state;

	lead(w);
	send_write(w);
	fake_kube_settle(w->kube.client);
	fake_kube_expect(&w->kube, "APPLY");
	fake_kube_pass(&w->kube, DEADLINE_US);
	assert_null(fake_kube_find(&w->kube, "APPLY"));
	assert_int_equal(w->writes_fenced, 1);
}

static void a_robbed_leader_learns_it_from_the_watch(void **state)
{
	struct world *w = *state;

	lead(w);
	assert_true(fake_kube_event(&w->kube, "WATCH", "MODIFIED", lease_json("other", 5, 5)));
	assert_int_equal(w->lost, 1);
	assert_false(write_passes(w));
	assert_string_equal(w->holder, "other");
}

static void a_standby_takes_a_released_lease_as_soon_as_the_watch_shows_it(void **state)
{
	struct world *w = *state;

	fake_kube_reply(&w->kube, "GET", lease_json("other", 1, 0));
	assert_true(fake_kube_event(&w->kube, "WATCH", "MODIFIED", lease_json("", 2, 1)));
	fake_kube_reply(&w->kube, "UPDATE", lease_json("me", 3, 2));
	assert_int_equal(w->led, 1);
}

/* The watch is no answer to the GET: two requests would be under way. */
static void the_watch_may_speak_while_a_read_is_under_way(void **state)
{
	struct world *w = *state;

	fake_kube_expect(&w->kube, "GET");
	assert_true(fake_kube_event(&w->kube, "WATCH", "ADDED", lease_json("", 4, 0)));
	assert_null(fake_kube_find(&w->kube, "UPDATE"));
	fake_kube_reply(&w->kube, "GET", lease_json("", 4, 0));
	fake_kube_reply(&w->kube, "UPDATE", lease_json("me", 5, 1));
	assert_int_equal(w->led, 1);
	assert_null(fake_kube_find(&w->kube, "GET"));
	assert_null(fake_kube_find(&w->kube, "UPDATE"));
}

static void a_conflict_is_read_and_not_fought(void **state)
{
	struct world *w = *state;

	lead(w);
	fake_kube_pass(&w->kube, RETRY_US);
	fake_kube_refuse(&w->kube, "UPDATE", ERROR_CONFLICT, 409);
	fake_kube_reply(&w->kube, "GET", lease_json("other", 9, 9));
	assert_int_equal(w->lost, 1);
	assert_null(fake_kube_find(&w->kube, "UPDATE"));
}

static void requests_of_a_leader_never_last_past_its_fence(void **state)
{
	struct world *w = *state;

	lead(w);
	fake_kube_pass(&w->kube, RETRY_US);
	assert_in_range(fake_kube_timeout(fake_kube_expect(&w->kube, "UPDATE")), 1,
			DEADLINE_US - RETRY_US);
	fake_kube_pass(&w->kube, DEADLINE_US - RETRY_US - USEC_PER_SEC);
	fake_kube_refuse(&w->kube, "UPDATE", ERROR_TIMEOUT, 0);
	assert_in_range(fake_kube_timeout(fake_kube_expect(&w->kube, "GET")), 1, USEC_PER_SEC);
}

static void an_answer_that_is_no_lease_counts_as_a_failure(void **state)
{
	struct world *w = *state;

	lead(w);
	fake_kube_pass(&w->kube, RETRY_US);
	fake_kube_reply(&w->kube, "UPDATE", "{\"spec\": [");
	assert_true(elector_leads(w->elector));
	fake_kube_pass(&w->kube, DEADLINE_US - RETRY_US);
	assert_false(elector_leads(w->elector));
}

static void a_release_gives_the_lease_back_and_says_so_once(void **state)
{
	struct world *w = *state;

	lead(w);
	elector_release(w->elector, on_released, w);
	fake_kube_settle(w->kube.client);
	assert_int_equal(w->lost, 1);
	assert_false(write_passes(w));
	assert_int_equal(w->released, 0);
	assert_non_null(strstr(fake_kube_body(fake_kube_expect(&w->kube, "UPDATE")),
			       "\"holderIdentity\":\"\""));
	fake_kube_reply(&w->kube, "UPDATE", lease_json("", 2, 1));
	assert_int_equal(w->released, 1);
	assert_true(fake_kube_event(&w->kube, "WATCH", "MODIFIED", lease_json("", 2, 1)));
	assert_true(fake_kube_event(&w->kube, "WATCH", "MODIFIED", lease_json("other", 3, 2)));
	fake_kube_pass(&w->kube, 60 * USEC_PER_SEC);
	assert_int_equal(w->released, 1);
	assert_int_equal(w->led, 1);
}

static void a_release_during_a_renewal_comes_after_it(void **state)
{
	struct world *w = *state;

	lead(w);
	fake_kube_pass(&w->kube, RETRY_US);
	elector_release(w->elector, on_released, w);
	fake_kube_settle(w->kube.client);
	fake_kube_reply(&w->kube, "UPDATE", lease_json("me", 2, 1));
	assert_int_equal(w->released, 0);
	assert_non_null(strstr(fake_kube_body(fake_kube_expect(&w->kube, "UPDATE")),
			       "\"holderIdentity\":\"\""));
	fake_kube_reply(&w->kube, "UPDATE", lease_json("", 3, 2));
	assert_int_equal(w->released, 1);
	assert_int_equal(w->led, 1);
}

static void who_does_not_lead_has_nothing_to_release(void **state)
{
	struct world *w = *state;

	fake_kube_reply(&w->kube, "GET", lease_json("other", 1, 0));
	elector_release(w->elector, on_released, w);
	fake_kube_settle(w->kube.client);
	assert_int_equal(w->released, 1);
	assert_null(fake_kube_find(&w->kube, "UPDATE"));
}

static void a_release_that_nobody_answers_ends_too(void **state)
{
	struct world *w = *state;

	lead(w);
	elector_release(w->elector, on_released, w);
	fake_kube_settle(w->kube.client);
	for (int i = 0; i < 10 && !w->released; i++) {
		if (fake_kube_find(&w->kube, "UPDATE"))
			fake_kube_fail(fake_kube_find(&w->kube, "UPDATE"), ERROR_TIMEOUT, 0);
		else if (fake_kube_find(&w->kube, "GET"))
			fake_kube_fail(fake_kube_find(&w->kube, "GET"), ERROR_TIMEOUT, 0);
		fake_kube_pass(&w->kube, USEC_PER_SEC);
	}
	assert_int_equal(w->released, 1);
}

/* What leaks or is used afterwards, the sanitizers tell. */
static void it_may_be_freed_while_it_asks(void **state)
{
	struct world *w = *state;

	lead(w);
	fake_kube_pass(&w->kube, RETRY_US);
	fake_kube_expect(&w->kube, "UPDATE");
	elector_free(w->elector);
	w->elector = NULL;
	fake_kube_settle(w->kube.client);
	assert_int_equal(fake_kube_open(w->kube.client), 0);
	assert_false(write_passes(w));
}

static void names_that_no_lease_can_have_are_refused_at_once(void **state)
{
	static const struct {
		const char *namespace, *name, *message;
	} cases[] = {
		{"", "lease", "the Lease's namespace \"\" is no name that Kubernetes takes"},
		{"../../x", "lease",
		 "the Lease's namespace \"../../x\" is no name that Kubernetes takes"},
		{"system", "Lease", "the Lease's name \"Lease\" is no name that Kubernetes takes"},
		{"system", "lease-",
		 "the Lease's name \"lease-\" is no name that Kubernetes takes"},
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct elector_options options = {
			.namespace = str_from(cases[i].namespace),
			.name = str_from(cases[i].name),
			.lease = {"me", DURATION_US, DEADLINE_US, RETRY_US},
		};
		struct elector *elector = NULL;
		struct error err = {0};

		assert_int_equal(elector_new(w->kube.client, &options, &elector, &err), -1);
		assert_string_equal(err.message, cases[i].message);
	}
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(a_lease_that_nobody_has_is_created_and_opens_the_fence),
		CASE(a_lease_of_another_is_left_alone),
		CASE(a_lease_of_another_that_is_not_renewed_is_taken),
		CASE(a_leader_renews_and_stays),
		CASE(without_renewal_the_fence_closes_at_the_deadline_and_then_the_loss_is_told),
		CASE(a_write_that_waited_through_a_standstill_is_refused_before_anybody_is_told),
		CASE(writes_under_way_end_when_the_lease_is_lost),
		CASE(a_robbed_leader_learns_it_from_the_watch),
		CASE(a_standby_takes_a_released_lease_as_soon_as_the_watch_shows_it),
		CASE(the_watch_may_speak_while_a_read_is_under_way),
		CASE(a_conflict_is_read_and_not_fought),
		CASE(requests_of_a_leader_never_last_past_its_fence),
		CASE(an_answer_that_is_no_lease_counts_as_a_failure),
		CASE(a_release_gives_the_lease_back_and_says_so_once),
		CASE(a_release_during_a_renewal_comes_after_it),
		CASE(who_does_not_lead_has_nothing_to_release),
		CASE(a_release_that_nobody_answers_ends_too),
		CASE(it_may_be_freed_while_it_asks),
		CASE(names_that_no_lease_can_have_are_refused_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
