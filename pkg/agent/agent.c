/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wiring. What is to be published is complete once the machine was read and kubelet has answered or
 * failed to: published any sooner, each restart would take kubelet's policies off the Node and put
 * them back. Requests about the Node go one at a time, as agent/publish.h says.
 */
#include "agent/agent.h"

#include "agent/devices.h"
#include "agent/kubelet.h"
#include "agent/lease.h"
#include "agent/pages.h"
#include "agent/podresources.h"
#include "agent/publish.h"
#include "agent/survey.h"
#include "api/agent.h"
#include "api/layout.h"
#include "base/mem.h"

#define WRITE_INTERVAL_US (10 * USEC_PER_SEC)
#define DEVICES_US        (10 * USEC_PER_SEC) /* between questions who holds what */
#define USAGE_US          (20 * USEC_PER_SEC) /* between looks at who uses the cards */
#define NODE_MEMORY       (4 * 1024 * 1024)
#define LATE_US           (10 * USEC_PER_MIN) /* a look at the machine that takes longer is stuck */

struct agent {
	struct kube_client *client;
	struct agent_options options;
	struct loop *loop;
	struct survey *survey;
	struct kubelet *kubelet; /* NULL: not to be asked */
	struct devices *devices; /* NULL: likewise */
	struct agent_lease *lease;
	struct publish publish;
	struct loop_timer timer;
	struct kube_call *call; /* about the Node */
	char *uid;              /* of the Node; NULL: none */
	bool writing;           /* it is an apply */
	bool has_machine, kubelet_settled;
	struct layout machine; /* as the survey told; borrowed from it */
	struct layout layout;  /* with what is not the machine's to know */
	enum error_kind failing, kubelet_failing, nvml_failing; /* NONE while all is well */
	bool machine_failing;
	struct metric_family *writes, *refused, *kubelet_asked, *machine_read;
};

static void proceed(void *context);

/* --- what is to be published */

static void refresh(struct agent *agent)
{
	if (!agent->has_machine || !agent->kubelet_settled)
		return;
	agent->layout = agent->machine;
	agent->layout.writer = str_from(agent->options.writer);
	if (agent->kubelet)
		agent->layout.kubelet = kubelet_facts(agent->kubelet);
	publish_want(&agent->publish, &agent->layout);
	loop_defer(&agent->timer);
}

static void count_outcome(struct metric_family *family, bool ok)
{
	metric_add(family, (const char *const[]){ok ? "ok" : "failed"}, 1);
}

/* Said once for as long as it lasts. */
static void judge_nvml(struct agent *agent, const struct error *err)
{
	if (err->kind != ERROR_NONE && err->kind != agent->nvml_failing)
		log_warning(
			agent->options.log,
			"NVML was not read: health of NVIDIA's cards is unknown, will try again",
			LOG_CSTR("error", err->message));
	agent->nvml_failing = err->kind;
}

static void on_view(void *context, const struct sources_view *view, const struct error *err)
{
	struct agent *agent = context;

	count_outcome(agent->machine_read, view != NULL);
	if (!view && !agent->machine_failing)
		log_error(agent->options.log, "the machine cannot be read, will try again",
			  LOG_CSTR("error", err->message));
	agent->machine_failing = !view;
	if (!view)
		return;
	judge_nvml(agent, &view->nvml_error);
	if (agent->devices)
		devices_see(agent->devices, view);
	agent->machine = view->layout;
	agent->has_machine = true;
	refresh(agent);
}

static void on_kubelet(void *context, const struct error *err)
{
	struct agent *agent = context;
	enum error_kind kind = err ? err->kind : ERROR_NONE;

	count_outcome(agent->kubelet_asked, !err);
	if (err && kind != agent->kubelet_failing)
		log_warning(agent->options.log,
			    "kubelet was not asked: its policies are unknown, will try again",
			    LOG_CSTR("error", err->message));
	agent->kubelet_failing = kind;
	agent->kubelet_settled = true;
	refresh(agent);
}

/* --- the Node */

/* IPv6 needs brackets; a port that is not said is kubelet's usual one. */
static void ask_kubelet(struct agent *agent, const struct agent_node *node)
{
	struct str head, tail;
	bool is_v6 = str_split(node->address, ':', &head, &tail);
	struct buf address;

	if (!agent->kubelet || agent->options.kubelet_address)
		return;
	if (str_empty(node->address)) {
		agent->kubelet_settled = true;
		refresh(agent);
		return;
	}
	buf_init(&address, LIMIT_NAME + 16);
	buf_printf(&address, "%s%.*s%s:%u", is_v6 ? "[" : "", STR_ARGS(node->address),
		   is_v6 ? "]" : "", node->kubelet_port ? node->kubelet_port : 10250U);
	if (!address.overflowed)
		kubelet_ask(agent->kubelet, address.data);
	buf_clear(&address);
}

static void know_node(struct agent *agent, struct str uid)
{
	mem_free(TAKE(agent->uid));
	if (!str_empty(uid))
		agent->uid = mem_strndup(uid.data, uid.len);
	agent_lease_own(agent->lease, uid);
	if (agent->devices)
		devices_own(agent->devices, uid);
}

static void refuse(struct agent *agent, const struct error *err)
{
	metric_add(agent->refused, (const char *const[]){error_kind_name(err->kind)},
		   agent->writing ? 1 : 0);
	if (err->kind != agent->failing)
		log_warning(agent->options.log,
			    agent->writing ? "the layout was not published, will try again"
					   : "the Node was not read, will try again",
			    LOG_CSTR("error", err->message));
	agent->failing = err->kind;
	if (err->kind == ERROR_NOT_FOUND)
		know_node(agent, STR_NONE);
	publish_on_failed(&agent->publish, err, loop_now(agent->loop));
}

static void take_node(struct agent *agent, const struct agent_node *node)
{
	int64_t now_us = loop_now(agent->loop);

	agent->failing = ERROR_NONE;
	know_node(agent, node->uid);
	ask_kubelet(agent, node);
	if (!agent->writing) {
		publish_on_read(&agent->publish, node->annotation, now_us);
		return;
	}
	metric_add(agent->writes, NULL, 1);
	publish_on_written(&agent->publish, node->annotation, now_us);
	log_info(agent->options.log, "layout published", LOG_STR("node", agent->options.node),
		 LOG_INT("generation", (int64_t)agent->publish.generation));
}

static int read_node(const struct kube_answer *answer, struct arena *arena,
		     struct agent_node *ret_node, struct error *err)
{
	struct api_bytes object;

	if (api_open_answer(answer->body, answer->protobuf, &object, err) < 0 ||
	    api_read_agent_node(object, arena, ret_node, err) < 0)
		return -1;
	return 0;
}

static void on_node(void *context, const struct kube_answer *answer, const struct error *err)
{
	struct agent *agent = context;
	CLEANUP(arena_clear) struct arena arena;
	struct agent_node node;
	struct error bad = {0};

	agent->call = NULL;
	arena_init(&arena, NODE_MEMORY);
	if (err)
		refuse(agent, err);
	else if (read_node(answer, &arena, &node, &bad) < 0)
		refuse(agent, &bad);
	else
		take_node(agent, &node);
	loop_defer(&agent->timer);
}

static void send(struct agent *agent, enum kube_verb verb, struct str body)
{
	const struct kube_request request = {
		.verb = verb,
		.type = &api_nodes,
		.name = agent->options.node,
		.body = body,
		.field_manager = API_AGENT_MANAGER,
	};

	agent->writing = verb == KUBE_APPLY;
	agent->call = kube_send(agent->client, KUBE_WRITE, &request,
				&(struct kube_handlers){.on_done = on_node, .context = agent});
}

static void send_layout(struct agent *agent, uint64_t generation)
{
	struct layout layout = *agent->publish.wanted;
	struct error err = {0};
	struct buf text, body;

	buf_init(&text, LIMIT_LAYOUT);
	buf_init(&body, LIMIT_JSON_OUTPUT);
	layout.generation = generation;
	api_body_layout(&text, &layout);
	api_body_annotation(&body, agent->options.node, str_from(agent->uid), buf_str(&text));
	agent->writing = true;
	if (text.overflowed || body.overflowed) {
		error_set(&err, ERROR_LIMIT, "the layout takes more than %d bytes", LIMIT_LAYOUT);
		refuse(agent, &err);
		loop_defer(&agent->timer);
	} else {
		send(agent, KUBE_APPLY, buf_str(&body));
	}
	buf_clear(&text);
	buf_clear(&body);
}

static void proceed(void *context)
{
	struct agent *agent = context;
	struct publish_step step;

	if (agent->call)
		return;
	step = publish_next(&agent->publish, loop_now(agent->loop));
	switch (step.action) {
	case PUBLISH_WAIT:
		loop_timer_set(&agent->timer, step.until_us);
		break;
	case PUBLISH_READ:
		send(agent, KUBE_GET, STR_NONE);
		break;
	case PUBLISH_WRITE:
		send_layout(agent, step.generation);
		break;
	}
}

/* --- pages */

static int64_t late_us(const struct agent *agent)
{
	return agent->options.resync_us + LATE_US;
}

static struct pages_view view_of(const struct agent *agent)
{
	return (struct pages_view){
		.layout = agent->has_machine ? &agent->machine : NULL,
		.generation = agent->publish.generation,
		.published = publish_done(&agent->publish),
		.lease_holds = agent_lease_holds(agent->lease),
		.kubelet_known = agent->kubelet && kubelet_known(agent->kubelet),
		.since_look_us = loop_now(agent->loop) - survey_ended_us(agent->survey),
		.look_late_us = late_us(agent),
		.log_dropped = log_dropped(agent->options.log),
	};
}

static void collect(void *context, struct buf *page)
{
	struct pages_view view = view_of(context);

	pages_write_metrics(&view, page);
}

bool agent_healthy(const struct agent *agent, struct buf *text)
{
	struct pages_view view = view_of(agent);

	return pages_write_health(&view, text);
}

bool agent_ready(const struct agent *agent, struct buf *text)
{
	struct pages_view view = view_of(agent);

	return pages_write_ready(&view, text);
}

/* --- life */

/* The Lease vouches for the annotation: that it is there, and that the machine is still like it. */
static bool may_renew(void *context)
{
	const struct agent *agent = context;
	int64_t read_us = survey_read_us(agent->survey);

	return publish_done(&agent->publish) && read_us != TIME_NEVER &&
	       loop_now(agent->loop) - read_us < late_us(agent);
}

static int64_t usage_seen(void *context)
{
	const struct agent *agent = context;

	return agent->devices ? devices_seen_us(agent->devices) : 0;
}

static void make_metrics(struct agent *agent, struct metrics *metrics)
{
	static const char *const by_reason[] = {"reason", NULL};
	static const char *const by_outcome[] = {"outcome", NULL};

	if (!metrics)
		return;
	agent->writes = metrics_counter(metrics, "gpuqos_agent_layout_writes_total",
					"Annotations written.", NULL);
	agent->refused = metrics_counter(metrics, "gpuqos_agent_layout_writes_refused_total",
					 "Annotations that were not taken, by why.", by_reason);
	agent->kubelet_asked = metrics_counter(metrics, "gpuqos_agent_kubelet_asked_total",
					       "Questions to kubelet.", by_outcome);
	agent->machine_read = metrics_counter(metrics, "gpuqos_agent_machine_read_total",
					      "Looks at the machine.", by_outcome);
	metrics_add_collector(metrics, collect, agent);
}

static bool is_off(const char *address)
{
	return address && str_equal(str_from(address), STR("0"));
}

static void make_kubelet(struct agent *agent, uint64_t seed)
{
	const struct agent_options *options = &agent->options;

	if (is_off(options->kubelet_address)) {
		agent->kubelet_settled = true;
		return;
	}
	agent->kubelet =
		kubelet_new(agent->loop, &(struct kubelet_options){
						 .config = kube_client_config(agent->client),
						 .ca_file = options->kubelet_ca_file,
						 .server_name = options->kubelet_server_name,
						 .every_us = options->resync_us,
						 .seed = seed,
						 .on_answer = on_kubelet,
						 .context = agent,
					 });
}

/* Who uses the cards changes sooner than the machine does. */
static int64_t look_every(const struct agent_options *options)
{
	bool tells_usage = options->sources.proc && !is_off(options->pod_resources);

	return tells_usage ? MIN(options->resync_us, USAGE_US) : options->resync_us;
}

static void make_devices(struct agent *agent, uint64_t seed)
{
	const struct agent_options *options = &agent->options;

	if (is_off(options->pod_resources))
		return;
	agent->devices = devices_new(
		agent->client, &(struct devices_options){
				       .node = options->node,
				       .writer = options->writer,
				       .socket = options->pod_resources ? options->pod_resources
									: PODRESOURCES_SOCKET,
				       .every_us = MIN(options->resync_us, DEVICES_US),
				       .spread_us = options->spread_us,
				       .log = options->log,
				       .metrics = options->metrics,
				       .seed = seed,
			       });
}

int agent_new(struct kube_client *client, const struct agent_options *options,
	      struct agent **ret_agent, struct error *err)
{
	struct random seeds;

	if (str_empty(options->node) ||
	    options->node.len > LIMIT_NAME - (sizeof(API_AGENT_LEASE) - 1))
		return error_set(err, ERROR_INVALID, "\"%.*s\" is no node name with a Lease",
				 STR_ARGS(options->node));
	struct agent *agent = mem_alloc(sizeof(*agent));

	agent->client = client;
	agent->options = *options;
	agent->loop = kube_client_loop(client);
	random_init(&seeds, options->seed);
	agent->survey = survey_new(
		agent->loop,
		&(struct survey_options){options->sources, look_every(options), on_view, agent});
	make_kubelet(agent, random_u64(&seeds));
	make_devices(agent, random_u64(&seeds));
	agent->lease = agent_lease_new(client, &(struct agent_lease_options){
						       .namespace = options->namespace,
						       .node = options->node,
						       .may_renew = may_renew,
						       .usage_seen = usage_seen,
						       .context = agent,
						       .log = options->log,
						       .seed = random_u64(&seeds),
					       });
	publish_init(&agent->publish,
		     &(struct publish_options){options->spread_us, WRITE_INTERVAL_US,
					       options->resync_us, random_u64(&seeds)},
		     loop_now(agent->loop));
	loop_timer_init(&agent->timer, agent->loop, "agent", proceed, agent);
	make_metrics(agent, options->metrics);
	*ret_agent = agent;
	return 0;
}

void agent_free(struct agent *agent)
{
	if (!agent)
		return;
	loop_timer_clear(&agent->timer);
	kube_abandon(agent->call);
	agent_lease_free(agent->lease);
	kubelet_free(agent->kubelet);
	devices_free(agent->devices);
	survey_free(agent->survey);
	publish_clear(&agent->publish);
	mem_free(agent->uid);
	mem_free(agent);
}

void agent_start(struct agent *agent)
{
	survey_start(agent->survey);
	if (agent->devices)
		devices_start(agent->devices);
	if (agent->kubelet && agent->options.kubelet_address)
		kubelet_ask(agent->kubelet, agent->options.kubelet_address);
	loop_defer(&agent->timer);
}
