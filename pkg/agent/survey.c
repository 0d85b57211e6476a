/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look owns its arena and outlives its survey where it must: the job thread sees nothing else.
 * The last good one is kept, since what was read is borrowed from it. The sources are the look's
 * while it is under way, and the survey's else.
 *
 * hwloc builds and tears down some hundred kilobytes each time, in the heap of the job thread; what
 * malloc keeps of that for the next time is given back, since that is a minute away.
 */
#include "agent/survey.h"

#include <malloc.h>

#include "agent/machine.h"
#include "base/clock.h"
#include "base/mem.h"

struct look {
	struct survey *survey; /* NULL: gone meanwhile */
	struct sources *sources;
	struct arena arena;
	struct sources_view view;
	struct error err;
	bool good;
};

struct survey {
	struct loop *loop;
	struct survey_options options;
	struct loop_timer timer;
	struct sources *sources;
	struct look *running, *last; /* NULL: none */
	int64_t read_us, ended_us;
};

static void look_free(struct look *look)
{
	if (!look)
		return;
	arena_clear(&look->arena);
	sources_free(look->sources);
	mem_free(look);
}

static void look_work(void *data)
{
	struct look *look = data;

	look->good = sources_read(look->sources, &look->arena, &look->view, &look->err) == 0;
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

static void keep(struct survey *survey, struct look *look)
{
	struct look *before = survey->last;

	survey->last = look;
	survey->read_us = loop_now(survey->loop);
	survey->options.on_view(survey->options.context, &look->view, NULL);
	look_free(before);
}

static void look_done(void *data, bool cancelled)
{
	struct look *look = data;
	struct survey *survey = look->survey;

	if (!survey || cancelled) {
		if (survey)
			survey->running = NULL;
		look_free(look);
		return;
	}
	survey->sources = TAKE(look->sources);
	survey->running = NULL;
	survey->ended_us = loop_now(survey->loop);
	loop_timer_set(&survey->timer, loop_now(survey->loop) + survey->options.every_us);
	if (look->good) {
		keep(survey, look);
	} else {
		survey->options.on_view(survey->options.context, NULL, &look->err);
		look_free(look);
	}
}

static void look_at_machine(void *context)
{
	struct survey *survey = context;
	struct look *look = mem_alloc(sizeof(*look));

	look->survey = survey;
	look->sources = TAKE(survey->sources);
	arena_init(&look->arena, SURVEY_MEMORY);
	survey->running = look;
	loop_job(survey->loop, "survey", look_work, look_done, look);
}

struct survey *survey_new(struct loop *loop, const struct survey_options *options)
{
	struct survey *survey = mem_alloc(sizeof(*survey));

	machine_prepare();
	survey->loop = loop;
	survey->options = *options;
	survey->sources = sources_new(&options->sources);
	survey->read_us = TIME_NEVER;
	survey->ended_us = loop_now(loop);
	loop_timer_init(&survey->timer, loop, "survey timer", look_at_machine, survey);
	return survey;
}

void survey_start(struct survey *survey)
{
	loop_defer(&survey->timer);
}

void survey_free(struct survey *survey)
{
	if (!survey)
		return;
	if (survey->running)
		survey->running->survey = NULL;
	loop_timer_clear(&survey->timer);
	look_free(survey->last);
	sources_free(survey->sources);
	mem_free(survey);
}

int64_t survey_read_us(const struct survey *survey)
{
	return survey->read_us;
}

int64_t survey_ended_us(const struct survey *survey)
{
	return survey->ended_us;
}
