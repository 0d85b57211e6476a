/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies for built-in types; those of our own are in body_quota.c and body_tenant.c. */
#include "api/body.h"

#include "api/body_common.h"
#include "api/quantity.h"
#include "base/limits.h"
#include "base/macros.h"
#include "base/utf8.h"
#include "codec/json_out.h"
#include "model/resource.h"

/* { "apiVersion": ..., "kind": ...; left open. */
static void begin(struct json_out *out, struct buf *body, const char *version, const char *kind)
{
	json_out_init(out, body);
	json_out_object(out, NULL);
	json_out_cstring(out, "apiVersion", version);
	json_out_cstring(out, "kind", kind);
}

static void add_string(struct json_out *out, const char *key, struct str value)
{
	if (!str_empty(value))
		json_out_string(out, key, value);
}

/* --- what we own in a namespace */

static void add_owned_meta(struct json_out *out, struct str namespace,
			   const struct body_owner *owner)
{
	json_out_object(out, "metadata");
	json_out_cstring(out, "name", OWNED_OBJECT_NAME);
	json_out_string(out, "namespace", namespace);
	body_add_owner(out, owner);
	json_out_end(out);
}

/* The value is a text, as the API server writes quantities. */
static void add_amount(struct json_out *out, struct str prefix,
		       const struct resource_amount *amount)
{
	char key[16 + LIMIT_INTERNED_STRING], text[QUANTITY_TEXT_SIZE];
	size_t key_len = prefix.len + amount->resource.len;
	size_t len = quantity_format_count(amount->count, text);

	if (key_len > sizeof(key)) {
		out->buf->overflowed = true;
		return;
	}
	memcpy(key, prefix.data, prefix.len);
	memcpy(key + prefix.len, amount->resource.data, amount->resource.len);
	json_out_pair(out, (struct str){key, key_len}, (struct str){text, len});
}

static void add_hard(struct json_out *out, const struct resource_amount *hard)
{
	switch (resource_quota_key_kind(hard->resource)) {
	case RESOURCE_KEY_NONE:
		break;
	case RESOURCE_KEY_REQUESTS:
		add_amount(out, STR("requests."), hard);
		break;
	case RESOURCE_KEY_BARE:
		add_amount(out, STR(""), hard);
		break;
	}
}

void api_body_resource_quota(struct buf *body, struct str namespace, const struct body_owner *owner,
			     const struct resource_amount *hard, size_t n_hard)
{
	struct json_out out;
	size_t i;

	begin(&out, body, "v1", "ResourceQuota");
	add_owned_meta(&out, namespace, owner);
	json_out_object(&out, "spec");
	json_out_object(&out, "hard");
	for (i = 0; i < n_hard; i++)
		add_hard(&out, &hard[i]);
	json_out_end(&out);
	json_out_end(&out);
	json_out_end(&out);
}

void api_body_limit_range(struct buf *body, struct str namespace, const struct body_owner *owner,
			  const struct resource_amount *defaults, size_t n_defaults)
{
	static const char *const keys[] = {"default", "defaultRequest"};
	struct json_out out;
	size_t i, j;

	begin(&out, body, "v1", "LimitRange");
	add_owned_meta(&out, namespace, owner);
	json_out_object(&out, "spec");
	json_out_array(&out, "limits");
	json_out_object(&out, NULL);
	json_out_cstring(&out, "type", "Container");
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		json_out_object(&out, keys[i]);
		for (j = 0; j < n_defaults; j++)
			add_amount(&out, STR(""), &defaults[j]);
		json_out_end(&out);
	}
	json_out_end(&out);
	json_out_end_array(&out);
	json_out_end(&out);
	json_out_end(&out);
}

void api_body_label_patch(struct buf *body, struct str uid, const struct label *labels,
			  size_t n_labels)
{
	struct json_out out;
	size_t i;

	json_out_init(&out, body);
	json_out_object(&out, NULL);
	json_out_object(&out, "metadata");
	add_string(&out, "uid", uid);
	json_out_object(&out, "labels");
	for (i = 0; i < n_labels; i++) {
		json_out_key(&out, labels[i].key);
		if (str_empty(labels[i].value))
			json_out_null(&out, NULL);
		else
			json_out_string(&out, NULL, labels[i].value);
	}
	json_out_end(&out);
	json_out_end(&out);
	json_out_end(&out);
}

/* --- Lease */

void api_body_lease(struct buf *body, const struct body_lease *lease)
{
	struct json_out out;

	begin(&out, body, "coordination.k8s.io/v1", "Lease");
	json_out_object(&out, "metadata");
	json_out_string(&out, "name", lease->name);
	json_out_string(&out, "namespace", lease->namespace);
	add_string(&out, "resourceVersion", lease->resource_version);
	json_out_end(&out);
	json_out_object(&out, "spec");
	json_out_string(&out, "holderIdentity", lease->holder);
	json_out_int(&out, "leaseDurationSeconds", lease->duration_s);
	json_out_micro_time(&out, "acquireTime", lease->acquire_us);
	json_out_micro_time(&out, "renewTime", lease->renew_us);
	json_out_int(&out, "leaseTransitions", lease->transitions);
	json_out_end(&out);
	json_out_end(&out);
}

/* --- Event */

static void add_series(struct json_out *out, int32_t count, int64_t last_us)
{
	json_out_object(out, "series");
	json_out_int(out, "count", count);
	json_out_micro_time(out, "lastObservedTime", last_us);
	json_out_end(out);
}

static void add_reference(struct json_out *out, const char *key,
			  const struct body_reference *object)
{
	json_out_object(out, key);
	json_out_string(out, "apiVersion", object->api_version);
	json_out_string(out, "kind", object->kind);
	add_string(out, "namespace", object->namespace);
	json_out_string(out, "name", object->name);
	add_string(out, "uid", object->uid);
	json_out_end(out);
}

void api_body_event(struct buf *body, const struct body_event *event)
{
	struct json_out out;

	begin(&out, body, "events.k8s.io/v1", "Event");
	json_out_object(&out, "metadata");
	json_out_string(&out, "name", event->name);
	json_out_string(&out, "namespace", event->namespace);
	json_out_end(&out);
	add_reference(&out, "regarding", &event->regarding);
	if (!str_empty(event->related.kind))
		add_reference(&out, "related", &event->related);
	json_out_string(&out, "type", event->type);
	json_out_string(&out, "reason", utf8_prefix(event->reason, BODY_EVENT_WORD));
	json_out_string(&out, "action", utf8_prefix(event->action, BODY_EVENT_WORD));
	json_out_string(&out, "note", utf8_prefix(event->note, LIMIT_EVENT_NOTE));
	json_out_string(&out, "reportingController", event->controller);
	json_out_string(&out, "reportingInstance", utf8_prefix(event->instance, BODY_EVENT_WORD));
	json_out_micro_time(&out, "eventTime", event->event_us);
	if (event->series_count > 0)
		add_series(&out, event->series_count, event->series_last_us);
	json_out_end(&out);
}

void api_body_event_series(struct buf *body, int32_t count, int64_t last_us)
{
	struct json_out out;

	json_out_init(&out, body);
	json_out_object(&out, NULL);
	add_series(&out, count, last_us);
	json_out_end(&out);
}

/* --- removal */

static void add_precondition(struct json_out *out, struct str uid)
{
	if (str_empty(uid))
		return;
	json_out_object(out, "preconditions");
	json_out_string(out, "uid", uid);
	json_out_end(out);
}

void api_body_delete(struct buf *body, struct str uid)
{
	struct json_out out;

	begin(&out, body, "v1", "DeleteOptions");
	add_precondition(&out, uid);
	json_out_end(&out);
}

void api_body_pod_binding(struct buf *body, struct str namespace, struct str name, struct str uid,
			  struct str node)
{
	struct json_out out;

	begin(&out, body, "v1", "Binding");
	json_out_object(&out, "metadata");
	json_out_string(&out, "name", name);
	json_out_string(&out, "namespace", namespace);
	json_out_string(&out, "uid", uid);
	json_out_end(&out);
	json_out_object(&out, "target");
	json_out_string(&out, "apiVersion", STR("v1"));
	json_out_string(&out, "kind", STR("Node"));
	json_out_string(&out, "name", node);
	json_out_end(&out);
	json_out_end(&out);
}

void api_body_eviction(struct buf *body, struct str namespace, struct str name, struct str uid,
		       int64_t grace_s)
{
	struct json_out out;

	begin(&out, body, "policy/v1", "Eviction");
	json_out_object(&out, "metadata");
	json_out_string(&out, "name", name);
	json_out_string(&out, "namespace", namespace);
	json_out_end(&out);
	json_out_object(&out, "deleteOptions");
	if (grace_s >= 0)
		json_out_int(&out, "gracePeriodSeconds", grace_s);
	add_precondition(&out, uid);
	json_out_end(&out);
	json_out_end(&out);
}
