/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two or three replicas compete for one Lease over virtual time: requests and answers are delayed
 * and lost (a lost answer may belong to a write that was carried out, long after its time-out),
 * watches lag, replicas are suspended, crash, restart and are released, real clocks jump. At no
 * moment two replicas lead; and once the faults stop there is a leader soon, who stays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/random.h"
#include "ctl/lease.h"

#define SEEDS    400
#define REPLICAS 3
#define MESSAGES 512
#define CHAOS_US (300 * USEC_PER_SEC)
#define CALM_US  (120 * USEC_PER_SEC)

static const struct lease_options timings = {
	.duration_us = 15 * USEC_PER_SEC,
	.renew_deadline_us = 10 * USEC_PER_SEC,
	.retry_period_us = 2 * USEC_PER_SEC,
};
/* The last bit is for the way of the requests. */
#define LEADER_WITHIN_US (15 * USEC_PER_SEC + 2 * 2 * USEC_PER_SEC * 22 / 10 + USEC_PER_SEC)

/* A Lease with memory of its own. */
struct snapshot {
	bool exists;
	struct lease_record record;
	char holder[24];
	uint64_t version;
};

enum message_kind { NOTHING, REQUEST, ANSWER, TIMEOUT, EVENT };

struct message {
	enum message_kind kind;
	int64_t at_us;
	size_t replica;
	uint64_t request; /* which one; a replica listens only to its latest */
	enum lease_action action;
	struct snapshot lease; /* what to write, then what is answered or shown */
	uint64_t precondition;
	enum error_kind error;
};

struct replica {
	struct lease *lease;
	struct lease_options options;
	struct lease_step step;
	char identity[24], version[24];
	int64_t monotonic_offset_us, real_offset_us;
	int64_t sleeps_until_us, sent_us, last_event_us;
	uint64_t request;
	bool watches;
};

struct world {
	struct random random;
	int64_t now_us;
	struct snapshot lease; /* what the server has */
	struct message messages[MESSAGES];
	struct replica replicas[REPLICAS];
	size_t count;
	uint64_t requests, identities;
	bool chaos, deletes;
	int64_t deleted_us;
	int64_t led_since_us; /* -1: nobody leads */
	uint64_t terms;
};

static bool chance(struct world *world, unsigned int per_mille)
{
	return random_below(&world->random, 1000) < per_mille;
}

static int64_t up_to(struct world *world, int64_t us)
{
	return (int64_t)random_below(&world->random, (uint64_t)us);
}

static int64_t local_us(const struct world *world, const struct replica *replica)
{
	return world->now_us + replica->monotonic_offset_us;
}

static int64_t real_us(const struct world *world, const struct replica *replica)
{
	return world->now_us + replica->real_offset_us;
}

/* The time on the way: mostly short, in chaos now and then longer than any time-out. */
static int64_t way_us(struct world *world)
{
	if (!world->chaos || chance(world, 700))
		return 1 + up_to(world, 20 * USEC_PER_MSEC);
	return 1 + up_to(world, chance(world, 800) ? 3 * USEC_PER_SEC : 40 * USEC_PER_SEC);
}

static void post(struct world *world, const struct message *message)
{
	for (size_t i = 0; i < MESSAGES; i++) {
		if (world->messages[i].kind == NOTHING) {
			world->messages[i] = *message;
			return;
		}
	}
	fail_msg("more messages than there is room for");
}

static struct snapshot snapshot_of(const struct lease_record *record)
{
	struct snapshot snapshot = {.exists = true, .record = *record};

	snprintf(snapshot.holder, sizeof(snapshot.holder), "%.*s", STR_ARGS(record->holder));
	return snapshot;
}

/* A view for replica; its version text lies in the replica. */
static struct lease_view view_for(struct replica *replica, const struct snapshot *snapshot)
{
	struct lease_view view = {.exists = snapshot->exists, .record = snapshot->record};

	snprintf(replica->version, sizeof(replica->version), "%llu",
		 (unsigned long long)snapshot->version);
	view.record.holder = str_from(snapshot->holder);
	view.resource_version = str_from(replica->version);
	return view;
}

/* --- the server */

static void show_to_watches(struct world *world)
{
	for (size_t i = 0; i < world->count; i++) {
		struct replica *replica = &world->replicas[i];
		struct message event = {.kind = EVENT, .replica = i, .lease = world->lease};

		if (!replica->watches || (world->chaos && chance(world, 100)))
			continue;
		event.at_us = MAX(world->now_us + way_us(world), replica->last_event_us + 1);
		replica->last_event_us = event.at_us;
		post(world, &event);
	}
}

static enum error_kind serve(struct world *world, const struct message *m)
{
	if (world->chaos && chance(world, 100))
		return ERROR_UNAVAILABLE;
	if (m->action == LEASE_GET)
		return world->lease.exists ? ERROR_NONE : ERROR_NOT_FOUND;
	if (m->action == LEASE_CREATE && world->lease.exists)
		return ERROR_EXISTS;
	if (m->action == LEASE_UPDATE && !world->lease.exists)
		return ERROR_NOT_FOUND;
	if (m->action == LEASE_UPDATE && m->precondition != world->lease.version)
		return ERROR_CONFLICT;
	uint64_t version = world->lease.version + 1;

	world->lease = m->lease;
	world->lease.version = version;
	show_to_watches(world);
	return ERROR_NONE;
}

/* --- the replicas */

static void send_request(struct world *world, size_t i)
{
	struct replica *replica = &world->replicas[i];
	struct message request = {.replica = i, .request = ++world->requests};

	replica->request = request.request;
	replica->sent_us = local_us(world, replica);
	request.action = replica->step.action;
	request.lease = snapshot_of(&replica->step.record);
	if (replica->step.action == LEASE_UPDATE)
		request.precondition = strtoull(replica->step.resource_version.data, NULL, 10);
	request.kind = TIMEOUT;
	request.at_us = world->now_us + replica->step.timeout_us;
	post(world, &request);
	request.kind = REQUEST;
	request.at_us = world->now_us + way_us(world);
	if (!world->chaos || chance(world, 900))
		post(world, &request);
}

static void start(struct world *world, size_t i)
{
	struct replica *replica = &world->replicas[i];

	/* A restart with the identity of before is no good idea, but must do no harm. */
	if (replica->identity[0] == '\0' || chance(world, 700))
		snprintf(replica->identity, sizeof(replica->identity), "replica-%llu",
			 (unsigned long long)++world->identities);
	lease_free(replica->lease);
	replica->lease = NULL;
	replica->options = timings;
	replica->options.identity = replica->identity;
	assert_int_equal(
		lease_new(&replica->options, random_u64(&world->random), &replica->lease, NULL), 0);
	lease_next(replica->lease, local_us(world, replica), real_us(world, replica),
		   &replica->step);
	send_request(world, i);
}

/* Does what the step says; a machine that stopped comes back after a while as another. */
static void obey(struct world *world, size_t i)
{
	struct replica *replica = &world->replicas[i];

	assert_int_equal(replica->step.leads,
			 lease_leads(replica->lease, local_us(world, replica)));
	if (replica->step.action < LEASE_WAIT)
		send_request(world, i);
}

static void wake(struct world *world, size_t i)
{
	struct replica *replica = &world->replicas[i];

	if (replica->step.action == LEASE_STOPPED) {
		start(world, i);
		return;
	}
	lease_next(replica->lease, local_us(world, replica), real_us(world, replica),
		   &replica->step);
	obey(world, i);
}

static void hear_answer(struct world *world, const struct message *m)
{
	struct replica *replica = &world->replicas[m->replica];
	struct lease_view view = view_for(replica, &m->lease);
	struct error err = {.kind = m->kind == TIMEOUT ? ERROR_TIMEOUT : m->error};
	int64_t now_us = local_us(world, replica), real = real_us(world, replica);

	if (m->request != replica->request)
		return;
	replica->request = 0;
	if (err.kind != ERROR_NONE)
		lease_on_failed(replica->lease, &err, now_us, real, &replica->step);
	else if (m->action == LEASE_GET)
		lease_on_read(replica->lease, &view, now_us, real, &replica->step);
	else
		lease_on_written(replica->lease, &view, replica->sent_us, now_us, &replica->step);
	obey(world, m->replica);
}

static void deliver(struct world *world, struct message m)
{
	struct replica *replica = &world->replicas[m.replica];

	if (m.kind == REQUEST) {
		m.error = serve(world, &m);
		m.lease = world->lease;
		m.kind = ANSWER;
		m.at_us = world->now_us + way_us(world);
		if (!world->chaos || chance(world, 900))
			post(world, &m);
	} else if (m.kind == EVENT) {
		struct lease_view view = view_for(replica, &m.lease);

		lease_on_watched(replica->lease, &view, local_us(world, replica),
				 real_us(world, replica), &replica->step);
		obey(world, m.replica);
	} else {
		hear_answer(world, &m);
	}
}

/* --- the world */

static void disturb(struct world *world)
{
	size_t i = (size_t)random_below(&world->random, world->count);
	struct replica *replica = &world->replicas[i];
	bool all_know = true;

	switch (random_below(&world->random, 8)) {
	case 0: /* SIGSTOP, or the lid is closed */
		replica->sleeps_until_us = world->now_us + up_to(world, 40 * USEC_PER_SEC);
		break;
	case 1:
		replica->real_offset_us = up_to(world, 7200 * USEC_PER_SEC) - 3600 * USEC_PER_SEC;
		break;
	case 2: /* SIGKILL and a new start */
		if (!world->deletes)
			start(world, i);
		break;
	case 3: /* SIGTERM */
		if (world->deletes)
			break;
		lease_release(replica->lease, local_us(world, replica), real_us(world, replica),
			      &replica->step);
		obey(world, i);
		break;
	case 4: /* somebody deletes the Lease, not too often; who never saw it could not know */
		for (size_t k = 0; k < world->count; k++)
			all_know &= !str_empty(lease_holder(world->replicas[k].lease));
		if (!world->deletes || !all_know || !world->lease.exists ||
		    world->now_us < world->deleted_us + USEC_PER_MIN)
			break;
		world->deleted_us = world->now_us;
		world->lease.exists = false;
		world->lease.version++;
		show_to_watches(world);
		break;
	default: /* a label is changed */
		if (!world->lease.exists)
			break;
		world->lease.version++;
		show_to_watches(world);
	}
}

/* When the replica does something by itself, and when it can take a message. */
static int64_t wakes_us(const struct world *world, const struct replica *replica)
{
	int64_t at_us = INT64_MAX;

	if (replica->step.action == LEASE_WAIT)
		at_us = replica->step.wait_until_us - replica->monotonic_offset_us;
	if (replica->step.action == LEASE_STOPPED)
		at_us = world->now_us + USEC_PER_SEC;
	return MAX(at_us, replica->sleeps_until_us);
}

static int64_t arrives_us(const struct world *world, const struct message *m)
{
	int64_t awake_us = world->replicas[m->replica].sleeps_until_us;

	if (m->kind == NOTHING)
		return INT64_MAX;
	return m->kind == REQUEST ? m->at_us : MAX(m->at_us, awake_us);
}

static void assert_one_leader(struct world *world)
{
	size_t leaders = 0;

	for (size_t i = 0; i < world->count; i++)
		leaders +=
			lease_leads(world->replicas[i].lease, local_us(world, &world->replicas[i]));
	assert_in_range(leaders, 0, 1);
	if (leaders == 0)
		world->led_since_us = -1;
	else if (world->led_since_us < 0) {
		world->led_since_us = world->now_us;
		world->terms++;
	}
}

/* Moves to what comes next, at most to @end_us; false when that was reached. */
static bool turn(struct world *world, int64_t end_us)
{
	int64_t next_us = end_us;
	struct message *message = NULL, copy;
	size_t replica = REPLICAS;

	for (size_t i = 0; i < MESSAGES; i++) {
		if (arrives_us(world, &world->messages[i]) < next_us) {
			message = &world->messages[i];
			next_us = arrives_us(world, message);
		}
	}
	for (size_t i = 0; i < world->count; i++) {
		if (wakes_us(world, &world->replicas[i]) < next_us) {
			replica = i;
			next_us = wakes_us(world, &world->replicas[i]);
		}
	}
	world->now_us = MAX(world->now_us, next_us);
	/* A lapse may lie between; it must not hide a second leader who came before it. */
	assert_one_leader(world);
	if (replica < REPLICAS) {
		wake(world, replica);
	} else if (message) {
		copy = *message;
		message->kind = NOTHING;
		deliver(world, copy);
	}
	assert_one_leader(world);
	return message || replica < REPLICAS;
}

/* From the stop of the faults on; what is still on its way is their last work. */
static int64_t last_fault_us(const struct world *world)
{
	int64_t last_us = world->now_us;

	for (size_t i = 0; i < MESSAGES; i++)
		if (world->messages[i].kind != NOTHING)
			last_us = MAX(last_us, arrives_us(world, &world->messages[i]));
	for (size_t i = 0; i < world->count; i++)
		last_us = MAX(last_us, world->replicas[i].sleeps_until_us);
	return last_us;
}

static void run_until(struct world *world, int64_t end_us)
{
	while (turn(world, end_us))
		;
}

static void live(uint64_t seed, uint64_t *terms)
{
	struct world world = {.chaos = true, .led_since_us = -1};
	int64_t calm_us, next_us = 0;

	random_init(&world.random, seed);
	world.count = 2 + seed % 2;
	world.deletes = seed % 4 == 0;
	for (size_t i = 0; i < world.count; i++) {
		world.replicas[i].monotonic_offset_us = up_to(&world, 1000 * USEC_PER_SEC);
		world.replicas[i].watches = chance(&world, 500);
		start(&world, i);
	}
	while (world.now_us < CHAOS_US) {
		next_us += up_to(&world, 20 * USEC_PER_SEC);
		run_until(&world, next_us);
		disturb(&world);
	}
	world.chaos = false;
	calm_us = last_fault_us(&world);
	run_until(&world, calm_us);
	run_until(&world, calm_us + LEADER_WITHIN_US);
	assert_true(world.led_since_us >= 0);
	run_until(&world, calm_us + LEADER_WITHIN_US + CALM_US);
	assert_true(world.led_since_us >= 0);
	assert_true(world.led_since_us <= calm_us + LEADER_WITHIN_US);
	*terms += world.terms;
	for (size_t i = 0; i < world.count; i++)
		lease_free(world.replicas[i].lease);
}

static void test_never_two_leaders_and_soon_one(void **state)
{
	uint64_t terms = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		print_message("seed %llu\n", (unsigned long long)seed);
		live(seed, &terms);
	}
	/* The chaos is not so great that nobody ever leads. */
	assert_true(terms > 2 * SEEDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_two_leaders_and_soon_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
