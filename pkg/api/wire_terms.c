/* SPDX-License-Identifier: Apache-2.0 */
/* The field tables of what a pod asks of nodes beside devices; about tables see wire.c. */
#include "api/wire_terms.h"

#include "base/macros.h"

#define REQUIRED  "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

static const struct schema preference_schema = {.name = "Preference",
						.size = sizeof(struct wire_preference)};

static const struct schema volume_sort_schema = {.name = "VolumeSourceOfASort",
						 .size = sizeof(struct wire_volume_sort)};

#define VOLUME_SORT(member, key, tag) \
	FIELD_SUB(struct wire_volume_source, member, key, tag, FIELD_MESSAGE, &volume_sort_schema)

static const struct field volume_claim_fields[] = {
	FIELD(struct wire_volume_claim, name, "claimName", 1, FIELD_STRING),
};
static const struct schema volume_claim_schema =
	SCHEMA("PersistentVolumeClaimVolumeSource", struct wire_volume_claim, volume_claim_fields);

static const struct field volume_source_fields[] = {
	VOLUME_SORT(gce, "gcePersistentDisk", 3),
	VOLUME_SORT(aws, "awsElasticBlockStore", 4),
	VOLUME_SORT(iscsi, "iscsi", 8),
	[WIRE_VOLUME_CLAIM] = FIELD_SUB(struct wire_volume_source, claim, "persistentVolumeClaim",
					10, FIELD_MESSAGE, &volume_claim_schema),
	VOLUME_SORT(rbd, "rbd", 11),
	VOLUME_SORT(cinder, "cinder", 13),
	VOLUME_SORT(azure_file, "azureFile", 18),
	VOLUME_SORT(vsphere, "vsphereVolume", 20),
	VOLUME_SORT(azure_disk, "azureDisk", 22),
	VOLUME_SORT(portworx, "portworxVolume", 24),
	[WIRE_VOLUME_EPHEMERAL] = VOLUME_SORT(ephemeral, "ephemeral", 29),
};
static const struct schema volume_source_schema =
	SCHEMA("VolumeSource", struct wire_volume_source, volume_source_fields);

static const struct field volume_fields[] = {
	FIELD(struct wire_volume, name, "name", 1, FIELD_STRING),
	FIELD_SUB(struct wire_volume, source, "volumeSource", 2, FIELD_INLINE,
		  &volume_source_schema),
};
const struct schema wire_volume_schema = SCHEMA("Volume", struct wire_volume, volume_fields);

static const struct field node_term_fields[] = {
	FIELD_SUB(struct wire_node_term, labels, "matchExpressions", 1, FIELD_MESSAGES,
		  &wire_requirement_schema),
	FIELD_SUB(struct wire_node_term, fields, "matchFields", 2, FIELD_MESSAGES,
		  &wire_requirement_schema),
};
static const struct schema node_term_schema =
	SCHEMA("NodeSelectorTerm", struct wire_node_term, node_term_fields);

static const struct field node_terms_fields[] = {
	FIELD_SUB(struct wire_node_terms, terms, "nodeSelectorTerms", 1, FIELD_MESSAGES,
		  &node_term_schema),
};
const struct schema wire_node_terms_schema =
	SCHEMA("NodeSelector", struct wire_node_terms, node_terms_fields);

static const struct field node_affinity_fields[] = {
	[WIRE_NODE_AFFINITY_REQUIRED] = FIELD_SUB(struct wire_node_affinity, required, REQUIRED, 1,
						  FIELD_MESSAGE, &wire_node_terms_schema),
	FIELD_SUB(struct wire_node_affinity, preferred, PREFERRED, 2, FIELD_MESSAGES,
		  &preference_schema),
};
static const struct schema node_affinity_schema =
	SCHEMA("NodeAffinity", struct wire_node_affinity, node_affinity_fields);

static const struct field pod_term_fields[] = {
	[WIRE_POD_TERM_SELECTOR] = FIELD_SUB(struct wire_pod_term, selector, "labelSelector", 1,
					     FIELD_MESSAGE, &wire_selector_schema),
	FIELD(struct wire_pod_term, namespaces, "namespaces", 2, FIELD_STRINGS),
	FIELD(struct wire_pod_term, topology_key, "topologyKey", 3, FIELD_STRING),
	[WIRE_POD_TERM_NAMESPACE_SELECTOR] =
		FIELD_SUB(struct wire_pod_term, namespace_selector, "namespaceSelector", 4,
			  FIELD_MESSAGE, &wire_selector_schema),
};
static const struct schema pod_term_schema =
	SCHEMA("PodAffinityTerm", struct wire_pod_term, pod_term_fields);

static const struct field pod_affinity_fields[] = {
	FIELD_SUB(struct wire_pod_affinity, required, REQUIRED, 1, FIELD_MESSAGES,
		  &pod_term_schema),
	FIELD_SUB(struct wire_pod_affinity, preferred, PREFERRED, 2, FIELD_MESSAGES,
		  &preference_schema),
};
static const struct schema pod_affinity_schema =
	SCHEMA("PodAffinity", struct wire_pod_affinity, pod_affinity_fields);

static const struct field affinity_fields[] = {
	FIELD_SUB(struct wire_affinity, node, "nodeAffinity", 1, FIELD_MESSAGE,
		  &node_affinity_schema),
	FIELD_SUB(struct wire_affinity, pod, "podAffinity", 2, FIELD_MESSAGE, &pod_affinity_schema),
	FIELD_SUB(struct wire_affinity, anti, "podAntiAffinity", 3, FIELD_MESSAGE,
		  &pod_affinity_schema),
};
const struct schema wire_affinity_schema =
	SCHEMA("Affinity", struct wire_affinity, affinity_fields);

static const struct field toleration_fields[] = {
	FIELD(struct wire_toleration, key, "key", 1, FIELD_STRING),
	FIELD(struct wire_toleration, op, "operator", 2, FIELD_STRING),
	FIELD(struct wire_toleration, value, "value", 3, FIELD_STRING),
	FIELD(struct wire_toleration, effect, "effect", 4, FIELD_STRING),
};
const struct schema wire_toleration_schema =
	SCHEMA("Toleration", struct wire_toleration, toleration_fields);

static const struct field spread_fields[] = {
	FIELD(struct wire_spread, when_unsatisfiable, "whenUnsatisfiable", 3, FIELD_STRING),
};
const struct schema wire_spread_schema =
	SCHEMA("TopologySpreadConstraint", struct wire_spread, spread_fields);
