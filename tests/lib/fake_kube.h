/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_FAKE_KUBE_H
#define GPUQOS_TESTS_FAKE_KUBE_H

#include "kube/client.h"

/*
 * An API server that does nothing by itself: stands in for kube/client.h at link time, so that what
 * drives it can be tested on a clock that is moved by hand. Requests wait, in the order in which
 * they were made, until the test answers them. What the real client promises holds here too: no
 * handler runs inside kube_send(), each on_done comes once, a fenced request asks the fence at the
 * last moment, a cancelled one ends in a later turn.
 */
struct kube_client *fake_kube_new(struct loop *loop);

/* Requests that left and were not answered. */
size_t fake_kube_open(const struct kube_client *client);
/* The oldest of them; fails the test when there is none. Borrowed until it is answered. */
struct kube_call *fake_kube_first(const struct kube_client *client);
struct kube_call *fake_kube_nth(const struct kube_client *client, size_t n);
/* All requests so far that were made, and how many of these the fence refused. */
unsigned int fake_kube_made(const struct kube_client *client);
unsigned int fake_kube_fenced(const struct kube_client *client);

/* "APPLY resourcequotas a/gpuqos", "PATCH gpumemoryquotas/status a/q", "CREATE leases system/". */
const char *fake_kube_what(const struct kube_call *call);
const char *fake_kube_body(const struct kube_call *call);
/* Of a LIST or STREAM: "resourceVersion continue", with "+initial" before it for initial events. */
const char *fake_kube_from(const struct kube_call *call);
int64_t fake_kube_timeout(const struct kube_call *call);

/* The answer to a STREAM begins; its first part does so as well. */
void fake_kube_begin(struct kube_call *call);
/* An object of a list, or an event of a watch, as JSON; false when the handler wants no more, upon
 * which the call has ended with the handler's error. */
bool fake_kube_part(struct kube_call *call, enum frame_part part, const char *json);
/* End of the call. Each runs as a turn of the loop. */
void fake_kube_answer(struct kube_call *call, const char *json);
void fake_kube_fail(struct kube_call *call, enum error_kind kind, int http_status);

/* Lets everything run that is due now. */
void fake_kube_settle(const struct kube_client *client);

/* What a test of something that runs over it needs, embedded in a struct of the test's own. */
struct fake_kube_world {
	struct manual_clock clock; /* starts at 1000 s */
	struct loop *loop;
	struct kube_client *client;
	bool leads; /* what the fence says, until somebody sets another; at first true */
};

void fake_kube_world_init(struct fake_kube_world *world);
void fake_kube_world_clear(struct fake_kube_world *world);

/* Each of these lets everything run that is due then. */
void fake_kube_pass(struct fake_kube_world *world, int64_t us);
void fake_kube_reply(struct fake_kube_world *world, const char *what, const char *json);
void fake_kube_refuse(struct fake_kube_world *world, const char *what, enum error_kind kind,
		      int http_status);
/* An event of a watch; false when the handler wants no more. */
bool fake_kube_event(struct fake_kube_world *world, const char *watch, const char *type,
		     const char *object);

/* The oldest waiting request that begins with @what. Without one, the first gives NULL and the
 * second fails the test. */
struct kube_call *fake_kube_find(struct fake_kube_world *world, const char *what);
struct kube_call *fake_kube_expect(struct fake_kube_world *world, const char *what);

#endif
