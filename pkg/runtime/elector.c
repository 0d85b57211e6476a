/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does what ctl/lease.h says: one request on the lease channel at a time, a timer, and a watch on
 * the one Lease. The fence asks the machine itself, with the clock read at that moment, so that a
 * process that was stopped for a minute finds out before it writes and not after; what had been
 * asked and was not sent by then, the kernel stops (loop/cutoff.h).
 */
#include "runtime/elector.h"

#include "api/body.h"
#include "api/decode.h"
#include "api/wire.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/mem.h"
#include "runtime/reflector.h"

struct elector {
	struct kube_client *client;
	struct elector_options options;
	struct loop *loop;
	struct lease *lease;
	struct reflector *watch;
	struct loop_timer timer;
	struct kube_call *call;
	struct arena arena;
	char field_selector[sizeof("metadata.name=") + LIMIT_NAME];
	bool leads;
	int64_t fence_us;        /* that the client was told; 0 while not leading */
	enum error_kind failing; /* NONE while the server answers */
	loop_fn released;
	void *released_context;
};

static void take_step(struct elector *elector, const struct lease_step *step);

static int64_t real_us(const struct elector *elector)
{
	return clock_real(loop_clock(elector->loop));
}

static bool may_send(void *context, int64_t now_us)
{
	const struct elector *elector = context;

	return lease_leads(elector->lease, now_us);
}

static void view_of(const struct wire_lease *wire, struct lease_view *view)
{
	*view = (struct lease_view){
		.exists = true,
		.record = {.holder = wire->spec.holder,
			   .duration_s = wire->spec.duration_s,
			   .transitions = wire->spec.transitions,
			   .acquire_us = wire->spec.acquire_us,
			   .renew_us = wire->spec.renew_us},
		.resource_version = wire->meta.resource_version,
	};
}

static int read_answer(struct elector *elector, const struct kube_answer *answer,
		       struct lease_view *view, struct error *err)
{
	struct api_bytes object;
	struct wire_lease wire;

	arena_reset(&elector->arena);
	if (api_open_answer(answer->body, answer->protobuf, &object, err) < 0 ||
	    api_decode(&wire_lease_schema, object, &elector->arena, &wire, err) < 0)
		return error_wrap(err, "Lease %.*s", STR_ARGS(elector->options.name));
	view_of(&wire, view);
	return 0;
}

static void failed(struct elector *elector, const struct error *err)
{
	struct lease_step step;

	/* Once for each kind: the tries go on every two seconds. */
	if (err->kind != ERROR_CONFLICT && err->kind != ERROR_EXISTS &&
	    err->kind != elector->failing)
		log_warning(elector->options.log, "lease request failed, will try again",
			    LOG_CSTR("error", err->message));
	elector->failing = err->kind;
	lease_on_failed(elector->lease, err, loop_now(elector->loop), real_us(elector), &step);
	take_step(elector, &step);
}

static void on_read(void *context, const struct kube_answer *answer, const struct error *err)
{
	struct elector *elector = context;
	struct lease_view view = {.exists = false};
	struct lease_step step;
	struct error bad = {0};

	elector->call = NULL;
	if (err && err->kind != ERROR_NOT_FOUND) {
		failed(elector, err);
	} else if (!err && read_answer(elector, answer, &view, &bad) < 0) {
		failed(elector, &bad);
	} else {
		elector->failing = ERROR_NONE;
		lease_on_read(elector->lease, &view, loop_now(elector->loop), real_us(elector),
			      &step);
		take_step(elector, &step);
	}
}

static void on_written(void *context, const struct kube_answer *answer, const struct error *err)
{
	struct elector *elector = context;
	struct lease_view view;
	struct lease_step step;
	struct error bad = {0};

	elector->call = NULL;
	if (err) {
		failed(elector, err);
	} else if (read_answer(elector, answer, &view, &bad) < 0) {
		failed(elector, &bad);
	} else {
		elector->failing = ERROR_NONE;
		lease_on_written(elector->lease, &view, answer->sent_us, loop_now(elector->loop),
				 &step);
		take_step(elector, &step);
	}
}

static void send_read(struct elector *elector, const struct lease_step *step)
{
	struct kube_request request = {
		.verb = KUBE_GET,
		.type = &api_leases,
		.namespace = elector->options.namespace,
		.name = elector->options.name,
		.timeout_us = step->timeout_us,
	};
	struct kube_handlers handlers = {.on_done = on_read, .context = elector};

	elector->call = kube_send(elector->client, KUBE_LEASE, &request, &handlers);
}

static void send_record(struct elector *elector, const struct lease_step *step)
{
	bool create = step->action == LEASE_CREATE;
	struct body_lease lease = {
		.namespace = elector->options.namespace,
		.name = elector->options.name,
		.resource_version = create ? STR_NONE : step->resource_version,
		.holder = step->record.holder,
		.duration_s = step->record.duration_s,
		.transitions = step->record.transitions,
		.acquire_us = step->record.acquire_us,
		.renew_us = step->record.renew_us,
	};
	struct kube_request request = {
		.verb = create ? KUBE_CREATE : KUBE_UPDATE,
		.type = &api_leases,
		.namespace = elector->options.namespace,
		.name = create ? STR_NONE : elector->options.name,
		.timeout_us = step->timeout_us,
	};
	struct kube_handlers handlers = {.on_done = on_written, .context = elector};
	struct buf body;

	buf_init(&body, LIMIT_JSON_OUTPUT);
	api_body_lease(&body, &lease);
	request.body = buf_str(&body);
	elector->call = kube_send(elector->client, KUBE_LEASE, &request, &handlers);
	buf_clear(&body);
}

/* Told in the order that keeps the promise: writes are fenced before anybody hears that the lease
 * is lost. */
static void tell(struct elector *elector, bool leads)
{
	if (leads == elector->leads)
		return;
	elector->leads = leads;
	if (leads) {
		elector->options.on_leading(elector->options.context);
	} else {
		kube_client_fence(elector->client);
		elector->options.on_lost(elector->options.context);
	}
}

static void take_step(struct elector *elector, const struct lease_step *step)
{
	int64_t wake_us = step->leads ? step->fence_us : TIME_NEVER;
	loop_fn released = elector->released;

	switch (step->action) {
	case LEASE_GET:
		send_read(elector, step);
		break;
	case LEASE_CREATE:
	case LEASE_UPDATE:
		send_record(elector, step);
		break;
	case LEASE_WAIT:
		wake_us = MIN(wake_us, step->wait_until_us);
		break;
	case LEASE_NONE:
		break;
	case LEASE_STOPPED:
		wake_us = TIME_NEVER;
		break;
	}
	loop_timer_set(&elector->timer, wake_us);
	if (step->leads && step->fence_us != elector->fence_us)
		kube_client_fence_at(elector->client, step->fence_us);
	elector->fence_us = step->leads ? step->fence_us : 0;
	tell(elector, step->leads);
	if (step->action == LEASE_STOPPED && released) {
		elector->released = NULL;
		released(elector->released_context);
	}
}

static void proceed(void *context)
{
	struct elector *elector = context;
	struct lease_step step;

	lease_next(elector->lease, loop_now(elector->loop), real_us(elector), &step);
	take_step(elector, &step);
}

static void seen(struct elector *elector, const struct lease_view *view)
{
	struct lease_step step;
	char holder[LIMIT_NAME + 1] = "";
	struct str before = lease_holder(elector->lease);

	if (before.len && before.len <= LIMIT_NAME)
		memcpy(holder, before.data, before.len);
	lease_on_watched(elector->lease, view, loop_now(elector->loop), real_us(elector), &step);
	if (elector->options.on_new_holder &&
	    !str_equal(lease_holder(elector->lease), str_from(holder)))
		elector->options.on_new_holder(elector->options.context,
					       lease_holder(elector->lease));
	take_step(elector, &step);
}

static int watch_apply(void *context, const void *object, struct arena *arena, struct error *err)
{
	struct lease_view view;

	(void)arena;
	(void)err;
	view_of(object, &view);
	seen(context, &view);
	return 0;
}

static int watch_remove(void *context, const void *object, struct arena *arena, struct error *err)
{
	const struct wire_lease *wire = object;
	struct lease_view view = {.exists = false, .resource_version = wire->meta.resource_version};

	(void)arena;
	(void)err;
	seen(context, &view);
	return 0;
}

/* A relist that no longer has the Lease says nothing here: the next try to take or renew it finds
 * out. */
static void watch_ignore(void *context)
{
	(void)context;
}

static void watch_lease(struct elector *elector)
{
	struct buf selector;

	buf_init(&selector, sizeof(elector->field_selector) - 1);
	buf_printf(&selector, "metadata.name=%.*s", STR_ARGS(elector->options.name));
	memcpy(elector->field_selector, selector.data, selector.len + 1);
	buf_clear(&selector);
	elector->watch =
		reflector_new(elector->client, &(struct reflector_options){
						       .type = &api_leases,
						       .namespace = elector->options.namespace,
						       .field_selector = elector->field_selector,
						       .sink = {.begin_replace = watch_ignore,
								.end_replace = watch_ignore,
								.abort_replace = watch_ignore,
								.apply = watch_apply,
								.remove = watch_remove,
								.context = elector},
						       .seed = elector->options.seed + 1,
						       .log = elector->options.log,
					       });
}

/* Roughly a DNS name: enough to tell a slip from a name that a Lease can have. */
static bool is_object_name(struct str name)
{
	if (str_empty(name) || name.len > LIMIT_NAME)
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.data[i];
		bool inside = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
		bool at_end = i == 0 || i + 1 == name.len;

		if (!inside && (at_end || (c != '-' && c != '.')))
			return false;
	}
	return true;
}

static int check_name(const char *what, struct str name, struct error *err)
{
	if (is_object_name(name))
		return 0;
	return error_set(err, ERROR_INVALID, "%s \"%.*s\" is no name that Kubernetes takes", what,
			 (int)MIN(name.len, (size_t)LIMIT_NAME), name.data);
}

int elector_new(struct kube_client *client, const struct elector_options *options,
		struct elector **ret_elector, struct error *err)
{
	struct lease *lease = NULL;

	if (check_name("the Lease's namespace", options->namespace, err) < 0 ||
	    check_name("the Lease's name", options->name, err) < 0)
		return -1;
	if (lease_new(&options->lease, options->seed, &lease, err) < 0)
		return -1;
	struct elector *elector = mem_alloc(sizeof(*elector));

	elector->client = client;
	elector->options = *options;
	elector->loop = kube_client_loop(client);
	elector->lease = lease;
	arena_init(&elector->arena, LIMIT_DECODE_ARENA);
	loop_timer_init(&elector->timer, elector->loop, "elector", proceed, elector);
	kube_client_set_fence(client, may_send, elector);
	kube_client_limit_fenced(client,
				 options->lease.duration_us - options->lease.renew_deadline_us);
	watch_lease(elector);
	*ret_elector = elector;
	return 0;
}

void elector_free(struct elector *elector)
{
	if (!elector)
		return;
	kube_client_set_fence(elector->client, NULL, NULL);
	loop_timer_clear(&elector->timer);
	kube_abandon(elector->call);
	reflector_free(elector->watch);
	lease_free(elector->lease);
	arena_clear(&elector->arena);
	mem_free(elector);
}

void elector_start(struct elector *elector)
{
	reflector_start(elector->watch);
	loop_defer(&elector->timer);
}

void elector_release(struct elector *elector, loop_fn released, void *context)
{
	struct lease_step step;

	elector->released = released;
	elector->released_context = context;
	lease_release(elector->lease, loop_now(elector->loop), real_us(elector), &step);
	take_step(elector, &step);
}

bool elector_leads(const struct elector *elector)
{
	return elector->leads && lease_leads(elector->lease, loop_now(elector->loop));
}
