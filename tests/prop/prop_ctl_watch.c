/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watch against a server that changes its objects at random, forgets old versions, and does
 * everything that servers and networks do to streams and lists. The mirror must at every moment
 * equal what the server held at the version that the watch claims to have reached (so nothing is
 * missed silently), and must catch up once the faults stop.
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
#include "ctl/watch.h"

#define OBJECTS     10
#define PAGE_ITEMS  3
#define VERSIONS    4000
#define SEEDS       300
#define TURNS       1500
#define QUIET_TURNS 400

/* One row of values per version that the server ever had; 0: the object does not exist. */
struct server {
	uint32_t history[VERSIONS][OBJECTS];
	size_t version, oldest; /* versions below oldest are compacted */
	bool refuses_streams;
};

/* What the client has open. */
struct stream {
	enum watch_action kind;    /* WATCH_WAIT: nothing is open */
	size_t at;                 /* version up to which events were sent */
	size_t snapshot, position; /* of initial events and pages */
};

struct mirror {
	uint32_t values[OBJECTS];
	bool seen[OBJECTS], replacing;
};

struct world {
	struct server *server;
	struct random random;
	struct watch *watch;
	struct watch_step step;
	struct stream stream;
	struct mirror mirror;
	int64_t now_us;
	unsigned int faults_per_mille;
};

static bool chance(struct world *world, unsigned int per_mille)
{
	return random_below(&world->random, 1000) < per_mille;
}

static const char *version_text(size_t version, char text[32])
{
	snprintf(text, 32, "%zu", version);
	return text;
}

static void server_change(struct world *world)
{
	struct server *server = world->server;
	size_t object = (size_t)random_below(&world->random, OBJECTS);
	const uint32_t *before = server->history[server->version];
	uint32_t *after;

	if (server->version + 1 == VERSIONS)
		return;
	after = server->history[server->version + 1];
	server->version++;
	memcpy(after, before, sizeof(server->history[0]));
	after[object] = after[object] && chance(world, 400) ? 0 : (uint32_t)server->version;
	if (chance(world, 30))
		server->oldest = server->version - (size_t)random_below(&world->random, 4);
	if (server->oldest > server->version)
		server->oldest = server->version;
}

/* --- the caller's store */

static void apply_effect(struct world *world)
{
	struct mirror *mirror = &world->mirror;

	switch (world->step.effect) {
	case WATCH_EFFECT_BEGIN_REPLACE:
		assert_false(mirror->replacing);
		mirror->replacing = true;
		memset(mirror->seen, 0, sizeof(mirror->seen));
		break;
	case WATCH_EFFECT_END_REPLACE:
		assert_true(mirror->replacing);
		mirror->replacing = false;
		for (size_t i = 0; i < OBJECTS; i++)
			mirror->values[i] = mirror->seen[i] ? mirror->values[i] : 0;
		break;
	case WATCH_EFFECT_ABORT_REPLACE:
		assert_true(mirror->replacing);
		mirror->replacing = false;
		break;
	case WATCH_EFFECT_NONE:
		break;
	}
}

static void store(struct mirror *mirror, size_t object, uint32_t value)
{
	mirror->values[object] = value;
	mirror->seen[object] = value != 0;
}

/* The claim: having reached @version, the mirror is what the server was. */
static void assert_mirror_is(const struct world *world, size_t version)
{
	assert_memory_equal(world->mirror.values, world->server->history[version],
			    sizeof(world->mirror.values));
}

/* --- carrying out steps */

static void obey(struct world *world)
{
	struct stream *stream = &world->stream;
	const struct watch_step *step = &world->step;

	apply_effect(world);
	if (step->effect == WATCH_EFFECT_END_REPLACE)
		assert_mirror_is(world, strtoul(step->resource_version, NULL, 10));
	if (step->action == WATCH_CONTINUE)
		return;
	stream->kind = step->action;
	stream->position = 0;
	stream->snapshot = world->server->version;
	if (step->action == WATCH_WATCH)
		stream->at = strtoul(step->resource_version, NULL, 10);
	if (step->action == WATCH_LIST_PAGE && step->continue_token[0])
		assert_int_equal(sscanf(step->continue_token, "%zu:%zu", &stream->snapshot,
					&stream->position),
				 2);
}

static void fail_with(struct world *world, enum error_kind kind, int status)
{
	struct error err = {.kind = kind, .http_status = status};

	if (chance(world, 200))
		err.retry_after_us = USEC_PER_SEC;
	watch_on_failed(world->watch, &err, world->now_us, &world->step);
	obey(world);
}

/* A fault of the transport or of the server; true when the stream is over. */
static bool fault(struct world *world)
{
	static const struct {
		enum error_kind kind;
		int status;
	} faults[] = {
		{ERROR_UNAVAILABLE, 0}, {ERROR_UNAVAILABLE, 500}, {ERROR_THROTTLED, 429},
		{ERROR_TIMEOUT, 504},   {ERROR_TIMEOUT, 0},       {ERROR_UNAUTHORIZED, 401},
		{ERROR_FORBIDDEN, 403}, {ERROR_LIMIT, 0},         {ERROR_EXPIRED, 410},
		{ERROR_EXPIRED, 504},   {ERROR_INVALID, 0},       {ERROR_NOT_FOUND, 404},
	};
	size_t n = (size_t)random_below(&world->random, 2 + sizeof(faults) / sizeof(faults[0]));

	if (!chance(world, world->faults_per_mille))
		return false;
	if (n >= sizeof(faults) / sizeof(faults[0])) {
		watch_on_ended(world->watch, world->now_us, &world->step);
		obey(world);
	} else {
		fail_with(world, faults[n].kind, faults[n].status);
	}
	return true;
}

static enum watch_event_type type_of(uint32_t before, uint32_t after)
{
	if (after == 0)
		return WATCH_DELETED;
	return before == 0 ? WATCH_ADDED : WATCH_MODIFIED;
}

/* Sends the change that made version at + 1, or a bookmark when there is none. */
static void send_change(struct world *world)
{
	const struct server *server = world->server;
	struct stream *stream = &world->stream;
	const uint32_t *before = server->history[stream->at], *after = before + OBJECTS;
	size_t object = 0;
	char text[32];

	if (stream->at >= server->version) {
		watch_on_event(world->watch, WATCH_BOOKMARK, version_text(stream->at, text), false,
			       world->now_us, &world->step);
	} else {
		while (object < OBJECTS - 1 && before[object] == after[object])
			object++;
		stream->at++;
		watch_on_event(world->watch, type_of(before[object], after[object]),
			       version_text(stream->at, text), false, world->now_us, &world->step);
		if (world->step.action == WATCH_CONTINUE)
			store(&world->mirror, object, after[object]);
	}
	obey(world);
	if (world->stream.kind == WATCH_WATCH)
		assert_mirror_is(world, stream->at);
}

static void send_initial(struct world *world)
{
	struct stream *stream = &world->stream;
	const uint32_t *row = world->server->history[stream->snapshot];
	char text[32];
	size_t object = stream->position;

	if (stream->position < OBJECTS) {
		stream->position++;
		if (row[object] == 0)
			return;
		watch_on_event(world->watch, WATCH_ADDED, version_text(row[object], text), false,
			       world->now_us, &world->step);
		if (world->step.action == WATCH_CONTINUE)
			store(&world->mirror, object, row[object]);
		obey(world);
		return;
	}
	watch_on_event(world->watch, WATCH_BOOKMARK, version_text(stream->snapshot, text), true,
		       world->now_us, &world->step);
	stream->at = stream->snapshot;
	stream->kind = WATCH_WATCH;
	obey(world);
}

/* Reads up to a page of items; a fault may come after any of them. */
static void send_page(struct world *world)
{
	struct stream *stream = &world->stream;
	const uint32_t *row = world->server->history[stream->snapshot];
	size_t end = stream->position + PAGE_ITEMS;
	char token[64] = "", text[32];

	if (stream->position > 0 && stream->snapshot < world->server->oldest) {
		fail_with(world, ERROR_EXPIRED, 410);
		return;
	}
	for (size_t object = stream->position; object < end && object < OBJECTS; object++) {
		if (row[object])
			store(&world->mirror, object, row[object]);
		if (fault(world))
			return;
	}
	if (end < OBJECTS)
		snprintf(token, sizeof(token), "%zu:%zu", stream->snapshot, end);
	watch_on_page(world->watch, version_text(stream->snapshot, text), token, world->now_us,
		      &world->step);
	obey(world);
}

static void progress(struct world *world)
{
	switch (world->stream.kind) {
	case WATCH_STREAM_LIST:
		if (world->server->refuses_streams)
			fail_with(world, ERROR_INVALID, 422);
		else if (!fault(world))
			send_initial(world);
		break;
	case WATCH_LIST_PAGE:
		send_page(world);
		break;
	case WATCH_WATCH:
		if (world->stream.at < world->server->oldest)
			fail_with(world, ERROR_EXPIRED, 410);
		else if (!fault(world))
			send_change(world);
		break;
	case WATCH_WAIT:
	case WATCH_CONTINUE:
		if (world->now_us < world->step.wait_until_us)
			world->now_us = world->step.wait_until_us;
		watch_next(world->watch, world->now_us, &world->step);
		assert_int_not_equal(world->step.action, WATCH_CONTINUE);
		obey(world);
		break;
	}
}

static void live(uint64_t seed)
{
	struct world world = {.server = calloc(1, sizeof(struct server)), .faults_per_mille = 60};

	random_init(&world.random, seed);
	world.watch = watch_new(seed);
	world.server->version = world.server->oldest = 1;
	world.server->refuses_streams = seed % 3 == 0;
	world.stream.kind = world.step.action = WATCH_WAIT;
	for (int i = 0; i < TURNS; i++) {
		world.now_us += (int64_t)random_below(&world.random, 500000);
		if (chance(&world, 600))
			server_change(&world);
		progress(&world);
	}
	world.faults_per_mille = 0;
	for (int i = 0; i < QUIET_TURNS; i++)
		progress(&world);
	while (world.stream.kind == WATCH_WATCH && world.stream.at < world.server->version)
		progress(&world);
	assert_int_equal(world.stream.kind, WATCH_WATCH);
	assert_true(watch_synced(world.watch));
	assert_mirror_is(&world, world.server->version);
	watch_free(world.watch);
	free(world.server);
}

static void test_the_mirror_never_lies_and_catches_up(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		live(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_mirror_never_lies_and_catches_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
