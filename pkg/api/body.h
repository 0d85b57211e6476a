/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_BODY_H
#define GPUQOS_API_BODY_H

#include "base/buf.h"
#include "model/labels.h"
#include "model/observed.h"
#include "model/tenant.h"

/*
 * Bodies of our writes, as JSON appended to @body. The caller initialises it with LIMIT_JSON_OUTPUT
 * and checks `overflowed` once at the end: it is set too where a name is longer than any that the
 * API server knows. Apply bodies hold exactly the fields that we own: what they leave out and we
 * owned before, the server removes.
 */
struct body_owner {
	struct str api_version, kind, name, uid; /* becomes the controlling ownerReference */
};

/*
 * The keys of spec.hard are those of model/resource.h; a resource that has none (KAI's) is left
 * out.
 */
void api_body_resource_quota(struct buf *body, struct str namespace, const struct body_owner *owner,
			     const struct resource_amount *hard, size_t n_hard);
/* Limit and request alike, of each container. */
void api_body_limit_range(struct buf *body, struct str namespace, const struct body_owner *owner,
			  const struct resource_amount *defaults, size_t n_defaults);

/* For the status subresource, with the uid as precondition. All conditions are written. */
void api_body_tenant_status(struct buf *body, struct str name, struct str uid,
			    const struct tenant_status *status);
void api_body_quota_status(struct buf *body, struct str namespace, struct str name, struct str uid,
			   const struct quota_status *status);

/* status.evictions alone, for the status subresource and API_EVICTIONS_MANAGER; the uid as above.
 */
void api_body_tenant_evictions(struct buf *body, struct str name, struct str uid,
			       const struct receipt *receipts, size_t n);
/* JSON merge patch of a pod that is about to be evicted: its annotation says when (real) and for
 * which receipt. With the uid as precondition. */
void api_body_eviction_notice(struct buf *body, struct str uid, struct str receipt, int64_t at_us);

/*
 * A ValidatingAdmissionPolicyBinding whose parameter is its owner, a TenantQoS; for an apply. What
 * others have added to one an apply leaves, and the API server takes no replacement without a
 * resourceVersion: such a one (binding_facts.other) is to be deleted and made anew.
 */
void api_body_binding(struct buf *body, struct str name, const struct body_owner *owner,
		      const struct policy_binding *binding);

struct body_lease {
	struct str namespace, name, resource_version; /* version empty: for a create */
	struct str holder;
	int32_t duration_s, transitions;
	int64_t acquire_us, renew_us; /* real */
};

void api_body_lease(struct buf *body, const struct body_lease *lease);

/*
 * JSON merge patch: sets each of the labels to its value, or removes it where the value is empty;
 * with the uid as precondition unless it is empty.
 */
void api_body_label_patch(struct buf *body, struct str uid, const struct label *labels,
			  size_t n_labels);

struct body_reference {
	struct str api_version, kind, namespace, name, uid;
};

/*
 * events.k8s.io/v1. The server refuses a note above LIMIT_EVENT_NOTE bytes, and a reason, action or
 * instance above BODY_EVENT_WORD: longer ones are cut between characters.
 */
#define BODY_EVENT_WORD 128

struct body_event {
	struct str namespace, name; /* of the Event */
	struct body_reference regarding;
	struct body_reference related; /* another object that it was about; kind empty: none */
	struct str type, reason, action, note; /* type: "Normal", "Warning" */
	struct str controller, instance;
	int64_t event_us;     /* real */
	int32_t series_count; /* 0: no series yet */
	int64_t series_last_us;
};

void api_body_event(struct buf *body, const struct body_event *event);
void api_body_event_series(struct buf *body, int32_t count, int64_t last_us); /* merge patch */

/* DeleteOptions, with a uid as precondition unless it is empty. */
void api_body_delete(struct buf *body, struct str uid);
/* A Binding of the pod to the node, for its subresource binding; the uid as above. */
void api_body_pod_binding(struct buf *body, struct str namespace, struct str name, struct str uid,
			  struct str node);
/* policy/v1 Eviction, likewise. @grace_s below 0 leaves the pod its own grace. */
void api_body_eviction(struct buf *body, struct str namespace, struct str name, struct str uid,
		       int64_t grace_s);

#endif
