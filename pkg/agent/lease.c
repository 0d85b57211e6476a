/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A renewal is one merge patch with all of the Lease in it: cheaper for the API server than an
 * apply, and it puts right what others changed. A Lease that is not there is created with the same
 * body.
 */
#include "agent/lease.h"

#include <stdio.h>

#include "api/agent.h"
#include "base/mem.h"
#include "base/random.h"

#define RETRY_US   (2 * USEC_PER_SEC)
#define TIMEOUT_US (8 * USEC_PER_SEC)
#define JITTER     0.1

struct agent_lease {
	struct kube_client *client;
	struct loop *loop;
	struct agent_lease_options options;
	struct random random;
	struct loop_timer timer;
	struct kube_call *call;
	char name[LIMIT_NAME + 1];
	char *uid;                   /* NULL: no Node */
	bool create;                 /* the next one: it was not there */
	int64_t sent_us, renewed_us; /* monotonic; renewed_us: TIME_NEVER before the first */
	enum error_kind failing;     /* NONE while the server answers */
};

static void again(struct agent_lease *lease, int64_t wait_us)
{
	loop_timer_set(&lease->timer,
		       loop_now(lease->loop) + random_jitter(&lease->random, wait_us, JITTER));
}

/* Once for each kind: the tries go on. */
static void complain(struct agent_lease *lease, const struct error *err)
{
	if (err->kind != lease->failing)
		log_warning(lease->options.log, "the Lease was not renewed, will try again",
			    LOG_CSTR("lease", lease->name), LOG_CSTR("error", err->message));
	lease->failing = err->kind;
}

static void on_done(void *context, const struct kube_answer *answer, const struct error *err)
{
	struct agent_lease *lease = context;
	bool was_create = lease->create;

	(void)answer;
	lease->call = NULL;
	lease->create = false;
	if (!err) {
		lease->renewed_us = lease->sent_us;
		lease->failing = ERROR_NONE;
		again(lease, AGENT_LEASE_RENEW_US);
	} else if (!was_create && err->kind == ERROR_NOT_FOUND) {
		lease->create = true;
		loop_defer(&lease->timer);
	} else {
		complain(lease, err);
		again(lease, MAX(RETRY_US, err->retry_after_us));
	}
}

static void send(struct agent_lease *lease)
{
	const struct body_agent_lease record = {
		.namespace = lease->options.namespace,
		.node = lease->options.node,
		.node_uid = str_from(lease->uid),
		.duration_s = AGENT_LEASE_SECONDS,
		.renew_us = clock_real(loop_clock(lease->loop)),
		.seen_us = lease->options.usage_seen(lease->options.context),
	};
	struct kube_request request = {
		.verb = lease->create ? KUBE_CREATE : KUBE_MERGE_PATCH,
		.type = &api_leases,
		.namespace = lease->options.namespace,
		.name = lease->create ? STR_NONE : str_from(lease->name),
		.timeout_us = TIMEOUT_US,
		.field_manager = API_AGENT_MANAGER,
	};
	const struct kube_handlers handlers = {.on_done = on_done, .context = lease};
	struct buf body;

	buf_init(&body, LIMIT_JSON_OUTPUT);
	api_body_agent_lease(&body, &record);
	request.body = buf_str(&body);
	lease->sent_us = loop_now(lease->loop);
	lease->call = kube_send(lease->client, KUBE_LEASE, &request, &handlers);
	buf_clear(&body);
}

static void renew(void *context)
{
	struct agent_lease *lease = context;

	if (!lease->uid || lease->call)
		return;
	if (lease->options.may_renew(lease->options.context))
		send(lease);
	else
		again(lease, RETRY_US);
}

struct agent_lease *agent_lease_new(struct kube_client *client,
				    const struct agent_lease_options *options)
{
	struct agent_lease *lease = mem_alloc(sizeof(*lease));

	lease->client = client;
	lease->loop = kube_client_loop(client);
	lease->options = *options;
	lease->renewed_us = TIME_NEVER;
	random_init(&lease->random, options->seed);
	snprintf(lease->name, sizeof(lease->name), API_AGENT_LEASE "%.*s", STR_ARGS(options->node));
	loop_timer_init(&lease->timer, lease->loop, "lease", renew, lease);
	return lease;
}

void agent_lease_free(struct agent_lease *lease)
{
	if (!lease)
		return;
	kube_abandon(lease->call);
	loop_timer_clear(&lease->timer);
	mem_free(lease->uid);
	mem_free(lease);
}

void agent_lease_own(struct agent_lease *lease, struct str node_uid)
{
	if (str_equal(str_from(lease->uid), node_uid))
		return;
	mem_free(TAKE(lease->uid));
	if (!str_empty(node_uid)) {
		lease->uid = mem_strndup(node_uid.data, node_uid.len);
		loop_defer(&lease->timer);
	}
}

bool agent_lease_holds(const struct agent_lease *lease)
{
	return lease->renewed_us != TIME_NEVER &&
	       loop_now(lease->loop) - lease->renewed_us < AGENT_LEASE_SECONDS * USEC_PER_SEC;
}
