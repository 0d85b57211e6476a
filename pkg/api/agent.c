/* SPDX-License-Identifier: Apache-2.0 */
/* Reads by the tables of wire_agent.c; bodies by the writer of codec. */
#include "api/agent.h"

#include "api/keys.h"
#include "api/layout.h"
#include "api/pack.h"
#include "api/wire_agent.h"
#include "base/clock.h"
#include "base/rfc3339.h"
#include "codec/json.h"
#include "codec/json_out.h"

static struct str internal_address(const struct wire_list *addresses)
{
	wire_for_each(const struct wire_node_address, address, *addresses)
		if (str_equal(address->type, STR("InternalIP")))
			return address->address;
	return STR_NONE;
}

int api_read_agent_node(struct api_bytes bytes, struct arena *arena, struct agent_node *ret_node,
			struct error *err)
{
	struct agent_node node = {0};
	struct wire_own_node wire;

	if (api_decode(&wire_own_node_schema, bytes, arena, &wire, err) < 0)
		return -1;
	int32_t port = wire.status.endpoints.kubelet.port;

	node.uid = wire.meta.uid;
	wire_map_get(&wire.meta.annotations, STR(API_LAYOUT_ANNOTATION), &node.annotation);
	node.address = internal_address(&wire.status.addresses);
	node.kubelet_port = port > 0 && port <= UINT16_MAX ? (uint16_t)port : 0;
	*ret_node = node;
	return 0;
}

static enum layout_policy policy_of(struct str text)
{
#define X(name, word)                   \
	if (str_equal(text, STR(word))) \
		return LAYOUT_POLICY_##name;
	LAYOUT_POLICIES(X)
#undef X
	return LAYOUT_POLICY_UNKNOWN;
}

int api_read_configz(struct str text, struct arena *arena, struct layout_kubelet *ret_kubelet,
		     struct error *err)
{
	struct wire_configz wire;

	if (json_decode(&wire_configz_schema, text, arena, &wire, err) < 0)
		return -1;
	if (!wire_has(&wire, WIRE_CONFIGZ_KUBELET))
		return error_set(err, ERROR_INVALID, "configz: no kubeletconfig in it");
	*ret_kubelet = (struct layout_kubelet){
		.policy = policy_of(wire.kubelet.topology_policy),
		.pod_scope = str_equal(wire.kubelet.topology_scope, STR("pod")),
		.static_cpu = str_equal(wire.kubelet.cpu_policy, STR("static")),
	};
	return 0;
}

void api_body_annotation(struct buf *body, struct str name, struct str uid, struct str value)
{
	struct json_out out;

	json_out_init(&out, body);
	json_out_object(&out, NULL);
	json_out_cstring(&out, "apiVersion", "v1");
	json_out_cstring(&out, "kind", "Node");
	json_out_object(&out, "metadata");
	json_out_string(&out, "name", name);
	json_out_string(&out, "uid", uid);
	json_out_object(&out, "annotations");
	json_out_string(&out, API_LAYOUT_ANNOTATION, value);
	json_out_end(&out);
	json_out_end(&out);
	json_out_end(&out);
}

static void add_lease_meta(struct json_out *out, const struct body_agent_lease *lease)
{
	struct buf name;

	buf_init(&name, sizeof(API_AGENT_LEASE) + LIMIT_NAME);
	buf_add_cstr(&name, API_AGENT_LEASE);
	buf_add_str(&name, lease->node);
	json_out_object(out, "metadata");
	json_out_string(out, "name", buf_str(&name));
	json_out_string(out, "namespace", lease->namespace);
	json_out_object(out, "labels");
	json_out_cstring(out, "app.kubernetes.io/name", API_AGENT_NAME);
	json_out_end(out);
	if (lease->seen_us > 0) {
		json_out_object(out, "annotations");
		json_out_micro_time(out, KEY_USAGE_SEEN, lease->seen_us);
		json_out_end(out);
	}
	json_out_array(out, "ownerReferences");
	json_out_object(out, NULL);
	json_out_cstring(out, "apiVersion", "v1");
	json_out_cstring(out, "kind", "Node");
	json_out_string(out, "name", lease->node);
	json_out_string(out, "uid", lease->node_uid);
	json_out_end(out);
	json_out_end_array(out);
	json_out_end(out);
	buf_clear(&name);
}

void api_body_agent_lease(struct buf *body, const struct body_agent_lease *lease)
{
	struct json_out out;

	json_out_init(&out, body);
	json_out_object(&out, NULL);
	json_out_cstring(&out, "apiVersion", "coordination.k8s.io/v1");
	json_out_cstring(&out, "kind", "Lease");
	add_lease_meta(&out, lease);
	json_out_object(&out, "spec");
	json_out_string(&out, "holderIdentity", lease->node);
	json_out_int(&out, "leaseDurationSeconds", lease->duration_s);
	json_out_micro_time(&out, "renewTime", lease->renew_us);
	json_out_end(&out);
	json_out_end(&out);
}

#define NO_DURATION_US (40 * USEC_PER_SEC) /* of a Lease that says nothing of use */

void api_pack_agent(const struct wire_lease *wire, struct agent_facts *ret_facts)
{
	int32_t seconds = wire->spec.duration_s;
	struct str seen;
	int64_t seen_us = 0;

	if (wire_map_get(&wire->meta.annotations, STR(KEY_USAGE_SEEN), &seen) &&
	    !time_parse(seen, &seen_us))
		seen_us = 0;
	*ret_facts = (struct agent_facts){
		.name = wire->meta.name,
		.holder = wire->spec.holder,
		.resource_version = api_version_number(wire->meta.resource_version),
		.renew_us = wire->spec.renew_us,
		.duration_us = seconds > 0 ? seconds * USEC_PER_SEC : NO_DURATION_US,
		.seen_us = seen_us,
	};
}
