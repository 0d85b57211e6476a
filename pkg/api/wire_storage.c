/* SPDX-License-Identifier: Apache-2.0 */
/* The field tables of claims, volumes, classes and drivers; about tables see wire.c. */
#include "api/wire_storage.h"

#include "base/macros.h"

/* --- PersistentVolumeClaim */

static const struct field claim_spec_fields[] = {
	FIELD(struct wire_volume_claim_spec, modes, "accessModes", 1, FIELD_STRINGS),
	FIELD(struct wire_volume_claim_spec, volume, "volumeName", 3, FIELD_STRING),
	FIELD(struct wire_volume_claim_spec, class, "storageClassName", 5, FIELD_STRING),
};
static const struct schema claim_spec_schema =
	SCHEMA("PersistentVolumeClaimSpec", struct wire_volume_claim_spec, claim_spec_fields);

static const struct field claim_status_fields[] = {
	FIELD(struct wire_volume_claim_status, phase, "phase", 1, FIELD_STRING),
};
static const struct schema claim_status_schema =
	SCHEMA("PersistentVolumeClaimStatus", struct wire_volume_claim_status, claim_status_fields);

static const struct field claim_fields[] = {
	FIELD_SUB(struct wire_persistent_volume_claim, meta, "metadata", 1, FIELD_MESSAGE,
		  &wire_volume_claim_meta_schema),
	FIELD_SUB(struct wire_persistent_volume_claim, spec, "spec", 2, FIELD_MESSAGE,
		  &claim_spec_schema),
	FIELD_SUB(struct wire_persistent_volume_claim, status, "status", 3, FIELD_MESSAGE,
		  &claim_status_schema),
};
const struct schema wire_persistent_volume_claim_schema =
	SCHEMA("PersistentVolumeClaim", struct wire_persistent_volume_claim, claim_fields);

/* --- PersistentVolume */

static const struct schema sort_schema = {.name = "VolumeSourceOfASort",
					  .size = sizeof(struct wire_volume_sort)};

static const struct field csi_fields[] = {
	FIELD(struct wire_csi_source, driver, "driver", 1, FIELD_STRING),
	FIELD(struct wire_csi_source, handle, "volumeHandle", 2, FIELD_STRING),
};
static const struct schema csi_schema =
	SCHEMA("CSIPersistentVolumeSource", struct wire_csi_source, csi_fields);

#define VOLUME_SORT(member, key, tag)                                                    \
	FIELD_SUB(struct wire_persistent_volume_source, member, key, tag, FIELD_MESSAGE, \
		  &sort_schema)

static const struct field source_fields[] = {
	VOLUME_SORT(gce, "gcePersistentDisk", 1),
	VOLUME_SORT(aws, "awsElasticBlockStore", 2),
	VOLUME_SORT(cinder, "cinder", 8),
	VOLUME_SORT(azure_file, "azureFile", 13),
	VOLUME_SORT(vsphere, "vsphereVolume", 14),
	VOLUME_SORT(azure_disk, "azureDisk", 16),
	VOLUME_SORT(portworx, "portworxVolume", 18),
	[WIRE_VOLUME_SOURCE_CSI] = FIELD_SUB(struct wire_persistent_volume_source, csi, "csi", 22,
					     FIELD_MESSAGE, &csi_schema),
};
static const struct schema source_schema =
	SCHEMA("PersistentVolumeSource", struct wire_persistent_volume_source, source_fields);

static const struct field affinity_fields[] = {
	[WIRE_VOLUME_AFFINITY_REQUIRED] =
		FIELD_SUB(struct wire_volume_affinity, required, "required", 1, FIELD_MESSAGE,
			  &wire_node_terms_schema),
};
static const struct schema affinity_schema =
	SCHEMA("VolumeNodeAffinity", struct wire_volume_affinity, affinity_fields);

static const struct field volume_spec_fields[] = {
	FIELD_SUB(struct wire_persistent_volume_spec, source, "persistentVolumeSource", 2,
		  FIELD_INLINE, &source_schema),
	FIELD_SUB(struct wire_persistent_volume_spec, affinity, "nodeAffinity", 9, FIELD_MESSAGE,
		  &affinity_schema),
};
static const struct schema volume_spec_schema =
	SCHEMA("PersistentVolumeSpec", struct wire_persistent_volume_spec, volume_spec_fields);

static const struct field volume_fields[] = {
	FIELD_SUB(struct wire_persistent_volume, meta, "metadata", 1, FIELD_MESSAGE,
		  &wire_volume_meta_schema),
	FIELD_SUB(struct wire_persistent_volume, spec, "spec", 2, FIELD_MESSAGE,
		  &volume_spec_schema),
};
const struct schema wire_persistent_volume_schema =
	SCHEMA("PersistentVolume", struct wire_persistent_volume, volume_fields);

/* --- StorageClass */

static const struct field requirement_fields[] = {
	FIELD(struct wire_topology_requirement, key, "key", 1, FIELD_STRING),
	FIELD(struct wire_topology_requirement, values, "values", 2, FIELD_STRINGS),
};
static const struct schema requirement_schema = SCHEMA(
	"TopologySelectorLabelRequirement", struct wire_topology_requirement, requirement_fields);

static const struct field term_fields[] = {
	FIELD_SUB(struct wire_topology_term, labels, "matchLabelExpressions", 1, FIELD_MESSAGES,
		  &requirement_schema),
};
static const struct schema term_schema =
	SCHEMA("TopologySelectorTerm", struct wire_topology_term, term_fields);

static const struct field class_fields[] = {
	FIELD_SUB(struct wire_storage_class, meta, "metadata", 1, FIELD_MESSAGE, &wire_meta_schema),
	FIELD(struct wire_storage_class, provisioner, "provisioner", 2, FIELD_STRING),
	FIELD(struct wire_storage_class, binding_mode, "volumeBindingMode", 7, FIELD_STRING),
	FIELD_SUB(struct wire_storage_class, topologies, "allowedTopologies", 8, FIELD_MESSAGES,
		  &term_schema),
};
const struct schema wire_storage_class_schema =
	SCHEMA("StorageClass", struct wire_storage_class, class_fields);

/* --- CSINode, CSIDriver */

static const struct field allocatable_fields[] = {
	[WIRE_CSI_COUNT] = FIELD(struct wire_csi_allocatable, count, "count", 1, FIELD_INT32),
};
static const struct schema allocatable_schema =
	SCHEMA("VolumeNodeResources", struct wire_csi_allocatable, allocatable_fields);

static const struct field node_driver_fields[] = {
	FIELD(struct wire_csi_node_driver, name, "name", 1, FIELD_STRING),
	FIELD_SUB(struct wire_csi_node_driver, allocatable, "allocatable", 4, FIELD_MESSAGE,
		  &allocatable_schema),
};
static const struct schema node_driver_schema =
	SCHEMA("CSINodeDriver", struct wire_csi_node_driver, node_driver_fields);

static const struct field node_spec_fields[] = {
	FIELD_SUB(struct wire_csi_node_spec, drivers, "drivers", 1, FIELD_MESSAGES,
		  &node_driver_schema),
};
static const struct schema node_spec_schema =
	SCHEMA("CSINodeSpec", struct wire_csi_node_spec, node_spec_fields);

static const struct field csi_node_fields[] = {
	FIELD_SUB(struct wire_csi_node, meta, "metadata", 1, FIELD_MESSAGE, &wire_meta_schema),
	FIELD_SUB(struct wire_csi_node, spec, "spec", 2, FIELD_MESSAGE, &node_spec_schema),
};
const struct schema wire_csi_node_schema = SCHEMA("CSINode", struct wire_csi_node, csi_node_fields);

static const struct field driver_spec_fields[] = {
	FIELD(struct wire_csi_driver_spec, tells_capacity, "storageCapacity", 4, FIELD_BOOL),
	FIELD(struct wire_csi_driver_spec, must_be_there, "preventPodSchedulingIfMissing", 11,
	      FIELD_BOOL),
};
static const struct schema driver_spec_schema =
	SCHEMA("CSIDriverSpec", struct wire_csi_driver_spec, driver_spec_fields);

static const struct field csi_driver_fields[] = {
	FIELD_SUB(struct wire_csi_driver, meta, "metadata", 1, FIELD_MESSAGE, &wire_meta_schema),
	FIELD_SUB(struct wire_csi_driver, spec, "spec", 2, FIELD_MESSAGE, &driver_spec_schema),
};
const struct schema wire_csi_driver_schema =
	SCHEMA("CSIDriver", struct wire_csi_driver, csi_driver_fields);
