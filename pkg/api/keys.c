/* SPDX-License-Identifier: Apache-2.0 */
/* Which keys are kept of which map. */
#include "api/keys.h"

#include "api/layout.h"
#include "api/type.h"
#include "base/macros.h"
#include "model/volume.h"

#define KEY(text)                        \
	{                                \
		(text), sizeof(text) - 1 \
	}
#define KEYS(list)                       \
	{                                \
		(list), ARRAY_SIZE(list) \
	}

static const struct str pod_annotations[] = {
	KEY(KEY_KAI_FRACTION),    KEY(KEY_KAI_MEMORY),        KEY(KEY_KAI_DEVICES),
	KEY(KEY_HAMI_ALLOCATED),  KEY(KEY_VOLCANO_ALLOCATED), KEY(KEY_KOORDINATOR_ALLOCATED),
	KEY(KEY_TOPOLOGY_POLICY), KEY(KEY_TOPOLOGY_SCOPE),    KEY(KEY_CHECKPOINT),
	KEY(KEY_MIRROR),          KEY(KEY_VOLCANO_GROUP),     KEY(KEY_VOLCANO_GROUP_TOO),
	KEY(KEY_KAI_GROUP),       KEY(KEY_KOORDINATOR_GANG),  KEY(KEY_PCIE),
};
const struct field_keys keys_pod_annotations = KEYS(pod_annotations);

static const struct str node_annotations[] = {KEY(KEY_HAMI_REGISTER), KEY(KEY_VOLCANO_REGISTER),
					      KEY(API_LAYOUT_ANNOTATION)};
const struct field_keys keys_node_annotations = KEYS(node_annotations);

static const struct str claim_annotations[] = {KEY(KEY_EXTENDED_CLAIM)};
const struct field_keys keys_claim_annotations = KEYS(claim_annotations);

static const struct str volume_claim_annotations[] = {
	KEY(KEY_BIND_COMPLETED), KEY(KEY_SELECTED_NODE), KEY(KEY_STORAGE_CLASS)};
const struct field_keys keys_volume_claim_annotations = KEYS(volume_claim_annotations);

const struct field_keys keys_zone_labels = KEYS(volume_zone_labels);

static const struct str lease_annotations[] = {KEY(KEY_USAGE_SEEN)};
const struct field_keys keys_lease_annotations = KEYS(lease_annotations);

static const struct str bookmark_annotations[] = {KEY(KEY_INITIAL_EVENTS_END)};
const struct field_keys keys_bookmark_annotations = KEYS(bookmark_annotations);

static const struct str own_labels[] = {KEY(API_LABEL_MANAGED), KEY(API_LABEL_TENANT),
					KEY(API_LABEL_QUOTA)};
const struct field_keys keys_own_labels = KEYS(own_labels);
