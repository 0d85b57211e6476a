/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A round: gather the questions, ask one after the other, wait for the next interval. Between two
 * answers tenants may come and go, so an answer looks for its objectives when it comes.
 */
#include "controller/objectives/objectives.h"

#include "base/clock.h"
#include "base/macros.h"
#include "base/mem.h"
#include "base/table.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "controller/objectives/figures.h"
#include "controller/objectives/readings.h"
#include "ctl/backoff.h"
#include "prom/client.h"
#include "prom/device_series.h"
#include "prom/preset.h"

#define BUSY_US (USEC_PER_SEC / 10) /* until it is asked again whether an old query is over */
#define TELL_US USEC_PER_MIN        /* between two lines of the log about refused questions */
#define LATE    3                   /* questions in a row that have no answer in time: it is down */
#define MEMORY  (8 * 1024 * 1024)   /* of a round's questions; as much of one answer's readings */

struct objectives {
	struct objectives_options options;
	struct prom *prom; /* NULL: none is configured */
	struct loop_timer timer;
	struct loop_timer silence; /* every interval, whether answers come or not */
	struct random random;
	struct backoff backoff;
	struct arena memory;        /* of: */
	struct question *questions; /* of this round */
	size_t n, next;             /* next: that is asked, or will be, */
	enum device_series series;  /* after this one */
	struct arena scratch;
	struct buf query;
	bool running;
	int64_t began_us, told_us;
	unsigned int late; /* questions in a row that had no answer in time */
	struct objectives_stats stats;
};

static struct slo_moment moment_of(const struct objectives *objectives)
{
	struct loop *loop = objectives->options.loop;

	return (struct slo_moment){loop_now(loop), clock_real(loop_clock(loop)),
				   objectives->options.config->interval_us};
}

static struct readings readings_of(struct objectives *objectives)
{
	return (struct readings){objectives->options.cluster, &objectives->scratch,
				 moment_of(objectives)};
}

static void fail(struct objectives *objectives, const struct question *question,
		 enum objective_reason reason)
{
	struct readings readings = readings_of(objectives);

	readings_fail(&readings, question, reason);
	objectives->options.touched(objectives->options.context);
}

/* --- questions */

static bool is_known(const struct objectives *objectives, const struct question *question)
{
	for (size_t i = 0; i < objectives->n; i++)
		if (question_equal(&objectives->questions[i], question))
			return true;
	return false;
}

/* False where there is no memory for it: it is then asked by nobody in this round. */
static bool add_question(struct objectives *objectives, struct question question, size_t room)
{
	char *text;

	if (is_known(objectives, &question))
		return true;
	text = arena_strndup(&objectives->memory, question.query.data, question.query.len);
	if (!text || objectives->n == room)
		return false;
	question.query.data = text;
	objectives->questions[objectives->n++] = question;
	return true;
}

static void gather(struct objectives *objectives)
{
	const struct cluster *cluster = objectives->options.cluster;
	size_t room = 0;

	arena_reset(&objectives->memory);
	objectives->n = objectives->next = 0;
	for (uint32_t i = cluster_tenant_next(cluster, 0); i != TABLE_NONE;
	     i = cluster_tenant_next(cluster, i + 1))
		room += cluster_objective_count(cluster, i);
	room = MIN(room, LIMIT_QUESTIONS);
	objectives->questions =
		arena_alloc(&objectives->memory, MAX(room, 1) * sizeof(*objectives->questions));
	if (!objectives->questions)
		return;
	for (uint32_t i = cluster_tenant_next(cluster, 0); i != TABLE_NONE;
	     i = cluster_tenant_next(cluster, i + 1))
		for (size_t k = 0; k < cluster_objective_count(cluster, i); k++)
			if (!add_question(objectives,
					  question_of(cluster_objective(cluster, i, k).spec), room))
				return;
}

static bool has_question(const struct cluster *cluster, uint32_t tenant,
			 const struct question *question)
{
	for (size_t i = 0; i < cluster_objective_count(cluster, tenant); i++) {
		struct question own = question_of(cluster_objective(cluster, tenant, i).spec);

		if (question_equal(question, &own))
			return true;
	}
	return false;
}

/* The namespaces of all tenants that have the question. */
static size_t list_namespaces(struct objectives *objectives, const struct question *question,
			      struct str **ret_names)
{
	const struct cluster *cluster = objectives->options.cluster;
	struct str *names;
	size_t n = 0, room = 0;

	for (uint32_t i = cluster_namespace_next(cluster, 0); i != TABLE_NONE;
	     i = cluster_namespace_next(cluster, i + 1))
		room++;
	arena_reset(&objectives->scratch);
	names = arena_alloc(&objectives->scratch, MAX(room, 1) * sizeof(*names));
	for (uint32_t i = cluster_namespace_next(cluster, 0); names && i != TABLE_NONE;
	     i = cluster_namespace_next(cluster, i + 1)) {
		uint32_t tenant = cluster_tenant_of(cluster, i);

		if (tenant != TABLE_NONE && has_question(cluster, tenant, question))
			names[n++] = cluster_namespace_name(cluster, i);
	}
	*ret_names = names;
	return n;
}

/* False: nobody has a namespace to ask about. */
static bool write_query(struct objectives *objectives, const struct question *question)
{
	struct str *namespaces;
	size_t n;

	buf_reset(&objectives->query);
	if (question->preset == PRESET_NONE) {
		buf_add_str(&objectives->query, question->query);
		return true;
	}
	n = list_namespaces(objectives, question, &namespaces);
	if (n == 0)
		return false;
	prom_preset_query(question->preset, question->percentile, namespaces, n,
			  &objectives->query);
	return true;
}

/* --- answers */

static void reset_backoff(struct objectives *objectives)
{
	int64_t base_us = objectives->options.config->interval_us;
	int64_t most_us = MAX(base_us, OBJECTIVES_BACKOFF_US);

	backoff_init(&objectives->backoff, base_us, most_us, 0.1, 10 * most_us);
}

static void next_round_at(struct objectives *objectives, int64_t at_us)
{
	objectives->stats.round_us = loop_now(objectives->options.loop) - objectives->began_us;
	loop_timer_set(&objectives->timer, at_us);
}

/* Whether it is Prometheus that is not to be had, and not this question that is wrong. What is slow
 * may be the one as well as the other: several in a row tell. */
static bool is_down(const struct objectives *objectives, const struct error *err)
{
	return objectives->late >= LATE || (err->kind != ERROR_INVALID &&
					    err->kind != ERROR_LIMIT && err->kind != ERROR_TIMEOUT);
}

static enum objective_reason reason_of(const struct error *err)
{
	static const enum objective_reason reasons[ERROR_SYSTEM + 1] = {
		[ERROR_INVALID] = OBJECTIVE_REASON_REFUSED,
		[ERROR_LIMIT] = OBJECTIVE_REASON_TOO_LARGE,
		[ERROR_TIMEOUT] = OBJECTIVE_REASON_TIMEOUT,
		[ERROR_FORBIDDEN] = OBJECTIVE_REASON_FORBIDDEN,
	};

	/* The first of all reasons is none of Unknown's. */
	return reasons[err->kind] ? reasons[err->kind] : OBJECTIVE_REASON_SOURCE_DOWN;
}

static void went_down(struct objectives *objectives, const struct error *err)
{
	int64_t now_us = loop_now(objectives->options.loop);

	if (!objectives->stats.down)
		log_warning(objectives->options.log,
			    "Prometheus does not answer: nothing is known of objectives",
			    LOG_CSTR("error", err->message));
	objectives->stats.down = true;
	objectives->stats.failed++;
	fail(objectives, NULL, reason_of(err));
	cluster_forget_series(objectives->options.cluster);
	next_round_at(objectives,
		      now_us + backoff_fail(&objectives->backoff, now_us, &objectives->random));
}

/* Now and then: what is refused once is refused in each round. */
static bool take_turn_to_tell(struct objectives *objectives)
{
	int64_t now_us = loop_now(objectives->options.loop);

	if (objectives->told_us != 0 && now_us - objectives->told_us < TELL_US)
		return false;
	objectives->told_us = now_us;
	return true;
}

static void refused(struct objectives *objectives, const struct question *question, struct str why,
		    enum objective_reason reason)
{
	objectives->stats.failed++;
	if (take_turn_to_tell(objectives))
		log_warning(objectives->options.log,
			    "a query has no usable answer: nothing is known of its objectives",
			    LOG_CSTR("preset", objective_preset_text(question->preset)),
			    LOG_STR("query", question->query), LOG_STR("error", why));
	fail(objectives, question, reason);
}

static void take(struct objectives *objectives, const struct question *question,
		 const struct prom_answer *answer)
{
	struct readings readings = readings_of(objectives);
	struct error err;

	if (!str_empty(answer->warning)) {
		refused(objectives, question, answer->warning, OBJECTIVE_REASON_PARTIAL);
		return;
	}
	if (readings_take(&readings, question, answer, &err) < 0) {
		refused(objectives, question, str_from(err.message), reason_of(&err));
		return;
	}
	objectives->stats.answered++;
	objectives->options.touched(objectives->options.context);
}

static void ask(struct objectives *objectives);

/* Prometheus answered, or did not. False: it is not there, and the round is over. */
static bool note_answer(struct objectives *objectives, const struct error *err)
{
	objectives->late = err && err->kind == ERROR_TIMEOUT ? objectives->late + 1 : 0;
	if (err && is_down(objectives, err)) {
		went_down(objectives, err);
		return false;
	}
	if (objectives->stats.down) {
		log_info(objectives->options.log, "Prometheus answers again");
		reset_backoff(objectives);
	}
	objectives->stats.down = false;
	return true;
}

static void on_answer(void *context, const struct prom_answer *answer, const struct error *err)
{
	struct objectives *objectives = context;
	const struct question *question = &objectives->questions[objectives->next];

	if (!objectives->running || !note_answer(objectives, err))
		return;
	if (err)
		refused(objectives, question, str_from(err->message), reason_of(err));
	else
		take(objectives, question, answer);
	objectives->next++;
	ask(objectives);
}

/* --- figures of devices */

static struct series_moment series_moment_of(const struct objectives *objectives)
{
	struct slo_moment moment = moment_of(objectives);

	return (struct series_moment){moment.now_us, moment.real_us};
}

static void lost_series(struct objectives *objectives, struct str why)
{
	enum device_series series = objectives->series;
	struct series_moment moment = series_moment_of(objectives);

	objectives->stats.failed++;
	cluster_take_series(objectives->options.cluster, series, NULL, 0, &moment);
	if (take_turn_to_tell(objectives))
		log_warning(
			objectives->options.log,
			"a query has no usable answer: nothing is known by these series",
			LOG_CSTR("exporter", exporter_text(device_series_kind(series).exporter)),
			LOG_CSTR("quantity",
				 figure_quantity_text(device_series_kind(series).quantity)),
			LOG_STR("error", why));
}

static void on_series(void *context, const struct prom_answer *answer, const struct error *err)
{
	struct objectives *objectives = context;
	const struct figures_taking taking = {objectives->options.cluster, &objectives->scratch,
					      series_moment_of(objectives)};
	struct error why;

	if (!objectives->running || !note_answer(objectives, err))
		return;
	if (err)
		lost_series(objectives, str_from(err->message));
	else if (figures_take(&taking, objectives->series, answer, &why) < 0)
		lost_series(objectives, str_from(why.message));
	else
		objectives->stats.answered++;
	objectives->series++;
	ask(objectives);
}

/* False: all were asked. */
static bool ask_series(struct objectives *objectives)
{
	const struct config_prometheus *config = objectives->options.config;
	const struct prom_jobs jobs = {config->jobs, config->n_jobs};
	struct error err;

	for (;; objectives->series++) {
		objectives->series =
			figures_next(objectives->series, objectives->options.config->exporters);
		if (objectives->series == DEVICE_SERIES_COUNT)
			return false;
		buf_reset(&objectives->query);
		prom_device_series_query(objectives->series, &jobs, &objectives->query);
		if (prom_query(objectives->prom, buf_str(&objectives->query), on_series, objectives,
			       &err) == 0)
			return true;
		lost_series(objectives, str_from(err.message));
	}
}

/* The next question that can be asked; the round is over where there is none. Figures come before
 * verdicts: who looks for a pod to blame then has those of the same round. */
static void ask(struct objectives *objectives)
{
	struct error err;

	if (ask_series(objectives))
		return;
	for (; objectives->next < objectives->n; objectives->next++) {
		const struct question *question = &objectives->questions[objectives->next];

		if (!write_query(objectives, question)) {
			fail(objectives, question, OBJECTIVE_REASON_ABSENT);
			continue;
		}
		if (objectives->query.overflowed)
			error_set(&err, ERROR_LIMIT, "a query of more than %d bytes",
				  LIMIT_PROM_QUERY);
		else if (prom_query(objectives->prom, buf_str(&objectives->query), on_answer,
				    objectives, &err) == 0)
			return;
		refused(objectives, question, str_from(err.message), reason_of(&err));
	}
	next_round_at(objectives,
		      MAX(objectives->began_us + objectives->options.config->interval_us,
			  loop_now(objectives->options.loop)));
}

static void begin_round(void *context)
{
	struct objectives *objectives = context;
	int64_t now_us = loop_now(objectives->options.loop);

	if (!objectives->running)
		return;
	if (!objectives->prom) {
		fail(objectives, NULL, OBJECTIVE_REASON_NO_QUERY);
		loop_timer_set(&objectives->timer,
			       now_us + objectives->options.config->interval_us);
		return;
	}
	if (prom_is_busy(objectives->prom)) {
		loop_timer_set(&objectives->timer, now_us + BUSY_US);
		return;
	}
	objectives->began_us = now_us;
	objectives->series = 0;
	gather(objectives);
	ask(objectives);
}

/* However slow a round is: what it has not come to for too long is not known. */
static void pass_time(void *context)
{
	struct objectives *objectives = context;
	struct slo_moment moment = moment_of(objectives);

	if (!objectives->running)
		return;
	cluster_pass_series(objectives->options.cluster, moment.now_us);
	if (cluster_pass_readings(objectives->options.cluster, &moment))
		objectives->options.touched(objectives->options.context);
	loop_timer_set(&objectives->silence, moment.now_us + moment.interval_us);
}

/* --- life */

static int new_prom(struct objectives *objectives, struct error *err)
{
	const struct config_prometheus *config = objectives->options.config;

	if (!config->access.url)
		return 0;
	if (prom_new(objectives->options.loop,
		     &(struct prom_options){config->access, config->timeout_us}, &objectives->prom,
		     err) < 0)
		return error_wrap(err, "prometheus");
	return 0;
}

int objectives_new(const struct objectives_options *options, struct objectives **ret_objectives,
		   struct error *err)
{
	CLEANUP(objectives_free) struct objectives *objectives = mem_alloc(sizeof(*objectives));

	objectives->options = *options;
	random_init(&objectives->random, options->seed);
	reset_backoff(objectives);
	arena_init(&objectives->memory, MEMORY);
	arena_init(&objectives->scratch, MEMORY);
	buf_init(&objectives->query, LIMIT_PROM_QUERY);
	loop_timer_init(&objectives->timer, options->loop, "objectives", begin_round, objectives);
	loop_timer_init(&objectives->silence, options->loop, "silence of objectives", pass_time,
			objectives);
	if (new_prom(objectives, err) < 0)
		return -1;
	*ret_objectives = TAKE(objectives);
	return 0;
}

void objectives_free(struct objectives *objectives)
{
	if (!objectives)
		return;
	loop_timer_clear(&objectives->timer);
	loop_timer_clear(&objectives->silence);
	prom_free(objectives->prom);
	arena_clear(&objectives->memory);
	arena_clear(&objectives->scratch);
	buf_clear(&objectives->query);
	mem_free(objectives);
}

void objectives_start(struct objectives *objectives)
{
	objectives->running = true;
	cluster_forget_verdicts(objectives->options.cluster);
	loop_timer_set(&objectives->timer, loop_now(objectives->options.loop));
	loop_timer_set(&objectives->silence, loop_now(objectives->options.loop));
}

void objectives_stop(struct objectives *objectives)
{
	if (!objectives)
		return;
	objectives->running = false;
	cluster_forget_series(objectives->options.cluster);
	loop_timer_clear(&objectives->timer);
	loop_timer_clear(&objectives->silence);
}

struct objectives_stats objectives_stats(const struct objectives *objectives)
{
	struct objectives_stats stats = objectives->stats;

	stats.exporters = objectives->options.config->exporters;
	return stats;
}
