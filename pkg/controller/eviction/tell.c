/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What came of receipts is told once it stands in the tenant's status: a write that failed is
 * decided anew, maybe otherwise, and nobody is told of it twice.
 */
#include <stdio.h>

#include "api/body.h"
#include "base/list.h"
#include "base/mem.h"
#include "controller/evict_write.h"
#include "controller/eviction/turn.h"

struct eviction_telling {
	struct list link;
	uint32_t tenant; /* handle */
	enum receipt_cause cause;
	enum receipt_outcome outcome;
	char tenant_name[LIMIT_NAME + 1], tenant_uid[LIMIT_NAME + 1];
	char id[LIMIT_RECEIPT_ID + 1];
	char namespace[LIMIT_NAME + 1], name[LIMIT_NAME + 1], uid[LIMIT_NAME + 1]; /* of the pod */
	char node[LIMIT_NAME + 1];
	char *note; /* owned */
};

#define KEEP(to, text) snprintf(to, sizeof(to), "%.*s", STR_ARGS(text))

void eviction_tell(struct eviction_turn *turn, const struct receipt *receipt, struct str note)
{
	struct eviction_telling *telling = mem_alloc(sizeof(*telling));
	const struct receipt_pod *pod = &receipt->beneficiary;

	telling->tenant = turn->tenant;
	telling->cause = receipt->cause;
	telling->outcome = receipt->outcome;
	KEEP(telling->tenant_name, turn->facts.name);
	KEEP(telling->tenant_uid, turn->facts.uid);
	KEEP(telling->id, receipt->id);
	KEEP(telling->namespace, pod->namespace);
	KEEP(telling->name, pod->name);
	KEEP(telling->uid, pod->uid);
	KEEP(telling->node, receipt->node);
	telling->note = mem_strndup(note.data, note.len);
	list_append(&turn->reconciler->tellings, &telling->link);
}

static void drop(struct eviction_telling *telling)
{
	list_unlink(&telling->link);
	mem_free(telling->note);
	mem_free(telling);
}

/* --- where it is told */

static void record(struct eviction_reconciler *reconciler, const struct eviction_telling *telling,
		   struct body_reference object)
{
	bool good = telling->outcome == RECEIPT_HELPED || telling->outcome == RECEIPT_PLANNED ||
		    telling->outcome == RECEIPT_MOOT;

	recorder_event(reconciler->recorder,
		       &(struct recorder_event){object, good ? "Normal" : "Warning",
						telling->outcome == RECEIPT_ISSUED
							? EVICT_REASON
							: receipt_outcome_text(telling->outcome),
						EVICT_ACTION, str_from(telling->note)});
}

static void tell(struct eviction_reconciler *reconciler, const struct eviction_telling *telling)
{
	record(reconciler, telling,
	       (struct body_reference){STR(API_GROUP_VERSION), str_from(api_tenants.kind), STR_NONE,
				       str_from(telling->tenant_name),
				       str_from(telling->tenant_uid)});
	if (telling->outcome == RECEIPT_ISSUED || telling->outcome == RECEIPT_PLANNED)
		record(reconciler, telling,
		       (struct body_reference){STR("v1"), str_from(api_pods.kind),
					       str_from(telling->namespace),
					       str_from(telling->name), str_from(telling->uid)});
	log_info(reconciler->log, "eviction", LOG_CSTR("tenant", telling->tenant_name),
		 LOG_CSTR("receipt", telling->id),
		 LOG_CSTR("cause", receipt_cause_text(telling->cause)),
		 LOG_CSTR("outcome", receipt_outcome_text(telling->outcome)),
		 LOG_CSTR("namespace", telling->namespace), LOG_CSTR("pod", telling->name),
		 LOG_CSTR("node", telling->node), LOG_CSTR("note", telling->note));
	metric_add(reconciler->receipts,
		   (const char *const[]){telling->tenant_name, receipt_cause_text(telling->cause),
					 receipt_outcome_text(telling->outcome)},
		   1);
}

/* --- when */

void eviction_tell_written(struct eviction_reconciler *reconciler, uint32_t tenant)
{
	list_for_each_safe(it, &reconciler->tellings) {
		struct eviction_telling *telling = container_of(it, struct eviction_telling, link);

		if (telling->tenant != tenant)
			continue;
		tell(reconciler, telling);
		drop(telling);
	}
}

static bool stands(const struct eviction_turn *turn, const struct eviction_telling *telling)
{
	for (size_t i = 0; i < turn->n_receipts; i++)
		if (str_equal(turn->receipts[i].id, str_from(telling->id)))
			return turn->receipts[i].outcome == telling->outcome;
	return false;
}

void eviction_tell_seen(struct eviction_turn *turn)
{
	list_for_each_safe(it, &turn->reconciler->tellings) {
		struct eviction_telling *telling = container_of(it, struct eviction_telling, link);

		if (telling->tenant != turn->tenant)
			continue;
		if (stands(turn, telling))
			tell(turn->reconciler, telling);
		else if (str_equal(str_from(telling->id), str_from(turn->reconciler->unseen.id)))
			continue; /* it is waited for */
		drop(telling);
	}
}

void eviction_tell_none(struct eviction_reconciler *reconciler, uint32_t tenant)
{
	if (list_empty(&reconciler->tellings))
		return;
	list_for_each_safe(it, &reconciler->tellings) {
		struct eviction_telling *telling = container_of(it, struct eviction_telling, link);

		if (tenant == TABLE_NONE || telling->tenant == tenant)
			drop(telling);
	}
}
