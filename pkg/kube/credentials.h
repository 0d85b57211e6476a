/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_KUBE_CREDENTIALS_H
#define GPUQOS_KUBE_CREDENTIALS_H

#include "http/client.h"
#include "kube/config.h"
#include "loop/loop.h"

/*
 * The credentials of a kube_config as they are now. Token, certificate and CA files are read again
 * at a get, no more than once in 10 s: kubelet rotates projected tokens by replacing a symlink.
 * What cannot be read, or a certificate and key that do not fit since only one was replaced so far,
 * leaves the earlier identity in use. Exec plugins run as a child on the event loop, their answer
 * is kept until it expires (a new one is asked for 20 s before) or was refused. Nothing blocks:
 * what is not there yet comes by callback.
 */
struct kube_credentials;

struct kube_identity {
	uint64_t generation; /* rises whenever TLS material changed: connections must be made anew
			      */
	uint64_t serial;     /* rises whenever anything changed */
	struct http_tls tls; /* borrowed */
	const char *authorization; /* value of the Authorization header, NULL for none; secret */
};

/* @config is borrowed for life. */
struct kube_credentials *kube_credentials_new(struct loop *loop, const struct kube_config *config);
void kube_credentials_free(struct kube_credentials *credentials);

/*
 * The current identity in @ret_identity, borrowed until the loop turn ends: KUBE_CREDENTIALS_READY.
 * PENDING: a plugin is running; the listener of kube_credentials_on_change() is called later, and
 * then get again. FAILED with @err: unreadable file, plugin failed (its stderr is quoted), bad
 * certificate; a later get tries anew after a back-off, and meanwhile returns the same error.
 */
enum kube_credentials_outcome {
	KUBE_CREDENTIALS_READY,
	KUBE_CREDENTIALS_PENDING,
	KUBE_CREDENTIALS_FAILED
};
enum kube_credentials_outcome kube_credentials_get(struct kube_credentials *credentials,
						   struct kube_identity *ret_identity,
						   struct error *err);

/* Called (each time) when a PENDING ended, either way. One listener. */
void kube_credentials_on_change(struct kube_credentials *credentials, loop_fn fn, void *context);

/*
 * The server answered 401 to the identity of @serial: what a plugin gave is dropped, files are read
 * again at the next get. An older serial than the current one changes nothing. A plugin whose fresh
 * answer was refused runs again after 10 s, and FAILED until then.
 */
void kube_credentials_refused(struct kube_credentials *credentials, uint64_t serial);

DEFINE_CLEANUP(struct kube_credentials *, kube_credentials_free)

#endif
