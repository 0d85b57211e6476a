/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_SURVEY_H
#define GPUQOS_AGENT_SURVEY_H

#include <stdbool.h>

#include "agent/sources.h"
#include "loop/loop.h"

/*
 * Looks at the machine now and then, in the loop's job thread: hwloc reads some hundred files of
 * sysfs, and a driver may take seconds to answer. One look at a time.
 */
struct survey;

struct survey_options {
	struct sources_options sources;
	int64_t every_us;
	/* The machine as it was just seen, borrowed until the next call; NULL with @err: it could
	 * not be read, and the view before still stands. */
	void (*on_view)(void *context, const struct sources_view *view, const struct error *err);
	void *context;
};

/* A layout's memory, in an arena or while it is written; what a machine takes is a tenth of it. */
#define SURVEY_MEMORY (4 * 1024 * 1024)

struct survey *survey_new(struct loop *loop, const struct survey_options *options);
void survey_start(struct survey *survey); /* the first look, at once */
/* A look that is under way ends by itself, unheard. */
void survey_free(struct survey *survey);

/* Monotonic µs: when the machine was last read, TIME_NEVER before the first time; and when a look
 * last ended, well or not, which is the start of the program before the first. */
int64_t survey_read_us(const struct survey *survey);
int64_t survey_ended_us(const struct survey *survey);

DEFINE_CLEANUP(struct survey *, survey_free)

#endif
