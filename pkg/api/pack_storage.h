/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_PACK_STORAGE_H
#define GPUQOS_API_PACK_STORAGE_H

#include "api/pack.h"
#include "api/wire_storage.h"
#include "model/volume.h"

/*
 * As api/pack.h. Of what says more of nodes than LIMIT_TERMS no more is read than that it does.
 */
int api_pack_volume_claim(const struct wire_persistent_volume_claim *wire,
			  struct volume_claim_facts *ret_facts, struct error *err);
int api_pack_volume(const struct wire_persistent_volume *wire, struct arena *arena,
		    struct volume_facts *ret_facts, struct error *err);
int api_pack_storage_class(const struct wire_storage_class *wire, struct arena *arena,
			   struct storage_class_facts *ret_facts, struct error *err);
int api_pack_csi_node(const struct wire_csi_node *wire, struct arena *arena,
		      struct csi_node_facts *ret_facts, struct error *err);
int api_pack_csi_driver(const struct wire_csi_driver *wire, struct csi_driver_facts *ret_facts,
			struct error *err);

#endif
