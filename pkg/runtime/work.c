/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reconcile loop. A key travels: queue, reconcile, its writes in order, done.
 * Everything that can go wrong on the way ends in flight_end(), which gives the key back to the
 * queue with what came of it.
 */
#include "runtime/work.h"

#include <assert.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"

/* Sets in flight: enough to hide latency, few enough to leave a small API server room. */
#define PARALLEL_SETS   32
#define BACKOFF_BASE_US (5 * USEC_PER_MSEC)
#define BACKOFF_CAP_US  (60 * USEC_PER_SEC)
#define BACKOFF_JITTER  0.2

struct work {
	struct kube_client *client;
	struct work_options options;
	struct loop *loop;
	struct queue *queue;
	struct loop_timer turn;
	struct list flights;
	size_t n_flights;
	bool running;
	int64_t last_progress_us;
	struct metric_family *results, *latency, *duration, *depth, *in_flight;
};

struct flight;

/* One write that was sent. */
struct sending {
	struct flight *flight;
	struct kube_call *call; /* NULL: answered, or not sent yet */
};

/* One key's writes under way. */
struct flight {
	struct list link;
	struct work *work; /* NULL once the work was stopped: only the answers are awaited */
	uint32_t key;
	struct work_set set;
	struct sending sendings[LIMIT_WRITES_PER_RECONCILE]; /* of the set's writes */
	size_t n_sent, n_answered;
	int64_t began_us;
	struct error failed;  /* nothing more is sent */
	struct error refused; /* the first write that the server refused for good */
};

static void work_turn(void *context);
static void flight_go_on(struct flight *flight);

void work_set_clear(struct work_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->n_writes; i++)
		mem_free(set->writes[i].body);
	*set = (struct work_set){0};
}

static void copy_name(char *to, size_t size, struct str name)
{
	assert(name.len < size);
	if (name.len)
		memcpy(to, name.data, name.len);
	to[name.len] = '\0';
}

struct work_write *work_set_add(struct work_set *set, enum kube_verb verb,
				const struct api_type *type, struct str namespace, struct str name)
{
	assert(set->n_writes < LIMIT_WRITES_PER_RECONCILE);
	struct work_write *write = &set->writes[set->n_writes++];

	*write = (struct work_write){.verb = verb, .type = type};
	copy_name(write->namespace, sizeof(write->namespace), namespace);
	copy_name(write->name, sizeof(write->name), name);
	return write;
}

void work_write_set_uid(struct work_write *write, struct str uid)
{
	copy_name(write->uid, sizeof(write->uid), utf8_prefix(uid, LIMIT_NAME));
}

/* Tells how long the queue is, whenever that may have changed. */
static void show_depth(struct work *work)
{
	const char *const values[] = {work->options.name};

	metric_set(work->depth, values, (double)queue_depth(work->queue));
	metric_set(work->in_flight, values, (double)queue_processing(work->queue));
}

static void register_metrics(struct work *work)
{
	static const char *const by_result[] = {"controller", "result", NULL};
	static const char *const by_controller[] = {"controller", NULL};
	static const double seconds[] = {0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03,
					 0.1,    0.3,    1,     3,     10,   30};
	struct metrics *metrics = work->options.metrics;

	if (!metrics)
		return;
	work->results = metrics_counter(metrics, "gpuqos_reconcile_total", "Reconciles by outcome.",
					by_result);
	work->latency = metrics_histogram(metrics, "gpuqos_workqueue_latency_seconds",
					  "How long a key waited after it was due.", by_controller,
					  seconds, ARRAY_SIZE(seconds));
	work->duration = metrics_histogram(metrics, "gpuqos_reconcile_duration_seconds",
					   "From taking a key to the answer of its last write.",
					   by_controller, seconds, ARRAY_SIZE(seconds));
	work->depth = metrics_gauge(metrics, "gpuqos_workqueue_depth",
				    "Keys that wait to be reconciled.", by_controller);
	work->in_flight = metrics_gauge(metrics, "gpuqos_workqueue_in_flight",
					"Keys that are being reconciled.", by_controller);
	show_depth(work);
}

struct work *work_new(struct kube_client *client, const struct work_options *options)
{
	static const struct queue_options backoff = {BACKOFF_BASE_US, BACKOFF_CAP_US,
						     BACKOFF_JITTER};
	struct work *work = mem_alloc(sizeof(*work));

	work->client = client;
	work->options = *options;
	work->loop = kube_client_loop(client);
	work->queue = queue_new(&backoff, options->seed);
	work->last_progress_us = loop_now(work->loop);
	list_init(&work->flights);
	loop_timer_init(&work->turn, work->loop, "reconcile", work_turn, work);
	register_metrics(work);
	return work;
}

void work_free(struct work *work)
{
	if (!work)
		return;
	work_stop(work);
	loop_timer_clear(&work->turn);
	queue_free(work->queue);
	mem_free(work);
}

/* Looks again when the next key is due, if another set may be started. */
static void arm(struct work *work)
{
	if (work->running && work->n_flights < PARALLEL_SETS)
		loop_timer_set(&work->turn, queue_next_due(work->queue, loop_now(work->loop)));
}

static void count(struct work *work, const char *result)
{
	if (work->results)
		metric_add(work->results, (const char *const[]){work->options.name, result}, 1);
}

static void log_failure(struct work *work, uint32_t key, const struct error *err)
{
	struct buf text;

	buf_init(&text, LIMIT_LOG_LINE);
	if (work->options.describe)
		work->options.describe(work->options.context, key, &text);
	log_warning(work->options.log, "reconcile failed, will try again",
		    LOG_CSTR("controller", work->options.name), LOG_STR("key", buf_str(&text)),
		    LOG_CSTR("error", err->message),
		    LOG_INT("failures", (int64_t)queue_failures(work->queue, key)));
	buf_clear(&text);
}

/* A key is never lost: whatever failed is tried again. Quietly, where it is nobody's failure: with
 * a conflict somebody wrote meanwhile, and the watch will show it; without the lease the next start
 * takes it up. */
static void key_failed(struct work *work, uint32_t key, const struct error *err)
{
	bool quiet = err->kind == ERROR_CONFLICT || err->kind == ERROR_FENCED ||
		     err->kind == ERROR_CANCELLED;

	count(work, error_kind_name(err->kind));
	queue_add_failed(work->queue, key, err->retry_after_us, loop_now(work->loop));
	if (!quiet)
		log_failure(work, key, err);
}

static void key_succeeded(struct work *work, uint32_t key, int64_t look_again_us)
{
	count(work, "success");
	queue_forget(work->queue, key);
	if (look_again_us != TIME_NEVER)
		queue_add_at(work->queue, key, look_again_us, loop_now(work->loop));
}

static void key_done(struct work *work, uint32_t key, int64_t began_us)
{
	int64_t now = loop_now(work->loop);

	if (work->duration)
		metric_observe(work->duration, (const char *const[]){work->options.name},
			       (double)(now - began_us) / USEC_PER_SEC);
	work->last_progress_us = now;
	queue_done(work->queue, key, now);
	show_depth(work);
	arm(work);
}

static void flight_free(struct flight *flight)
{
	work_set_clear(&flight->set);
	mem_free(flight);
}

static void flight_end(struct flight *flight)
{
	const struct error *err =
		flight->failed.kind != ERROR_NONE ? &flight->failed : &flight->refused;
	struct work *work = flight->work;

	list_unlink(&flight->link);
	work->n_flights--;
	if (err->kind != ERROR_NONE)
		key_failed(work, flight->key, err);
	else
		key_succeeded(work, flight->key, flight->set.look_again_us);
	key_done(work, flight->key, flight->began_us);
	flight_free(flight);
}

/* What another policy of the cluster forbids, say, it forbids at the next try too: the writes
 * behind it must not wait for that for ever. Anything else may have passed a moment later. */
static bool is_refusal(const struct error *err)
{
	return err->kind == ERROR_INVALID || err->kind == ERROR_FORBIDDEN;
}

/* Whether the server has answered, so that another request may fare better. */
static bool is_of_the_write(const struct error *err)
{
	switch (err->kind) {
	case ERROR_THROTTLED:
	case ERROR_UNAUTHORIZED:
	case ERROR_CANCELLED:
	case ERROR_FENCED:
	case ERROR_SYSTEM:
		return false;
	case ERROR_UNAVAILABLE:
		return err->http_status == 500;
	case ERROR_NONE:
	case ERROR_INVALID:
	case ERROR_LIMIT:
	case ERROR_NOT_FOUND:
	case ERROR_CONFLICT:
	case ERROR_EXISTS:
	case ERROR_EXPIRED:
	case ERROR_BUDGET:
	case ERROR_FORBIDDEN:
	case ERROR_TIMEOUT:
		return true;
	}
	return false;
}

static bool is_fine(const struct work_write *write, enum error_kind kind)
{
	return (kind == ERROR_NOT_FOUND && write->missing_is_fine) ||
	       (kind == ERROR_EXISTS && write->exists_is_fine);
}

/* What a failed write means for those of its set. */
static void take_failure(struct flight *flight, const struct work_write *write,
			 const struct error *err)
{
	struct error *kept;

	if (write->may_fail && is_of_the_write(err))
		return;
	kept = write->required || !is_refusal(err) ? &flight->failed : &flight->refused;
	if (kept->kind == ERROR_NONE)
		*kept = *err;
}

static void on_written(void *context, const struct kube_answer *answer, const struct error *err)
{
	struct sending *sending = context;
	struct flight *flight = sending->flight;
	struct work *work = flight->work;
	struct work_write *write = &flight->set.writes[sending - flight->sendings];

	sending->call = NULL;
	flight->n_answered++;
	if (!work) {
		if (flight->n_answered == flight->n_sent)
			flight_free(flight);
		return;
	}
	if (err && is_fine(write, err->kind))
		err = NULL;
	if (work->options.written)
		work->options.written(work->options.context, flight->key, write, answer, err);
	if (err)
		take_failure(flight, write, err);
	flight_go_on(flight);
}

static void send_next(struct flight *flight)
{
	struct sending *sending = &flight->sendings[flight->n_sent];
	const struct work_write *write = &flight->set.writes[flight->n_sent++];
	struct kube_request request = {
		.verb = write->verb,
		.type = write->type,
		.namespace = str_from(write->namespace),
		.name = str_from(write->name),
		.subresource = write->subresource,
		.body = {write->body, write->body_len},
		.fenced = true,
		.field_manager = write->field_manager,
	};
	struct kube_handlers handlers = {.on_done = on_written, .context = sending};

	assert(!write->required || !write->unawaited);
	sending->flight = flight;
	sending->call = kube_send(flight->work->client, KUBE_WRITE, &request, &handlers);
}

/* Whether the next write may be sent: all before it are answered, or need not be. */
static bool may_send(const struct flight *flight)
{
	if (flight->n_sent == flight->set.n_writes || flight->failed.kind != ERROR_NONE)
		return false;
	for (size_t i = 0; i < flight->n_sent; i++)
		if (flight->sendings[i].call && !flight->set.writes[i].unawaited)
			return false;
	return true;
}

static void flight_go_on(struct flight *flight)
{
	while (may_send(flight))
		send_next(flight);
	if (flight->n_answered == flight->n_sent)
		flight_end(flight);
}

static void flight_start(struct work *work, uint32_t key, struct work_set *set, int64_t began_us)
{
	struct flight *flight = mem_alloc(sizeof(*flight));

	flight->work = work;
	flight->key = key;
	flight->set = *set;
	flight->began_us = began_us;
	list_append(&work->flights, &flight->link);
	work->n_flights++;
	flight_go_on(flight);
}

static void reconcile(struct work *work, uint32_t key)
{
	struct work_set set = {.look_again_us = TIME_NEVER};
	struct error err = {0};
	int64_t began_us = loop_now(work->loop);

	if (work->options.reconcile(work->options.context, key, &set, &err) < 0) {
		key_failed(work, key, &err);
	} else if (set.n_writes) {
		flight_start(work, key, &set, began_us);
		arm(work);
		return;
	} else {
		key_succeeded(work, key, set.look_again_us);
	}
	work_set_clear(&set);
	key_done(work, key, began_us);
}

static void work_turn(void *context)
{
	struct work *work = context;
	uint32_t key;
	int64_t waited_us;

	if (!work->running || work->n_flights >= PARALLEL_SETS)
		return;
	if (queue_take(work->queue, loop_now(work->loop), &key, &waited_us) == QUEUE_EMPTY) {
		arm(work);
		return;
	}
	work->last_progress_us = loop_now(work->loop);
	show_depth(work);
	if (work->latency)
		metric_observe(work->latency, (const char *const[]){work->options.name},
			       (double)waited_us / USEC_PER_SEC);
	reconcile(work, key);
}

void work_start(struct work *work)
{
	work->running = true;
	arm(work);
}

void work_stop(struct work *work)
{
	work->running = false;
	loop_timer_set(&work->turn, TIME_NEVER);
	list_for_each_safe(it, &work->flights) {
		struct flight *flight = container_of(it, struct flight, link);

		list_unlink(&flight->link);
		queue_done(work->queue, flight->key, loop_now(work->loop));
		flight->work = NULL;
		for (size_t i = 0; i < flight->n_sent; i++)
			if (flight->sendings[i].call)
				kube_cancel(flight->sendings[i].call);
	}
	work->n_flights = 0;
	show_depth(work);
}

bool work_running(const struct work *work)
{
	return work->running;
}

void work_add(struct work *work, uint32_t key)
{
	work_add_at(work, key, loop_now(work->loop));
}

/* Who was idle has not been without progress for so long. */
void work_add_at(struct work *work, uint32_t key, int64_t due_us)
{
	int64_t now = loop_now(work->loop);

	if (!work_due(work))
		work->last_progress_us = now;
	queue_add_at(work->queue, key, due_us, now);
	show_depth(work);
	arm(work);
}

void work_drop(struct work *work, uint32_t key)
{
	queue_drop(work->queue, key);
	show_depth(work);
}

size_t work_depth(const struct work *work)
{
	return queue_depth(work->queue);
}

int64_t work_last_progress_us(const struct work *work)
{
	return work->last_progress_us;
}

bool work_due(const struct work *work)
{
	int64_t now = loop_now(work->loop);

	return queue_processing(work->queue) > 0 || queue_next_due(work->queue, now) <= now;
}
