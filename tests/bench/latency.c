/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long after it was sent an event of a pod is in the sums of its namespace: the controller's
 * own caches, fed by the replay server, whose events carry the time at which they were sent as
 * their resourceVersion (peer/replay/control.go).
 *
 *   latency KUBECONFIG      says "synced", and after SIGTERM what it saw, as JSON
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "cluster/read.h"
#include "controller/caches.h"
#include "kube/client.h"

#define VERSION_BASE 1000000000000000ULL /* as in peer/replay/control.go */

struct watcher {
	struct loop *loop;
	struct cluster *cluster;
	struct caches *caches;
	int64_t *used; /* by namespace handle, as last seen */
	size_t used_capacity;
	int64_t *samples; /* microseconds */
	size_t n_samples, samples_capacity;
};

static int64_t monotonic_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * USEC_PER_SEC + now.tv_nsec / 1000;
}

static bool used_changed(struct watcher *watcher, uint32_t namespace)
{
	struct namespace_view view;
	size_t had = watcher->used_capacity;

	mem_grow((void **)&watcher->used, &watcher->used_capacity, (size_t) namespace + 1,
		 sizeof(*watcher->used));
	for (size_t i = had; i < watcher->used_capacity; i++)
		watcher->used[i] = 0;
	cluster_namespace_view(watcher->cluster, namespace, &view);
	if (watcher->used[namespace] == view.used)
		return false;
	watcher->used[namespace] = view.used;
	return true;
}

static void sample(struct watcher *watcher, uint32_t namespace)
{
	uint64_t version = caches_seen_version(watcher->caches, CLUSTER_PODS);

	if (!used_changed(watcher, namespace) || version < VERSION_BASE)
		return;
	mem_grow((void **)&watcher->samples, &watcher->samples_capacity, watcher->n_samples + 1,
		 sizeof(*watcher->samples));
	watcher->samples[watcher->n_samples++] = monotonic_us() - (int64_t)(version - VERSION_BASE);
}

static void on_touched(void *context)
{
	struct watcher *watcher = context;
	uint32_t namespace;

	while (cluster_take_dirty(watcher->cluster, &namespace))
		sample(watcher, namespace);
}

static void on_synced(void *context)
{
	(void)context;
	puts("synced");
	fflush(stdout);
}

static void on_stop(void *context)
{
	struct watcher *watcher = context;

	loop_stop(watcher->loop);
}

static int compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int64_t quantile(const struct watcher *watcher, unsigned int percent)
{
	size_t n = watcher->n_samples;

	return n ? watcher->samples[MIN(n * percent / 100, n - 1)] : -1;
}

static void report(struct watcher *watcher)
{
	if (watcher->n_samples)
		qsort(watcher->samples, watcher->n_samples, sizeof(*watcher->samples), compare);
	printf("{\"samples\": %zu, \"p50\": %lld, \"p99\": %lld, \"max\": %lld}\n",
	       watcher->n_samples, (long long)quantile(watcher, 50),
	       (long long)quantile(watcher, 99), (long long)quantile(watcher, 100));
}

static struct kube_client *make_client(struct loop *loop, const char *path)
{
	struct kube_config_options options;
	struct kube_config *config;
	struct error err = {0};

	kube_config_options_from_env(&options);
	options.path = path;
	if (kube_config_load(&options, &config, &err) < 0) {
		fprintf(stderr, "latency: %s\n", err.message);
		exit(1);
	}
	return kube_client_new(loop, config,
			       &(struct kube_client_options){.user_agent = "latency"});
}

static void watch(struct watcher *watcher, struct kube_client *client)
{
	struct hash_key key;

	hash_key_init(&key);
	watcher->cluster = cluster_new(&key);
	watcher->caches = caches_new(client, &(struct caches_options){
						     .cluster = watcher->cluster,
						     .touched = on_touched,
						     .synced = on_synced,
						     .context = watcher,
						     .hash_key = key,
					     });
	caches_start(watcher->caches);
	loop_run(watcher->loop);
	report(watcher);
	caches_free(watcher->caches);
	cluster_free(watcher->cluster);
}

int main(int argc, char **argv)
{
	struct watcher watcher = {0};
	struct kube_client *client;

	if (argc != 2) {
		fputs("usage: latency KUBECONFIG\n", stderr);
		return 2;
	}
	http_library_init();
	watcher.loop = loop_new(clock_system());
	loop_on_signal(watcher.loop, SIGTERM, on_stop, &watcher);
	client = make_client(watcher.loop, argv[1]);
	watch(&watcher, client);
	kube_client_free(client);
	loop_free(watcher.loop);
	mem_free(watcher.used);
	mem_free(watcher.samples);
	return 0;
}
