/* SPDX-License-Identifier: Apache-2.0 */
/* What bodies share: amounts, conditions, the owner. */
#include "api/body_common.h"

#include "api/quantity.h"

void body_add_bytes(struct json_out *out, const char *key, int64_t bytes)
{
	char text[QUANTITY_TEXT_SIZE];
	size_t len = quantity_format_bytes(bytes, text);

	json_out_string(out, key, (struct str){text, len});
}

void body_add_shown(struct json_out *out, const char *key, int64_t bytes, bool up)
{
	char text[QUANTITY_TEXT_SIZE];
	size_t len = quantity_format_shown(bytes, up, text);

	json_out_string(out, key, (struct str){text, len});
}

void body_add_condition(struct json_out *out, const char *type, const struct condition *condition,
			int64_t generation)
{
	json_out_object(out, NULL);
	json_out_cstring(out, "type", type);
	json_out_cstring(out, "status", condition_status_text(condition->status));
	json_out_cstring(out, "reason", quota_reason_text(condition->reason));
	json_out_cstring(out, "message", condition->message);
	json_out_time(out, "lastTransitionTime", condition->since_us);
	json_out_int(out, "observedGeneration", generation);
	json_out_end(out);
}

/*
 * Without blockOwnerDeletion: that takes a right on the owner's finalizers where the API server
 * checks it, and nobody waits for these objects to go.
 */
void body_add_owner(struct json_out *out, const struct body_owner *owner)
{
	json_out_array(out, "ownerReferences");
	json_out_object(out, NULL);
	json_out_string(out, "apiVersion", owner->api_version);
	json_out_string(out, "kind", owner->kind);
	json_out_string(out, "name", owner->name);
	json_out_string(out, "uid", owner->uid);
	json_out_bool(out, "controller", true);
	json_out_end(out);
	json_out_end_array(out);
}
