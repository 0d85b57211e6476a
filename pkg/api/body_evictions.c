/* SPDX-License-Identifier: Apache-2.0 */
/* What is written of evictions: the receipts of a TenantQoS, and a victim's notice. */
#include "api/body.h"
#include "api/body_common.h"
#include "api/keys.h"
#include "api/type.h"
#include "base/limits.h"
#include "base/rfc3339.h"
#include "base/utf8.h"

static void add_text(struct json_out *out, const char *key, struct str text)
{
	if (!str_empty(text))
		json_out_string(out, key, utf8_prefix(text, LIMIT_RECEIPT_TEXT));
}

static void add_when(struct json_out *out, const char *key, int64_t at_us)
{
	if (at_us)
		json_out_micro_time(out, key, at_us);
}

static void add_cards(struct json_out *out, uint64_t cards)
{
	struct buf text;

	if (cards == 0)
		return;
	buf_init(&text, LIMIT_RECEIPT_TEXT);
	for (unsigned int i = 0; i < LIMIT_LAYOUT_GPUS; i++)
		if (cards >> i & 1)
			buf_printf(&text, "%s%u", text.len ? "," : "", i);
	json_out_string(out, "cards", buf_str(&text));
	buf_clear(&text);
}

static void add_pod(struct json_out *out, const struct receipt_pod *pod)
{
	json_out_string(out, "namespace", pod->namespace);
	json_out_string(out, "name", pod->name);
	json_out_string(out, "uid", pod->uid);
	add_text(out, "owner", utf8_prefix(pod->owner, LIMIT_RECEIPT_OWNER));
	body_add_bytes(out, "gpuMemory", pod->gpu_memory);
}

static void add_beneficiary(struct json_out *out, const struct receipt_pod *pod)
{
	json_out_object(out, "beneficiary");
	add_pod(out, pod);
	json_out_end(out);
}

static void add_victims(struct json_out *out, const struct receipt *receipt)
{
	json_out_array(out, "victims");
	for (size_t i = 0; i < receipt->n_victims; i++) {
		const struct receipt_pod *victim = &receipt->victims[i];

		json_out_object(out, NULL);
		add_pod(out, victim);
		add_text(out, "tenant", victim->tenant);
		json_out_int(out, "lostGPUSeconds", victim->lost);
		add_text(out, "note", victim->note);
		json_out_end(out);
	}
	json_out_end_array(out);
}

static void add_spared(struct json_out *out, const struct receipt *receipt)
{
	if (receipt->n_spared_all == 0)
		return;
	json_out_array(out, "spared");
	for (size_t i = 0; i < receipt->n_spared; i++) {
		json_out_object(out, NULL);
		json_out_string(out, "namespace", receipt->spared[i].namespace);
		json_out_string(out, "name", receipt->spared[i].name);
		add_text(out, "reason", receipt->spared[i].note);
		json_out_end(out);
	}
	json_out_end_array(out);
	json_out_int(out, "sparedCount", receipt->n_spared_all);
}

static void add_receipt(struct json_out *out, const struct receipt *receipt)
{
	json_out_object(out, NULL);
	json_out_string(out, "id", receipt->id);
	json_out_cstring(out, "cause", receipt_cause_text(receipt->cause));
	json_out_cstring(out, "outcome", receipt_outcome_text(receipt->outcome));
	json_out_micro_time(out, "time", receipt->at_us);
	add_when(out, "settledTime", receipt->settled_us);
	add_beneficiary(out, &receipt->beneficiary);
	add_text(out, "objective", receipt->objective);
	if (receipt->value != 0)
		json_out_cstring(out, "objectiveValue", objective_value_text(receipt->value).text);
	add_text(out, "node", receipt->node);
	add_cards(out, receipt->cards);
	add_when(out, "heldUntil", receipt->held_until_us);
	add_text(out, "proof", receipt->proof);
	add_text(out, "limits", receipt->limits);
	add_text(out, "message", receipt->message);
	add_victims(out, receipt);
	add_spared(out, receipt);
	json_out_end(out);
}

/* The API server evicted, or was asked to. */
static int64_t victims_of(const struct receipt *receipts, size_t n)
{
	int64_t victims = 0;

	for (size_t i = 0; i < n; i++)
		if (receipts[i].outcome != RECEIPT_PLANNED &&
		    receipts[i].outcome != RECEIPT_REFUSED)
			victims += (int64_t)receipts[i].n_victims;
	return victims;
}

void api_body_tenant_evictions(struct buf *body, struct str name, struct str uid,
			       const struct receipt *receipts, size_t n)
{
	struct json_out out;

	json_out_init(&out, body);
	json_out_object(&out, NULL);
	json_out_cstring(&out, "apiVersion", API_GROUP_VERSION);
	json_out_cstring(&out, "kind", api_tenants.kind);
	json_out_object(&out, "metadata");
	json_out_string(&out, "name", name);
	json_out_string(&out, "uid", uid);
	json_out_end(&out);
	json_out_object(&out, "status");
	json_out_int(&out, "evictionCount", victims_of(receipts, n));
	json_out_array(&out, "evictions");
	for (size_t i = 0; i < n; i++)
		add_receipt(&out, &receipts[i]);
	json_out_end_array(&out);
	json_out_end(&out);
	json_out_end(&out);
}

void api_body_eviction_notice(struct buf *body, struct str uid, struct str receipt, int64_t at_us)
{
	char when[TIME_TEXT_SIZE];
	struct json_out out;
	struct buf notice;

	time_format(at_us, false, when);
	buf_init(&notice, LIMIT_RECEIPT_TEXT);
	buf_printf(&notice, "%s %.*s", when, STR_ARGS(receipt));
	json_out_init(&out, body);
	json_out_object(&out, NULL);
	json_out_object(&out, "metadata");
	json_out_string(&out, "uid", uid);
	json_out_object(&out, "annotations");
	json_out_string(&out, KEY_EVICTION_NOTICE, buf_str(&notice));
	json_out_end(&out);
	json_out_end(&out);
	json_out_end(&out);
	buf_clear(&notice);
}
