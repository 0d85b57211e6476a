/* SPDX-License-Identifier: Apache-2.0 */
/* Claims, volumes, classes and drivers: what of them kube-scheduler compares with nodes. */
#include "api/pack_storage.h"

#include "api/keys.h"
#include "api/pack_terms.h"
#include "base/limits.h"
#include "base/macros.h"

/* --- claims */

static bool is_for_one_pod(const struct wire_list *modes)
{
	wire_for_each(const struct str, mode, *modes) {
		if (str_equal(*mode, STR("ReadWriteOncePod")))
			return true;
	}
	return false;
}

/* k8s.io/component-helpers/storage/volume, GetPersistentVolumeClaimClass: the annotation counts
 * also where it is empty. */
static struct str class_of(const struct wire_persistent_volume_claim *wire)
{
	struct str class = wire->spec.class;

	wire_map_get(&wire->meta.annotations, STR(KEY_STORAGE_CLASS), &class);
	return class;
}

int api_pack_volume_claim(const struct wire_persistent_volume_claim *wire,
			  struct volume_claim_facts *ret_facts, struct error *err)
{
	const struct wire_meta *meta = &wire->meta;
	struct volume_claim_facts facts = {
		.namespace = meta->namespace,
		.name = meta->name,
		.volume = wire->spec.volume,
		.class = class_of(wire),
		.owner_uid = pack_owner_uid(&meta->owners),
		.lost = str_equal(wire->status.phase, STR("Lost")),
		.terminating = wire_has(meta, WIRE_META_DELETION),
		.once = is_for_one_pod(&wire->spec.modes),
	};
	struct str completed;

	if (pack_check_meta(meta, err) < 0)
		return pack_locate(err, "PersistentVolumeClaim", meta);
	facts.bound = wire_map_get(&meta->annotations, STR(KEY_BIND_COMPLETED), &completed);
	/* kube-scheduler compares what is there, and an empty name is no node's. */
	facts.chosen = wire_map_get(&meta->annotations, STR(KEY_SELECTED_NODE), &facts.node);
	*ret_facts = facts;
	return 0;
}

/* --- volumes */

static int pack_zones(const struct wire_list *pairs, const struct pack *pack,
		      struct volume_facts *facts)
{
	struct label *zones = arena_alloc(pack->arena, pairs->len * sizeof(*zones));

	if (!zones)
		return pack_no_memory(pack);
	wire_for_each(const struct wire_pair, pair, *pairs) {
		zones[facts->n_zones++] = (struct label){pair->key, pair->value};
	}
	facts->zones = zones;
	return 0;
}

static int pack_affinity(const struct wire_volume_affinity *wire, const struct pack *pack,
			 struct volume_facts *facts)
{
	facts->chooses = wire_has(wire, WIRE_VOLUME_AFFINITY_REQUIRED);
	facts->unread = pack_node_terms_size(&wire->required.terms) > LIMIT_TERMS;
	return facts->unread ? 0
			     : pack_node_terms(&wire->required.terms, pack, &facts->terms,
					       &facts->n_terms);
}

int api_pack_volume(const struct wire_persistent_volume *wire, struct arena *arena,
		    struct volume_facts *ret_facts, struct error *err)
{
	const struct wire_persistent_volume_source *source = &wire->spec.source;
	const struct pack pack = {arena, err};
	struct volume_facts facts = {
		.name = wire->meta.name,
		.driver = source->csi.driver,
		.handle = source->csi.handle,
		.translated = (source->present & ~(UINT64_C(1) << WIRE_VOLUME_SOURCE_CSI)) != 0,
	};

	if (pack_check_meta(&wire->meta, err) < 0 ||
	    pack_zones(&wire->meta.labels, &pack, &facts) < 0 ||
	    pack_affinity(&wire->spec.affinity, &pack, &facts) < 0)
		return pack_locate(err, "PersistentVolume", &wire->meta);
	*ret_facts = facts;
	return 0;
}

/* --- classes */

static size_t topologies_size(const struct wire_list *terms)
{
	size_t size = 0;

	wire_for_each(const struct wire_topology_term, term, *terms) {
		size++;
		wire_for_each(const struct wire_topology_requirement, label, term->labels) {
			size += 1 + label->values.len;
		}
	}
	return size;
}

/* k8s.io/kubernetes/pkg/apis/core/v1/helper, MatchTopologySelectorTerms: what no value is allowed
 * of matches nothing. */
static int pack_topology(const struct wire_topology_term *wire, const struct pack *pack,
			 struct node_term *term, bool *ret_sound)
{
	struct node_requirement *labels =
		arena_alloc(pack->arena, wire->labels.len * sizeof(*labels));

	if (!labels)
		return pack_no_memory(pack);
	*term = (struct node_term){.labels = labels};
	*ret_sound = wire->labels.len > 0;
	wire_for_each(const struct wire_topology_requirement, label, wire->labels) {
		labels[term->n_labels++] = (struct node_requirement){
			label->key, NODE_IN, label->values.items, label->values.len};
		*ret_sound &= label->values.len > 0;
	}
	return 0;
}

static int pack_topologies(const struct wire_list *wires, const struct pack *pack,
			   struct storage_class_facts *facts)
{
	struct node_term *terms = arena_alloc(pack->arena, wires->len * sizeof(*terms));
	bool sound = false;

	if (!terms)
		return pack_no_memory(pack);
	wire_for_each(const struct wire_topology_term, wire, *wires) {
		if (pack_topology(wire, pack, &terms[facts->n_terms], &sound) < 0)
			return -1;
		facts->n_terms += sound;
	}
	facts->terms = terms;
	return 0;
}

int api_pack_storage_class(const struct wire_storage_class *wire, struct arena *arena,
			   struct storage_class_facts *ret_facts, struct error *err)
{
	const struct pack pack = {arena, err};
	struct storage_class_facts facts = {
		.name = wire->meta.name,
		.provisioner = wire->provisioner,
		.waits = str_equal(wire->binding_mode, STR("WaitForFirstConsumer")),
		.chooses = wire->topologies.len > 0,
		.unread = topologies_size(&wire->topologies) > LIMIT_TERMS,
	};

	if (pack_check_meta(&wire->meta, err) < 0 ||
	    (!facts.unread && pack_topologies(&wire->topologies, &pack, &facts) < 0))
		return pack_locate(err, "StorageClass", &wire->meta);
	*ret_facts = facts;
	return 0;
}

/* --- drivers */

int api_pack_csi_node(const struct wire_csi_node *wire, struct arena *arena,
		      struct csi_node_facts *ret_facts, struct error *err)
{
	const struct wire_list *wires = &wire->spec.drivers;
	struct csi_node_driver *drivers = arena_alloc(arena, wires->len * sizeof(*drivers));
	struct csi_node_facts facts = {.name = wire->meta.name, .drivers = drivers};
	const struct pack pack = {arena, err};

	if (pack_check_meta(&wire->meta, err) < 0)
		return pack_locate(err, "CSINode", &wire->meta);
	if (!drivers) {
		pack_no_memory(&pack);
		return pack_locate(err, "CSINode", &wire->meta);
	}
	wire_for_each(const struct wire_csi_node_driver, driver, *wires) {
		bool told = wire_has(&driver->allocatable, WIRE_CSI_COUNT);

		drivers[facts.n_drivers++] = (struct csi_node_driver){
			driver->name, told ? MAX(driver->allocatable.count, 0) : -1};
	}
	*ret_facts = facts;
	return 0;
}

int api_pack_csi_driver(const struct wire_csi_driver *wire, struct csi_driver_facts *ret_facts,
			struct error *err)
{
	if (pack_check_meta(&wire->meta, err) < 0)
		return pack_locate(err, "CSIDriver", &wire->meta);
	*ret_facts = (struct csi_driver_facts){
		.name = wire->meta.name,
		.tells_capacity = wire->spec.tells_capacity,
		.must_be_there = wire->spec.must_be_there,
	};
	return 0;
}
