/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_PACK_H
#define GPUQOS_API_PACK_H

#include "api/source_table.h"
#include "api/wire.h"
#include "api/wire_gpunode.h"
#include "api/wire_koordinator.h"
#include "api/wire_quota.h"
#include "api/wire_tenant.h"
#include "api/wire_zones.h"
#include "model/gpunode.h"
#include "model/node.h"
#include "model/observed.h"
#include "model/pod.h"
#include "model/tenant.h"

/*
 * From wire structs to facts of the model: names become enums, quantities become integers, labels
 * become offers. What cannot be read is an error that names the object: INVALID, or LIMIT where it
 * is larger than the cache would keep; the functions called outline then say what is still known of
 * it, from a wire struct that was decoded through the outline of its type (api/type.h): it exists,
 * and nothing that it holds is free. What is merely odd (a label whose value is no number)
 * becomes AMOUNT_UNKNOWN. Outputs are borrowed from the wire struct and @arena; lists of amounts
 * are sorted by resource, each resource once.
 */

/*
 * What a pod asks for by the sources that api/source.h lists. A container asks for what its
 * requests say, and for its limits where they say nothing. @table: resources of --config, or NULL.
 */
int api_pack_pod(const struct wire_pod *wire, const struct source_table *table, struct arena *arena,
		 struct pod_facts *ret_facts, struct error *err);

/* One unit of DEVICE_UNREADABLE. */
int api_pack_pod_outline(const struct wire_pod *wire, struct pod_facts *ret_facts,
			 struct error *err);

/*
 * What a node offers: its capacity and what schedulers cut of it, priced by who tells first
 * (model/node.h). A MIG resource without its label stays unknown here: whether its name is believed
 * is for those who price (model/resource.h).
 */
int api_pack_node(const struct wire_node *wire, const struct source_table *table,
		  struct arena *arena, struct node_facts *ret_facts, struct error *err);

int api_pack_namespace(const struct wire_namespace *wire, struct arena *arena,
		       struct namespace_facts *ret_facts, struct error *err);

/*
 * foreign_manager is the first manager besides API_FIELD_MANAGER that owns a field of the spec;
 * kube-controller-manager, which writes status alone, is none.
 */
int api_pack_resource_quota(const struct wire_resource_quota *wire, struct arena *arena,
			    struct resource_quota_facts *ret_facts, struct error *err);

/* Only what a LimitRange of ours has counts as defaults: extended resources, limit equal request.
 */
int api_pack_limit_range(const struct wire_limit_range *wire, struct arena *arena,
			 struct limit_range_facts *ret_facts, struct error *err);

/*
 * A spec that cannot be used (a quantity out of range, say) sets facts.invalid and is no error: its
 * tenant must be told. The message is a sentence without a full stop that names the field. A status
 * that cannot be read counts as none, so that it is written again; conditions whose type or reason
 * this version does not know are passed over.
 */
int api_pack_quota(const struct wire_gpu_memory_quota *wire, struct arena *arena,
		   struct quota_facts *ret_facts, struct error *err);

/* @invalid, borrowed: why it cannot be read. It has no status. */
int api_pack_quota_outline(const struct wire_object *wire, const char *invalid,
			   struct quota_facts *ret_facts, struct error *err);

/* Likewise. */
int api_pack_tenant(const struct wire_tenant *wire, struct arena *arena,
		    struct tenant_facts *ret_facts, struct error *err);

int api_pack_tenant_outline(const struct wire_object *wire, const char *invalid,
			    struct tenant_facts *ret_facts, struct error *err);

/* Any ValidatingAdmissionPolicyBinding; whether it is one of ours its name tells. */
int api_pack_binding(const struct wire_binding *wire, struct arena *arena,
		     struct binding_facts *ret_facts, struct error *err);

/*
 * What a node's agent tells of its pods. All or nothing: INVALID where a list of CPUs is none, a
 * card has no address, or a pod no name. What is measured and cannot be is not known.
 */
int api_pack_gpu_node(const struct wire_gpu_node *wire, struct arena *arena,
		      struct gpu_node_facts *ret_facts, struct error *err);

/* Koordinator's, of a node. What cannot be made use of is no error: facts.layout is NULL. */
int api_pack_koordinator_device(const struct wire_koordinator_device *wire, struct arena *arena,
				struct published_facts *ret_facts, struct error *err);
/* NodeResourceTopology, likewise. */
int api_pack_node_topology(const struct wire_node_topology *wire, struct arena *arena,
			   struct published_facts *ret_facts, struct error *err);

/* resourceVersion as a number (comparable since 1.35), 0 when it is none. */
uint64_t api_version_number(struct str resource_version);

#endif
