/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One small GET now and then. Credentials come from a configuration like the API server's, with
 * kubelet's address and CA in the place of its own; connections are made anew when these rotate,
 * and kept by nobody in between: kubelet is asked once a minute.
 */
#include "agent/kubelet.h"

#include <string.h>

#include "api/agent.h"
#include "base/clock.h"
#include "base/mem.h"
#include "ctl/backoff.h"
#include "http/client.h"
#include "kube/credentials.h"

#define KEEP_US          (5 * USEC_PER_MIN)
#define TIMEOUT_US       (10 * USEC_PER_SEC)
#define BACKOFF_US       USEC_PER_SEC
#define BACKOFF_MOST_US  (60 * USEC_PER_SEC)
#define BACKOFF_RESET_US (5 * USEC_PER_MIN)
#define ANSWER_MAX       (256 * 1024) /* a long configuration has 10 KiB */

struct kubelet {
	struct loop *loop;
	struct kubelet_options options;
	struct loop_timer timer;
	struct random random;
	struct backoff backoff;
	char *address;             /* NULL: not told yet */
	struct kube_config config; /* what it points to is borrowed, but for server and ca_file */
	struct kube_credentials *credentials;
	struct http_pool *pool; /* while a request is under way */
	struct buf answer;
	struct layout_kubelet facts;
	int64_t answered_us; /* TIME_NEVER: never */
};

static void failed(struct kubelet *kubelet, const struct error *err)
{
	int64_t now_us = loop_now(kubelet->loop);

	loop_timer_set(&kubelet->timer,
		       now_us + backoff_fail(&kubelet->backoff, now_us, &kubelet->random));
	kubelet->options.on_answer(kubelet->options.context, err);
}

static int judge(const struct kubelet *kubelet, int status, struct error *err)
{
	struct str body = buf_str(&kubelet->answer);
	enum error_kind kind = status == 401   ? ERROR_UNAUTHORIZED
			       : status == 403 ? ERROR_FORBIDDEN
					       : ERROR_UNAVAILABLE;

	if (status == 200)
		return 0;
	error_set(err, kind, "kubelet at %s answered %d: %.*s", kubelet->address, status,
		  (int)MIN(body.len, (size_t)200), body.len ? body.data : "");
	return -1;
}

static int read_answer(struct kubelet *kubelet, struct error *err)
{
	CLEANUP(arena_clear) struct arena arena;

	arena_init(&arena, ANSWER_MAX);
	if (kubelet->answer.overflowed)
		return error_set(err, ERROR_LIMIT, "kubelet at %s: an answer of more than %d bytes",
				 kubelet->address, ANSWER_MAX);
	if (api_read_configz(buf_str(&kubelet->answer), &arena, &kubelet->facts, err) < 0)
		return error_wrap(err, "kubelet at %s", kubelet->address);
	return 0;
}

static void on_done(void *context, const struct http_response *response, const struct error *err)
{
	struct kubelet *kubelet = context;
	struct error bad = {0};

	if (err && err->kind == ERROR_CANCELLED)
		return; /* by forget_server() */
	if (err)
		bad = *err;
	if (err || judge(kubelet, response->status, &bad) < 0 || read_answer(kubelet, &bad) < 0) {
		failed(kubelet, &bad);
	} else {
		kubelet->answered_us = loop_now(kubelet->loop);
		loop_timer_set(&kubelet->timer, kubelet->answered_us + kubelet->options.every_us);
		kubelet->options.on_answer(kubelet->options.context, NULL);
	}
	buf_clear(&kubelet->answer);
	http_pool_free(TAKE(kubelet->pool));
}

static int on_body(void *context, struct str bytes, struct error *err)
{
	struct kubelet *kubelet = context;

	(void)err;
	buf_add_str(&kubelet->answer, bytes);
	return 0;
}

static int send(struct kubelet *kubelet, const struct kube_identity *identity, struct error *err)
{
	const struct http_header headers[] = {
		{"Accept", "application/json", false},
		{"Authorization", identity->authorization, true},
	};
	const struct http_handlers handlers = {
		.on_body = on_body, .on_done = on_done, .context = kubelet};
	const struct http_pool_options options = {
		.name = "kubelet",
		.tls = identity->tls,
		.connect_timeout_us = TIMEOUT_US,
		.http1_only = true,
	};
	struct buf url;
	int r;

	if (http_pool_new(kubelet->loop, &options, &kubelet->pool, err) < 0)
		return -1;
	buf_init(&url, LIMIT_HTTP_URL);
	buf_printf(&url, "%s/configz", kubelet->config.server);
	r = http_send(kubelet->pool,
		      &(struct http_request){.method = "GET",
					     .url = url.data,
					     .headers = headers,
					     .n_headers = identity->authorization ? 2 : 1,
					     .timeout_us = TIMEOUT_US},
		      &handlers, NULL, err);
	buf_clear(&url);
	if (r < 0)
		http_pool_free(TAKE(kubelet->pool));
	return r;
}

static void ask(void *context)
{
	struct kubelet *kubelet = context;
	struct kube_identity identity;
	struct error err = {0};

	if (kubelet->pool)
		return;
	switch (kube_credentials_get(kubelet->credentials, &identity, &err)) {
	case KUBE_CREDENTIALS_READY:
		if (send(kubelet, &identity, &err) < 0)
			failed(kubelet, &err);
		break;
	case KUBE_CREDENTIALS_FAILED:
		failed(kubelet, &err);
		break;
	case KUBE_CREDENTIALS_PENDING:
		break; /* ask() is the listener */
	}
}

struct kubelet *kubelet_new(struct loop *loop, const struct kubelet_options *options)
{
	struct kubelet *kubelet = mem_alloc(sizeof(*kubelet));

	kubelet->loop = loop;
	kubelet->options = *options;
	kubelet->answered_us = TIME_NEVER;
	random_init(&kubelet->random, options->seed);
	backoff_init(&kubelet->backoff, BACKOFF_US, BACKOFF_MOST_US, 1.0, BACKOFF_RESET_US);
	buf_init(&kubelet->answer, ANSWER_MAX);
	loop_timer_init(&kubelet->timer, loop, "kubelet", ask, kubelet);
	return kubelet;
}

/* Ends what is under way, unheard. */
static void forget_server(struct kubelet *kubelet)
{
	loop_timer_set(&kubelet->timer, TIME_NEVER);
	http_pool_free(TAKE(kubelet->pool));
	buf_clear(&kubelet->answer);
	kube_credentials_free(TAKE(kubelet->credentials));
	mem_free(TAKE(kubelet->config.server));
	mem_free(TAKE(kubelet->config.ca_file));
	mem_free(TAKE(kubelet->config.server_name));
	mem_free(TAKE(kubelet->address));
}

void kubelet_free(struct kubelet *kubelet)
{
	if (!kubelet)
		return;
	forget_server(kubelet);
	loop_timer_clear(&kubelet->timer);
	mem_free(kubelet);
}

static char *copy(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

static char *url_of(const char *address)
{
	struct buf url;

	buf_init(&url, LIMIT_HTTP_URL);
	buf_printf(&url, "https://%s", address);
	return buf_take(&url);
}

/* An exec plugin is not run for kubelet, and no certificate of the API server's is let off. */
static void configure(struct kubelet *kubelet)
{
	const struct kube_config *api = kubelet->options.config;
	const char *ca_file = kubelet->options.ca_file;

	kubelet->config = (struct kube_config){
		.server = url_of(kubelet->address),
		.server_name = copy(kubelet->options.server_name),
		.ca_pem = ca_file ? NULL : api->ca_pem,
		.ca_file = copy(ca_file ? ca_file : api->ca_file),
		.cert_pem = api->cert_pem,
		.cert_file = api->cert_file,
		.key_pem = api->key_pem,
		.key_file = api->key_file,
		.token = api->token,
		.token_file = api->token_file,
	};
}

void kubelet_ask(struct kubelet *kubelet, const char *address)
{
	if (kubelet->address && strcmp(kubelet->address, address) == 0)
		return;
	forget_server(kubelet);
	kubelet->address = mem_strdup(address);
	configure(kubelet);
	kubelet->credentials = kube_credentials_new(kubelet->loop, &kubelet->config);
	kube_credentials_on_change(kubelet->credentials, ask, kubelet);
	loop_defer(&kubelet->timer);
}

bool kubelet_known(const struct kubelet *kubelet)
{
	return kubelet->answered_us != TIME_NEVER &&
	       loop_now(kubelet->loop) - kubelet->answered_us < KEEP_US;
}

struct layout_kubelet kubelet_facts(const struct kubelet *kubelet)
{
	return kubelet_known(kubelet) ? kubelet->facts
				      : (struct layout_kubelet){.policy = LAYOUT_POLICY_UNKNOWN};
}
