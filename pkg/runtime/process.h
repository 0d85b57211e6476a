/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_RUNTIME_PROCESS_H
#define GPUQOS_RUNTIME_PROCESS_H

#include "base/flag.h"
#include "base/log.h"
#include "base/metrics.h"
#include "http/server.h"
#include "kube/client.h"

/*
 * What every long-running program of ours has around its product: log, metrics, event loop, the
 * client of its API server, pages, an orderly stop at SIGTERM or SIGINT. The product is what the
 * hooks reach.
 */

/* As the command line has them; borrowed for life. */
struct process_settings {
	const char *kubeconfig, *context;             /* NULL: see kube/config.h */
	const char *metrics_address, *health_address; /* "0" turns a server off */
	enum log_level level;
	enum log_format format;
};

#define PROCESS_SETTINGS_DEFAULT                                                          \
	{                                                                                 \
		.metrics_address = ":8080", .health_address = ":8081", .level = LOG_INFO, \
		.format = LOG_TEXT,                                                       \
	}

/* Their rows in the program's table of flags (base/flag.h), where @settings is a field of @type. */
#define PROCESS_FLAGS(type, settings)                                                             \
	FLAG_VALUE(                                                                               \
		"kubeconfig", "FILE", flag_set_text, type, settings.kubeconfig,                   \
		"how to reach the cluster (default: $KUBECONFIG, ~/.kube/config, the pod's own "  \
		"account)"),                                                                      \
		FLAG_VALUE("context", "NAME", flag_set_text, type, settings.context,              \
			   "of the kubeconfig (default: its current-context)"),                   \
		FLAG_VALUE("metrics-bind-address", "ADDRESS", flag_set_text, type,                \
			   settings.metrics_address,                                              \
			   "of /metrics (default :8080; 0 turns it off)"),                        \
		FLAG_VALUE("health-probe-bind-address", "ADDRESS", flag_set_text, type,           \
			   settings.health_address,                                               \
			   "of /healthz and /readyz (default :8081; 0 turns it off)"),            \
		FLAG_VALUE("log-format", "text|json", flag_set_log_format, type, settings.format, \
			   "(default text)"),                                                     \
		FLAG_VALUE("v", "LEVEL", flag_set_log_level, type, settings.level,                \
			   "0 warnings, 1 info (default), 2 debug")

struct process_hooks {
	/* Fill the pages /healthz and /readyz, and say whether it is so. */
	bool (*healthy)(void *context, struct buf *text);
	bool (*ready)(void *context, struct buf *text);
	/* To stop, and call @stopped when that is done; NULL: nothing is to be done. The process
	 * waits 4 s at most. */
	void (*stop)(void *context, loop_fn stopped, void *stopped_context);
	void *context;
};

struct process {
	const char *name, *version; /* "gpuqos-agent", "0.2.0"; static */
	struct process_settings settings;
	struct process_hooks hooks;
	struct log *log;
	struct metrics *metrics;
	struct metric_family *requests, *turns;
	struct loop *loop;
	struct kube_client *client;
	struct http_server *metrics_server, *health_server;
	struct loop_timer log_timer, stop_timer;
	char identity[LIMIT_NAME + 1]; /* of this start: pod or host, and a number */
	uint64_t seed;                 /* of all jitter in this process */
	bool stopping;
};

/*
 * Log, metrics, loop and client. @process has name, version and settings, and is zeroed otherwise.
 * To be cleared also when this fails.
 */
int process_init(struct process *process, struct error *err);
/* Pages and signals: the product is there. process->hooks is set. */
int process_serve(struct process *process, struct error *err);
void process_run(struct process *process); /* until it is stopped */
/* The servers, which call hooks. Then the product goes, then the rest by process_clear(). */
void process_close(struct process *process);
void process_clear(struct process *process);

#endif
