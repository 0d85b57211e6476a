/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of the simulated API server, their versions, and the watches over them. */
#include "lib/world_api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "lib/world_shell.h"
#include "lib/world_watcher.h"

enum { QUEUE = 32, EVENTS = 120, LINE = 240 };

/* --- what happened */

static char lines[EVENTS][LINE];
static size_t n_lines;

void world_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(lines[n_lines++ % EVENTS], LINE, format, args);
	va_end(args);
}

void world_print_events(void)
{
	size_t first = n_lines > EVENTS ? n_lines - EVENTS : 0;

	for (size_t i = first; i < n_lines; i++)
		print_message("%s\n", lines[i % EVENTS]);
}

/* --- kinds */

static const struct kind {
	size_t offset, size;
	int count;
	const char *name;
} kinds[CLUSTER_KIND_COUNT] = {
#define X(id, member, text)                                         \
	[CLUSTER_##id] = {                                          \
		offsetof(struct world_state, member),               \
		sizeof(((struct world_state *)0)->member[0]),       \
		(int)ARRAY_SIZE(((struct world_state *)0)->member), \
		text,                                               \
	},
	WORLD_KINDS_X(X)
#undef X
};

static const enum cluster_kind listed[] = {
#define X(id, member, text) CLUSTER_##id,
	WORLD_KINDS_X(X)
#undef X
};

struct world_watch {
	unsigned int first, n;
	int index[QUEUE];
	uint64_t versions[QUEUE]; /* of the world, when it happened */
	unsigned char *copies;
};

static void *place(struct world_state *state, enum cluster_kind kind, int index)
{
	assert_true(index >= 0 && index < kinds[kind].count);
	return (unsigned char *)state + kinds[kind].offset + (size_t)index * kinds[kind].size;
}

struct world_object *world_object_of(struct world_state *state, enum cluster_kind kind, int index)
{
	return place(state, kind, index);
}

static void queue(struct world *w, enum cluster_kind kind, int index)
{
	struct world_watch *watch = &w->watches[kind];
	unsigned int at;

	if (watch->n == QUEUE)
		world_deliver(w, kind);
	at = (watch->first + watch->n++) % QUEUE;
	watch->index[at] = index;
	watch->versions[at] = w->counter;
	memcpy(watch->copies + at * kinds[kind].size, place(&w->api, kind, index),
	       kinds[kind].size);
}

struct world_object world_meta(struct world *w)
{
	return (struct world_object){
		.exists = true, .uid = ++w->counter, .created_us = world_second(w)};
}

void world_changed(struct world *w, enum cluster_kind kind, int index)
{
	world_object_of(&w->api, kind, index)->version = ++w->counter;
	queue(w, kind, index);
	world_watch_change(w, kind, index);
}

void world_gone(struct world *w, enum cluster_kind kind, int index)
{
	world_object_of(&w->api, kind, index)->exists = false;
	world_changed(w, kind, index);
}

/* --- watches */

bool world_deliver(struct world *w, enum cluster_kind kind)
{
	struct world_watch *watch = &w->watches[kind];
	int index;

	if (watch->n == 0)
		return false;
	index = watch->index[watch->first];
	memcpy(place(&w->seen, kind, index), watch->copies + watch->first * kinds[kind].size,
	       kinds[kind].size);
	watch->first = (watch->first + 1) % QUEUE;
	watch->n--;
	world_tell(w, kind, index);
	if (world_chance(w, 20) && world_object_of(&w->seen, kind, index)->exists)
		world_tell(w, kind, index);
	return true;
}

void world_deliver_all(struct world *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(listed); i++)
		while (world_deliver(w, listed[i]))
			;
}

void world_relist(struct world *w, enum cluster_kind kind)
{
	w->watches[kind].n = 0;
	memcpy(place(&w->seen, kind, 0), place(&w->api, kind, 0),
	       kinds[kind].size * (size_t)kinds[kind].count);
	cluster_begin_replace(w->shell->cluster, kind);
	for (int i = 0; i < kinds[kind].count; i++)
		if (world_object_of(&w->seen, kind, i)->exists)
			world_tell(w, kind, i);
	cluster_end_replace(w->shell->cluster, kind);
}

void world_list_all(struct world *w)
{
	size_t from = (size_t)world_below(w, ARRAY_SIZE(listed));

	for (size_t i = 0; i < ARRAY_SIZE(listed); i++)
		world_relist(w, listed[(from + i) % ARRAY_SIZE(listed)]);
}

bool world_seen_to(const struct world *w, uint64_t version)
{
	for (size_t i = 0; i < ARRAY_SIZE(listed); i++) {
		const struct world_watch *watch = &w->watches[listed[i]];

		if (watch->n > 0 && watch->versions[watch->first] <= version)
			return false;
	}
	return true;
}

bool world_all_seen(const struct world *w)
{
	return world_seen_to(w, UINT64_MAX);
}

/* --- chance */

int64_t world_below(struct world *w, int64_t bound)
{
	return (int64_t)random_below(&w->random, (uint64_t)bound);
}

bool world_chance(struct world *w, int one_in)
{
	return world_below(w, one_in) == 0;
}

/* --- the world */

void world_init(struct world *w, uint64_t seed)
{
	memset(w, 0, sizeof(*w));
	n_lines = 0;
	random_init(&w->random, seed);
	w->now_us = 1700000000 * WORLD_SECOND;
	w->only_profile = w->only_shape = WORLD_NONE;
	w->watches = mem_alloc_array(CLUSTER_KIND_COUNT, sizeof(*w->watches));
	memset(w->watches, 0, CLUSTER_KIND_COUNT * sizeof(*w->watches));
	for (size_t i = 0; i < ARRAY_SIZE(listed); i++)
		w->watches[listed[i]].copies = mem_alloc_array(QUEUE, kinds[listed[i]].size);
	world_watcher_init(w);
	world_shell_init(w);
}

void world_clear(struct world *w)
{
	world_shell_clear(w);
	world_watcher_clear(w);
	for (size_t i = 0; i < ARRAY_SIZE(listed); i++)
		mem_free(w->watches[listed[i]].copies);
	mem_free(w->watches);
}
