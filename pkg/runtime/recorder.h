/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_RUNTIME_RECORDER_H
#define GPUQOS_RUNTIME_RECORDER_H

#include "api/body.h"
#include "kube/client.h"

/*
 * Events (events.k8s.io/v1) about objects, aggregated as client-go does: the first occurrence of
 * (type, action, reason, regarding) is created, the second patches series.count = 2, later ones are
 * counted and flushed every 30 minutes, a series ends after 6 minutes of silence. Fenced like any
 * write; at most LIMIT_EVENT_QUEUE wait, more are dropped and counted: Events are a courtesy and
 * never hold up work.
 */
struct recorder;

struct recorder_options {
	const char *controller; /* "gpuqos.io/controller" */
	const char *instance;   /* this replica; both borrowed for life */
	uint64_t seed;
};

struct recorder_event {
	struct body_reference regarding;
	const char *type;   /* "Normal", "Warning" */
	const char *reason; /* CamelCase */
	const char *action; /* what was being done: "Reconcile" */
	struct str note;    /* cut to LIMIT_EVENT_NOTE */
};

/* @client is borrowed for life. */
struct recorder *recorder_new(struct kube_client *client, const struct recorder_options *options);
void recorder_free(struct recorder *recorder);
/* @event is copied. */
void recorder_event(struct recorder *recorder, const struct recorder_event *event);
/* Forgets series and drops what waits: the lease is lost. */
void recorder_reset(struct recorder *recorder);
uint64_t recorder_dropped(const struct recorder *recorder); /* Events, since the start */
DEFINE_CLEANUP(struct recorder *, recorder_free)

#endif
