/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wiring. Three things must hold before anything is written: this replica leads, its caches are
 * complete, and the ledger was recounted since it leads. Each of the three may come last;
 * may_begin() asks for all.
 */
#include "controller/controller.h"

#include "base/mem.h"
#include "base/random.h"
#include "cluster/looks.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "controller/caches.h"
#include "controller/eviction/reconcile.h"
#include "controller/kinds.h"
#include "controller/leader_label.h"
#include "controller/nodes.h"
#include "controller/objectives/objectives.h"
#include "controller/pages.h"
#include "controller/quota/reconcile.h"
#include "controller/tenant/reconcile.h"
#include "runtime/elector.h"
#include "runtime/recorder.h"
#include "runtime/work.h"

#define REPORTING_CONTROLLER  "gpuqos.io/controller"
#define RECOUNT_PODS_PER_TURN 1000               /* about 100 µs */
#define STUCK_US              (5 * USEC_PER_MIN) /* due work without progress for so long: not alive */

/* Keys: namespaces; tenants; tenants. */
enum { WORK_QUOTA, WORK_TENANT, WORK_EVICTION, WORK_COUNT };

struct controller {
	struct kube_client *client;
	struct controller_options options;
	struct loop *loop;
	struct hash_key hash_key;
	struct random seeds;
	struct cluster *cluster;
	struct caches *caches;
	struct elector *elector;    /* NULL without election */
	struct leader_label *label; /* NULL outside a cluster */
	struct recorder *recorder;
	struct quota_reconciler quota;
	struct tenant_reconciler tenant;
	struct eviction_reconciler eviction;
	struct alertmanager *alerts; /* NULL: none is configured */
	struct nodes nodes;
	struct objectives *objectives;
	struct work *works[WORK_COUNT];

	bool leads, recounted, stopping;
	struct loop_timer recount_timer;
	uint32_t recount_cursor;
	struct recount round; /* the one under way */
	uint64_t recounts, recount_differing;
	int64_t recount_drift;
	loop_fn stopped;
	void *stopped_context;
};

static bool writes(const struct controller *controller)
{
	return work_running(controller->works[WORK_QUOTA]);
}

/*
 * Nodes first: what their pods have concerns tenants; then tenants, which may make namespaces
 * dirty. Who does not write remembers nothing: leading marks everything anew.
 */
static void take_dirty(void *context)
{
	struct controller *controller = context;
	uint32_t key;

	nodes_look(&controller->nodes, writes(controller));
	while (cluster_take_dirty_tenant(controller->cluster, &key))
		if (writes(controller)) {
			int64_t due_us = tenant_due(&controller->tenant, key);

			work_add_at(controller->works[WORK_TENANT], key, due_us);
			work_add_at(controller->works[WORK_EVICTION], key, due_us);
		}
	while (cluster_take_dirty(controller->cluster, &key))
		if (writes(controller))
			work_add(controller->works[WORK_QUOTA], key);
}

static void tell_change(const struct controller *controller)
{
	if (controller->options.changed)
		controller->options.changed(controller->options.context);
}

static void on_watched(void *context)
{
	take_dirty(context);
	tell_change(context);
}

/* What a tenant grants makes namespaces dirty. */
static int reconcile_tenant(void *context, uint32_t key, struct work_set *set, struct error *err)
{
	struct controller *controller = context;
	int r = tenant_reconcile(&controller->tenant, key, set, err);

	take_dirty(controller);
	return r;
}

/* What it tells of the tenant makes that dirty. */
static int reconcile_evictions(void *context, uint32_t key, struct work_set *set, struct error *err)
{
	struct controller *controller = context;
	int r = eviction_reconcile(&controller->eviction, key, set, err);

	take_dirty(controller);
	return r;
}

/* What a namespace's turn finds out makes its tenant dirty. */
static int reconcile_quota(void *context, uint32_t key, struct work_set *set, struct error *err)
{
	struct controller *controller = context;
	int r = quota_reconcile(&controller->quota, key, set, err);

	take_dirty(controller);
	return r;
}

static void quota_was_written(void *context, uint32_t key, const struct work_write *write,
			      const struct kube_answer *answer, const struct error *err)
{
	struct controller *controller = context;

	quota_written(&controller->quota, key, write, answer, err);
	take_dirty(controller);
}

static void tenant_was_written(void *context, uint32_t key, const struct work_write *write,
			       const struct kube_answer *answer, const struct error *err)
{
	struct controller *controller = context;

	tenant_written(&controller->tenant, key, write, answer, err);
}

static void eviction_was_written(void *context, uint32_t key, const struct work_write *write,
				 const struct kube_answer *answer, const struct error *err)
{
	struct controller *controller = context;

	eviction_written(&controller->eviction, key, write, answer, err);
	take_dirty(controller);
}

static void describe_quota(void *context, uint32_t key, struct buf *text)
{
	struct controller *controller = context;

	quota_describe(&controller->quota, key, text);
}

static void describe_tenant(void *context, uint32_t key, struct buf *text)
{
	struct controller *controller = context;

	tenant_describe(&controller->tenant, key, text);
}

static void may_begin(struct controller *controller)
{
	if (controller->stopping || writes(controller))
		return;
	if (!controller->leads || !controller->recounted || !caches_fresh(controller->caches))
		return;
	log_info(controller->options.log,
		 "caches are complete and the ledger is counted: writing begins");
	for (int i = 0; i < WORK_COUNT; i++)
		work_start(controller->works[i]);
	cluster_forget_grants(controller->cluster);
	tenant_reconciler_forget(&controller->tenant);
	cluster_mark_all_dirty(controller->cluster);
	cluster_look_again(controller->cluster);
	objectives_start(controller->objectives);
	take_dirty(controller);
}

static void on_synced(void *context)
{
	struct controller *controller = context;

	loop_timer_set(&controller->recount_timer, loop_now(controller->loop));
}

static void recount_done(struct controller *controller)
{
	controller->recounts++;
	controller->recount_differing += controller->round.differing;
	controller->recount_drift += controller->round.drift;
	if (controller->round.differing)
		log_error(controller->options.log, "a recount corrected the ledger",
			  LOG_INT("namespaces", controller->round.differing),
			  LOG_INT("bytes", controller->round.drift));
	controller->round = (struct recount){0};
	controller->recount_cursor = 0;
	controller->recounted = controller->leads;
	loop_timer_set(&controller->recount_timer,
		       loop_now(controller->loop) + controller->options.config->recount_period_us);
	may_begin(controller);
}

static void recount_turn(void *context)
{
	struct controller *controller = context;

	if (!caches_synced(controller->caches))
		return; /* on_synced() comes back here */
	bool complete = cluster_recount(controller->cluster, &controller->recount_cursor,
					RECOUNT_PODS_PER_TURN, &controller->round);

	take_dirty(controller);
	if (complete)
		recount_done(controller);
	else
		loop_timer_set(&controller->recount_timer, loop_now(controller->loop));
}

static void on_leading(void *context)
{
	struct controller *controller = context;

	log_info(controller->options.log, "leading",
		 LOG_CSTR("identity", controller->options.identity));
	controller->leads = true;
	controller->recounted = false;
	controller->recount_cursor = 0;
	controller->round = (struct recount){0};
	loop_timer_set(&controller->recount_timer, loop_now(controller->loop));
	eviction_reconciler_lead(&controller->eviction);
	if (controller->label)
		leader_label_lead(controller->label);
}

static void stop_work(struct controller *controller)
{
	for (int i = 0; i < WORK_COUNT; i++)
		work_stop(controller->works[i]);
	objectives_stop(controller->objectives);
}

static void on_lost(void *context)
{
	struct controller *controller = context;

	controller->leads = false;
	stop_work(controller);
	if (controller->alerts)
		alertmanager_forget(controller->alerts);
	recorder_reset(controller->recorder);
	if (controller->label)
		leader_label_lost(controller->label);
	tell_change(controller);
	if (!controller->stopping)
		log_warning(controller->options.log, "no longer leading: nothing is written",
			    LOG_CSTR("identity", controller->options.identity));
}

static void on_new_holder(void *context, struct str holder)
{
	struct controller *controller = context;

	log_info(controller->options.log, "the lease changed hands", LOG_STR("holder", holder));
}

static struct pages_view view_of(const struct controller *controller)
{
	return (struct pages_view){
		.cluster = controller->cluster,
		.caches = controller->caches,
		.identity = controller->options.identity,
		.leads = controller->leads,
		.now_us = loop_now(controller->loop),
		.recounts = controller->recounts,
		.recount_differing = controller->recount_differing,
		.recount_drift = controller->recount_drift,
		.log_dropped = log_dropped(controller->options.log),
		.events_dropped = recorder_dropped(controller->recorder),
		.objectives = objectives_stats(controller->objectives),
		.alerts = alertmanager_counts(controller->alerts),
	};
}

static void collect(void *context, struct buf *page)
{
	struct pages_view view = view_of(context);

	pages_write_metrics(&view, page);
}

static bool always(void *context UNUSED, int64_t now_us UNUSED)
{
	return true;
}

static int new_elector(struct controller *controller, struct error *err)
{
	const struct controller_options *options = &controller->options;
	const struct controller_config *config = options->config;

	if (!options->leader_elect) {
		kube_client_set_fence(controller->client, always, NULL);
		return 0;
	}
	return elector_new(controller->client,
			   &(struct elector_options){
				   .namespace = options->lease_namespace,
				   .name = str_from(config->lease_name),
				   .lease = {options->identity, config->lease_duration_us,
					     config->renew_deadline_us, config->retry_period_us},
				   .on_leading = on_leading,
				   .on_lost = on_lost,
				   .on_new_holder = on_new_holder,
				   .context = controller,
				   .seed = random_u64(&controller->seeds),
				   .log = options->log,
			   },
			   &controller->elector, err);
}

static void init_quota(struct controller *controller)
{
	struct quota_reconciler *quota = &controller->quota;

	quota_reconciler_init(quota, controller->options.metrics);
	quota->cluster = controller->cluster;
	quota->caches = controller->caches;
	quota->recorder = controller->recorder;
	quota->loop = controller->loop;
	quota->usage_interval_us = controller->options.config->usage_interval_us;
	quota->reporting_controller = REPORTING_CONTROLLER;
	quota->instance = controller->options.identity;
}

static void init_tenant(struct controller *controller)
{
	struct tenant_reconciler *tenant = &controller->tenant;

	tenant_reconciler_init(tenant);
	tenant->cluster = controller->cluster;
	tenant->caches = controller->caches;
	tenant->recorder = controller->recorder;
	tenant->loop = controller->loop;
	tenant->alerts = controller->alerts;
	tenant->refusals = refusals_new(controller->client, controller->cluster,
					controller->options.log, random_u64(&controller->seeds));
	tenant->pace = controller->options.config->pace;
	tenant->usage_interval_us = controller->options.config->usage_interval_us;
}

static void init_eviction(struct controller *controller)
{
	struct eviction_reconciler *eviction = &controller->eviction;

	eviction_reconciler_init(eviction, controller->options.metrics);
	eviction->cluster = controller->cluster;
	eviction->caches = controller->caches;
	eviction->recorder = controller->recorder;
	eviction->loop = controller->loop;
	eviction->log = controller->options.log;
	eviction->config = controller->options.config;
}

static const struct work_options work_options[WORK_COUNT] = {
	[WORK_QUOTA] = {.name = "quota",
			.reconcile = reconcile_quota,
			.written = quota_was_written,
			.describe = describe_quota},
	[WORK_TENANT] = {.name = "tenant",
			 .reconcile = reconcile_tenant,
			 .written = tenant_was_written,
			 .describe = describe_tenant},
	[WORK_EVICTION] = {.name = "eviction",
			   .reconcile = reconcile_evictions,
			   .written = eviction_was_written,
			   .describe = describe_tenant},
};

static void new_works(struct controller *controller)
{
	for (int i = 0; i < WORK_COUNT; i++) {
		struct work_options options = work_options[i];

		options.context = controller;
		options.log = controller->options.log;
		options.metrics = controller->options.metrics;
		options.seed = random_u64(&controller->seeds);
		controller->works[i] = work_new(controller->client, &options);
	}
}

static void start_nodes(struct controller *controller)
{
	struct nodes *nodes = &controller->nodes;

	nodes->cluster = controller->cluster;
	nodes->recorder = controller->recorder;
	nodes->leases = caches_reflector(controller->caches, CLUSTER_AGENTS);
	nodes->loop = controller->loop;
	nodes->touched = take_dirty;
	nodes->context = controller;
	nodes_start(nodes);
}

static int new_objectives(struct controller *controller, struct error *err)
{
	return objectives_new(
		&(struct objectives_options){
			.cluster = controller->cluster,
			.loop = controller->loop,
			.config = &controller->options.config->prometheus,
			.log = controller->options.log,
			.touched = take_dirty,
			.context = controller,
			.seed = random_u64(&controller->seeds),
		},
		&controller->objectives, err);
}

static int new_alerts(struct controller *controller, struct error *err)
{
	const struct config_alertmanager *config = &controller->options.config->alertmanager;
	const struct alertmanager_options options = {config->access, config->timeout_us};

	if (!config->access.url)
		return 0;
	return alertmanager_new(controller->loop, &options, &controller->alerts, err);
}

int controller_new(struct kube_client *client, const struct controller_options *options,
		   struct controller **ret_controller, struct error *err)
{
	CLEANUP(controller_free) struct controller *controller = mem_alloc(sizeof(*controller));

	controller->client = client;
	controller->options = *options;
	controller->loop = kube_client_loop(client);
	random_init(&controller->seeds, options->seed);
	if (new_elector(controller, err) < 0)
		return -1;
	hash_key_init(&controller->hash_key);
	controller->cluster = cluster_new(&controller->hash_key);
	if (kinds_know_table(&options->config->resources, controller->cluster, err) < 0 ||
	    new_alerts(controller, err) < 0)
		return -1;
	controller->caches = caches_new(client, &(struct caches_options){
							.cluster = controller->cluster,
							.table = &options->config->resources,
							.home = options->pod_namespace.len
									? options->pod_namespace
									: options->lease_namespace,
							.touched = on_watched,
							.synced = on_synced,
							.context = controller,
							.log = options->log,
							.hash_key = controller->hash_key,
							.seed = random_u64(&controller->seeds),
						});
	controller->recorder = recorder_new(
		client, &(struct recorder_options){REPORTING_CONTROLLER, options->identity,
						   random_u64(&controller->seeds)});
	if (options->pod_name.len && options->pod_namespace.len)
		controller->label = leader_label_new(client, options->pod_namespace,
						     options->pod_name, options->log);
	init_quota(controller);
	init_tenant(controller);
	init_eviction(controller);
	new_works(controller);
	start_nodes(controller);
	if (new_objectives(controller, err) < 0)
		return -1;
	loop_timer_init(&controller->recount_timer, controller->loop, "recount", recount_turn,
			controller);
	if (options->metrics)
		metrics_add_collector(options->metrics, collect, controller);
	*ret_controller = TAKE(controller);
	return 0;
}

void controller_free(struct controller *controller)
{
	if (!controller)
		return;
	loop_timer_clear(&controller->recount_timer);
	objectives_free(controller->objectives);
	elector_free(controller->elector);
	for (int i = 0; i < WORK_COUNT; i++)
		work_free(controller->works[i]);
	quota_reconciler_clear(&controller->quota);
	tenant_reconciler_clear(&controller->tenant);
	eviction_reconciler_clear(&controller->eviction);
	alertmanager_free(controller->alerts);
	leader_label_free(controller->label);
	nodes_clear(&controller->nodes);
	recorder_free(controller->recorder);
	caches_free(controller->caches);
	cluster_free(controller->cluster);
	mem_free(controller);
}

void controller_start(struct controller *controller)
{
	caches_start(controller->caches);
	refusals_start(controller->tenant.refusals);
	if (controller->elector)
		elector_start(controller->elector);
	else
		on_leading(controller);
}

static void release(void *context)
{
	struct controller *controller = context;

	if (controller->elector)
		elector_release(controller->elector, controller->stopped,
				controller->stopped_context);
	else
		controller->stopped(controller->stopped_context);
}

void controller_stop(struct controller *controller, loop_fn stopped, void *context)
{
	controller->stopping = true;
	controller->stopped = stopped;
	controller->stopped_context = context;
	stop_work(controller);
	tell_change(controller);
	if (controller->label && controller->leads)
		leader_label_retire(controller->label, release, controller);
	else
		release(controller);
}

bool controller_ready(const struct controller *controller, struct buf *text)
{
	struct pages_view view = view_of(controller);
	bool ready = pages_write_caches(&view, text);

	buf_printf(text, "[+] role: %s\n", controller->leads ? "leader" : "standby");
	return ready;
}

struct controller_parts controller_parts(const struct controller *controller)
{
	return (struct controller_parts){controller->cluster, controller->recorder,
					 controller->hash_key};
}

/*
 * Our own pod got the label after all that an earlier leader had bound: once the watch of pods
 * shows that, it has shown these too. Without a pod of our own there is no other replica.
 */
static bool is_fresh(const struct controller *controller)
{
	uint64_t version = controller->label ? leader_label_version(controller->label) : 0;

	return !controller->label ||
	       (version != 0 && caches_seen_version(controller->caches, CLUSTER_PODS) >= version);
}

bool controller_may_answer(void *controller)
{
	const struct controller *c = controller;

	return c->leads && !c->stopping && writes(c) && is_fresh(c);
}

void controller_touched(void *controller)
{
	take_dirty(controller);
}

bool controller_healthy(const struct controller *controller, struct buf *text)
{
	bool healthy = true;

	for (int i = 0; i < WORK_COUNT; i++) {
		const struct work *work = controller->works[i];
		int64_t idle_us = loop_now(controller->loop) - work_last_progress_us(work);
		bool stuck = work_running(work) && work_due(work) && idle_us > STUCK_US;

		buf_printf(text, "[%c] reconcile %s: %zu waiting\n", stuck ? '-' : '+',
			   work_options[i].name, work_depth(work));
		healthy &= !stuck;
	}
	return healthy;
}
