/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_PACK_H
#define GPUQOS_API_PACK_H

#include "api/wire.h"
#include "api/wire_quota.h"
#include "api/wire_tenant.h"
#include "model/node.h"
#include "model/observed.h"
#include "model/pod.h"
#include "model/tenant.h"

/*
 * From wire structs to facts of the model: names become enums, quantities become integers, labels
 * become offers. What cannot be read is an error that names the object: INVALID, or LIMIT where it
 * is larger than the cache would keep. What is merely odd (a label whose value is no number)
 * becomes AMOUNT_UNKNOWN. Outputs are borrowed from the wire struct and @arena; lists of amounts
 * are sorted by resource, each resource once.
 */

/*
 * GPU resources only; a container asks for what its requests say, and for its limits where they say
 * nothing. What is asked for 0 times is left out.
 */
int api_pack_pod(const struct wire_pod *wire, struct arena *arena, struct pod_facts *ret_facts,
		 struct error *err);

/*
 * What a node offers is its capacity, priced by the labels of NVIDIA's GPU feature discovery
 * (k8s-device-plugin docs, "GFD labels"), ROCm's node labeller and Intel's plugins.
 *
 * A unit of nvidia.com/gpu has nvidia.com/gpu.memory MiB. That label is the whole card's even when
 * the card is shared, and the slice's under the single MIG strategy, which the product's name tells
 * ("...-MIG-1g.5gb"). A mixed slice has nvidia.com/mig-<profile>.memory; its product is the card's.
 * replicas above 1 divide the memory, 0 and 1 do not; where the name says shared and no label says
 * by how many, the memory is unknown. AMD's "192G" are GiB; of AMD partitions and of Intel's
 * devices no label tells the memory. A MIG resource without its label stays unknown here: whether
 * its name is believed is for those who price (model/resource.h).
 */
int api_pack_node(const struct wire_node *wire, struct arena *arena, struct node_facts *ret_facts,
		  struct error *err);

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

/* Likewise. */
int api_pack_tenant(const struct wire_tenant *wire, struct arena *arena,
		    struct tenant_facts *ret_facts, struct error *err);

/* Any ValidatingAdmissionPolicyBinding; whether it is one of ours its name tells. */
int api_pack_binding(const struct wire_binding *wire, struct arena *arena,
		     struct binding_facts *ret_facts, struct error *err);

/* resourceVersion as a number (comparable since 1.35), 0 when it is none. */
uint64_t api_version_number(struct str resource_version);

#endif
