/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_PACK_DRA_H
#define GPUQOS_API_PACK_DRA_H

#include "api/wire_dra.h"
#include "base/arena.h"
#include "base/error.h"
#include "model/claim.h"

/*
 * Facts of resource.k8s.io/v1, by the rules of api/pack.h. Where something cannot be told, what is
 * packed is never cheaper than the truth: an allocation mode or a form of request that this version
 * does not know asks for the most that a claim can get, a capacity that cannot be read is unknown,
 * and an allocation that says nothing counts as none.
 */

/* A count below 0 is INVALID: the API server takes none. */
int api_pack_claim(const struct wire_claim *wire, struct arena *arena,
		   struct claim_facts *ret_facts, struct error *err);

/* Of one that cannot be read: it asks for the most that a claim can get, of no class. */
int api_pack_claim_outline(const struct wire_object *wire, struct claim_facts *ret_facts,
			   struct error *err);

/*
 * Attributes and capacities are those of the driver's own domain. Blanks in a product's name become
 * dashes, as NVIDIA's node label has it: a model has one name. A device of a driver that has GPUs
 * by name has a memory, if an unknown one.
 */
int api_pack_slice(const struct wire_slice *wire, struct arena *arena,
		   struct slice_facts *ret_facts, struct error *err);

/*
 * Of the selectors only the terms of a conjunction are read that say
 *	device.driver == "<driver>"
 *	device.attributes["<domain>"].type == "<type>"
 * Whatever else they say would only narrow the class.
 */
int api_pack_class(const struct wire_class *wire, struct class_facts *ret_facts, struct error *err);

#endif
