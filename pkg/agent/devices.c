/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wanted is kept as the bytes of the apply, and so is what was applied: a comparison costs
 * a pass over some KiB, and no struct has to outlive what it is borrowed from.
 */
#include "agent/devices.h"

#include "agent/gpunode.h"
#include "agent/podresources.h"
#include "api/agent.h"
#include "base/mem.h"
#include "base/random.h"
#include "ctl/backoff.h"

#define WRITE_INTERVAL_US (10 * USEC_PER_SEC)
#define REPEAT_US         (10 * USEC_PER_MIN)
#define REPEAT_JITTER     0.2
#define BACKOFF_US        (10 * USEC_PER_SEC)
#define BACKOFF_MOST_US   (5 * USEC_PER_MIN)
#define BACKOFF_RESET_US  (10 * USEC_PER_MIN)

struct devices {
	struct kube_client *client;
	struct loop *loop;
	struct devices_options options;
	struct podresources *podresources;
	struct loop_timer timer;
	struct random random;
	struct backoff backoff;
	struct kube_call *call;
	const struct sources_view *view; /* NULL: not seen yet */
	const struct held *held;         /* NULL: not told yet; podresources' */
	char *uid;                       /* of the Node; NULL: none */
	struct buf wanted, sent, written;
	bool too_large;                           /* wanted overflowed */
	int64_t write_us, repeat_us;              /* not before; at the latest */
	int64_t seen_us;                          /* real: see devices_seen_us() */
	enum error_kind failing, kubelet_failing; /* NONE while all is well */
	struct metric_family *asked, *writes, *refused;
};

static void copy_bytes(struct buf *to, const struct buf *from)
{
	buf_reset(to);
	buf_add_str(to, buf_str(from));
}

static bool differs(const struct devices *devices)
{
	return !str_equal(buf_str(&devices->wanted), buf_str(&devices->written));
}

/* Nothing is cut: what was written before stays, and it is told once that it is old. */
static void tell_too_large(struct devices *devices)
{
	bool large = devices->wanted.overflowed;

	if (large && !devices->too_large) {
		metric_add(devices->refused, (const char *const[]){error_kind_name(ERROR_LIMIT)},
			   1);
		log_warning(devices->options.log,
			    "the GpuNode is larger than what is written: it stays as it was");
	}
	devices->too_large = large;
}

/* What does not fit is not published: a node with so much has its limit in kubelet's answer. */
static void refresh(struct devices *devices)
{
	if (!devices->view || !devices->held || !devices->uid)
		return;
	buf_reset(&devices->wanted);
	gpunode_body(&devices->wanted, &(struct gpunode_view){
					       .node = devices->options.node,
					       .node_uid = str_from(devices->uid),
					       .writer = str_from(devices->options.writer),
					       .layout = &devices->view->layout,
					       .facts = &devices->view->facts,
					       .held = devices->held,
					       .usage = &devices->view->usage,
				       });
	tell_too_large(devices);
	loop_defer(&devices->timer);
}

static void on_answer(void *context, const struct held *held, const struct error *err)
{
	struct devices *devices = context;
	enum error_kind kind = err ? err->kind : ERROR_NONE;

	metric_add(devices->asked, (const char *const[]){err ? "failed" : "ok"}, 1);
	if (err && kind != devices->kubelet_failing)
		log_warning(devices->options.log,
			    "which pod holds which GPU is not known, will try again",
			    LOG_CSTR("error", err->message));
	devices->kubelet_failing = kind;
	if (!held)
		return;
	devices->held = held;
	refresh(devices);
}

/* Once for each kind: the tries go on. */
static void refuse(struct devices *devices, const struct error *err)
{
	int64_t now_us = loop_now(devices->loop);
	int64_t delay_us = backoff_fail(&devices->backoff, now_us, &devices->random);

	metric_add(devices->refused, (const char *const[]){error_kind_name(err->kind)}, 1);
	if (err->kind != devices->failing)
		log_warning(devices->options.log, "the GpuNode was not written, will try again",
			    LOG_CSTR("error", err->message));
	devices->failing = err->kind;
	devices->write_us = MAX(devices->write_us, now_us + MAX(delay_us, err->retry_after_us));
}

static void on_written(void *context, const struct kube_answer *answer, const struct error *err)
{
	struct devices *devices = context;
	int64_t now_us = loop_now(devices->loop);

	(void)answer;
	devices->call = NULL;
	if (err) {
		refuse(devices, err);
	} else {
		devices->failing = ERROR_NONE;
		copy_bytes(&devices->written, &devices->sent);
		devices->repeat_us =
			now_us + random_jitter(&devices->random, REPEAT_US, REPEAT_JITTER);
		metric_add(devices->writes, NULL, 1);
	}
	loop_defer(&devices->timer);
}

static void send(struct devices *devices)
{
	struct kube_request request = {
		.verb = KUBE_APPLY,
		.type = &api_gpu_nodes,
		.name = devices->options.node,
		.field_manager = API_AGENT_MANAGER,
	};

	copy_bytes(&devices->sent, &devices->wanted);
	request.body = buf_str(&devices->sent);
	devices->write_us = loop_now(devices->loop) + WRITE_INTERVAL_US;
	devices->call =
		kube_send(devices->client, KUBE_WRITE, &request,
			  &(struct kube_handlers){.on_done = on_written, .context = devices});
}

static void proceed(void *context)
{
	struct devices *devices = context;
	int64_t now_us = loop_now(devices->loop), due_us;

	if (devices->call || !devices->uid || devices->wanted.len == 0 ||
	    devices->wanted.overflowed)
		return;
	due_us = differs(devices) ? devices->write_us : MAX(devices->write_us, devices->repeat_us);
	if (now_us >= due_us)
		send(devices);
	else
		loop_timer_set(&devices->timer, due_us);
}

void devices_see(struct devices *devices, const struct sources_view *view)
{
	devices->view = view;
	refresh(devices);
	if (devices->written.len > 0 && !differs(devices))
		devices->seen_us = clock_real(loop_clock(devices->loop));
}

int64_t devices_seen_us(const struct devices *devices)
{
	return devices->seen_us;
}

void devices_own(struct devices *devices, struct str node_uid)
{
	if (str_equal(str_from(devices->uid), node_uid))
		return;
	mem_free(TAKE(devices->uid));
	if (!str_empty(node_uid))
		devices->uid = mem_strndup(node_uid.data, node_uid.len);
	refresh(devices);
}

/* In bytes, or of 1; what is not known has no sample. */
static void write_use(const struct devices *devices, const struct usage_row *row, bool is_memory,
		      struct buf *page)
{
	const struct metric_label labels[] = {
		{"card", devices->view->layout.gpus[row->card].pci},
		{"pod_uid", str_from(row->pod)},
	};

	if (is_memory && row->memory != AMOUNT_UNKNOWN)
		metrics_write_sample(page, "gpuqos_agent_user_memory_bytes", labels,
				     ARRAY_SIZE(labels), (double)row->memory);
	if (!is_memory && row->sm_percent >= 0)
		metrics_write_sample(page, "gpuqos_agent_user_sm_ratio", labels, ARRAY_SIZE(labels),
				     row->sm_percent / 100.0);
}

static void collect(void *context, struct buf *page)
{
	const struct devices *devices = context;
	const struct usage *usage = devices->view ? &devices->view->usage : NULL;

	if (!usage || usage->n_rows == 0)
		return;
	metrics_write_family(page, "gpuqos_agent_user_memory_bytes", "gauge",
			     "GPU memory that the processes of a pod, or of none, have on a card.");
	for (size_t i = 0; i < usage->n_rows; i++)
		write_use(devices, &usage->rows[i], true, page);
	metrics_write_family(page, "gpuqos_agent_user_sm_ratio", "gauge",
			     "Of the time of a card's multiprocessors that they had lately.");
	for (size_t i = 0; i < usage->n_rows; i++)
		write_use(devices, &usage->rows[i], false, page);
}

static void make_metrics(struct devices *devices, struct metrics *metrics)
{
	static const char *const by_reason[] = {"reason", NULL};
	static const char *const by_outcome[] = {"outcome", NULL};

	if (!metrics)
		return;
	devices->asked = metrics_counter(metrics, "gpuqos_agent_devices_asked_total",
					 "Questions to kubelet's PodResources API.", by_outcome);
	devices->writes = metrics_counter(metrics, "gpuqos_agent_gpunode_writes_total",
					  "GpuNodes applied.", NULL);
	devices->refused = metrics_counter(metrics, "gpuqos_agent_gpunode_writes_refused_total",
					   "GpuNodes that were not taken, by why.", by_reason);
	metrics_add_collector(metrics, collect, devices);
}

struct devices *devices_new(struct kube_client *client, const struct devices_options *options)
{
	struct devices *devices = mem_alloc(sizeof(*devices));

	devices->client = client;
	devices->loop = kube_client_loop(client);
	devices->options = *options;
	random_init(&devices->random, options->seed);
	backoff_init(&devices->backoff, BACKOFF_US, BACKOFF_MOST_US, 1.0, BACKOFF_RESET_US);
	buf_init(&devices->wanted, LIMIT_GPUNODE);
	buf_init(&devices->sent, LIMIT_GPUNODE);
	buf_init(&devices->written, LIMIT_GPUNODE);
	devices->write_us =
		loop_now(devices->loop) +
		(int64_t)random_below(&devices->random, (uint64_t)options->spread_us + 1);
	loop_timer_init(&devices->timer, devices->loop, "devices", proceed, devices);
	devices->podresources = podresources_new(
		devices->loop, &(struct podresources_options){.socket = options->socket,
							      .every_us = options->every_us,
							      .seed = random_u64(&devices->random),
							      .on_answer = on_answer,
							      .context = devices});
	make_metrics(devices, options->metrics);
	return devices;
}

void devices_start(struct devices *devices)
{
	podresources_start(devices->podresources);
}

void devices_free(struct devices *devices)
{
	if (!devices)
		return;
	podresources_free(devices->podresources);
	kube_abandon(devices->call);
	loop_timer_clear(&devices->timer);
	buf_clear(&devices->wanted);
	buf_clear(&devices->sent);
	buf_clear(&devices->written);
	mem_free(devices->uid);
	mem_free(devices);
}
