/* SPDX-License-Identifier: Apache-2.0 */
/* Pods and claims: born, bound, finished, stuck, gone. */
#include <string.h>

#include "lib/world_api.h"
#include "lib/world_events.h"
#include "lib/world_gates.h"
#include "lib/world_recount.h"
#include "lib/world_watcher.h"

static int any_space(struct world *w)
{
	return (int)world_below(w, WORLD_SPACES);
}

static bool takes_objects(const struct world *w, int space)
{
	return w->api.spaces[space].meta.exists && !w->api.spaces[space].meta.terminating;
}

/* --- created */

static int insisted_product(struct world *w)
{
	static const int products[] = {WORLD_H100, WORLD_A100, WORLD_H100_SHARED, WORLD_MI300};

	if (w->only_profile != WORLD_NONE || !world_chance(w, 4))
		return WORLD_NO_PRODUCT;
	return products[world_below(w, ARRAY_SIZE(products))];
}

static void create_claim_of(struct world *w, int slot)
{
	int space = slot / WORLD_PODS;
	struct world_claim claim = {.count = 1, .other_class = WORLD_NONE, .pod = slot};

	claim.pod_uid = w->api.pods[slot].meta.uid;
	for (int i = space * WORLD_CLAIMS; i < (space + 1) * WORLD_CLAIMS; i++)
		if (!w->api.claims[i].meta.exists) {
			claim.meta = world_meta(w);
			if (world_create_claim(w, i, &claim) == WORLD_LET_BY)
				world_excuse_use(w, space, "a claim that nothing counted");
			return;
		}
}

static void create_pod(struct world *w, int slot)
{
	int space = slot / WORLD_PODS;
	struct world_pod pod = {
		.meta = world_meta(w),
		.shape = w->only_shape != WORLD_NONE ? w->only_shape
						     : (int)world_below(w, WORLD_SHAPES),
		.product = insisted_product(w),
		.node = WORLD_NONE,
		.owner = world_chance(w, 3) ? WORLD_NONE : (int)world_below(w, 3),
		.claim = WORLD_NONE,
		.protected = world_chance(w, 6),
	};
	enum world_admission admission = world_create_pod(w, slot, &pod);

	world_say("%s: pod %d in namespace %d, %s%s",
		  admission == WORLD_REFUSED ? "refused" : "created", slot, space,
		  world_shapes[pod.shape].name,
		  admission == WORLD_LET_BY ? ", not counted by the API server" : "");
	if (admission == WORLD_LET_BY)
		world_let_by(w, space);
	if (admission != WORLD_REFUSED && world_shapes[pod.shape].claim)
		create_claim_of(w, slot);
}

static void create_claim(struct world *w, int space)
{
	int slot = space * WORLD_CLAIMS + (int)world_below(w, WORLD_CLAIMS);
	struct world_claim claim = {
		.class = (int)world_below(w, WORLD_CLASSES),
		.count = 1,
		.other_class = WORLD_NONE,
		.pod = WORLD_NONE,
	};
	enum world_admission admission;

	if (w->api.claims[slot].meta.exists || w->only_profile != WORLD_NONE)
		return;
	claim.meta = world_meta(w);
	if (claim.class != 1)
		claim.count = 1 + (int)world_below(w, 2);
	if (world_chance(w, 4))
		claim.other_class = (int)world_below(w, WORLD_CLASSES);
	admission = world_create_claim(w, slot, &claim);
	world_say("%s: claim %d in namespace %d for %d of class %s",
		  admission == WORLD_REFUSED ? "refused" : "created", slot, space, claim.count,
		  world_classes[claim.class].name);
	if (admission == WORLD_LET_BY)
		world_excuse_use(w, space, "a claim that nothing counted");
}

/* --- bound */

static bool offers(const struct world *w, int node, const struct world_shape *shape)
{
	const struct world_profile *profile = &world_profiles[w->api.nodes[node].profile];
	struct world_ask asks[4];
	int n = world_shape_asks(shape, asks), found = 0;

	for (int i = 0; i < n; i++)
		for (int k = 0; k < profile->n_offers; k++)
			if (profile->offers[k].resource == asks[i].resource) {
				found++;
				break;
			}
	return found == n;
}

static bool has_devices(const struct world *w, int node, int class)
{
	const struct world_slice *slice = &w->api.slices[node];
	const struct world_profile *profile = &world_profiles[slice->profile];

	for (int k = 0; slice->meta.exists && k < profile->n_devices; k++)
		if (profile->devices[k].class == class)
			return w->api.classes[class].meta.exists;
	return false;
}

/* What the scheduler makes of an extended resource that a class stands for. */
static bool claim_of_scheduler(struct world *w, int slot, int node)
{
	int space = slot / WORLD_PODS;

	for (int i = space * WORLD_CLAIMS; i < (space + 1) * WORLD_CLAIMS; i++) {
		if (w->api.claims[i].meta.exists)
			continue;
		w->api.claims[i] = (struct world_claim){
			.meta = world_meta(w),
			.class = 2,
			.count = 1,
			.other_class = WORLD_NONE,
			.allocated = true,
			.of_scheduler = true,
			.given = 2,
			.pool = node,
			.pod = slot,
			.pod_uid = w->api.pods[slot].meta.uid,
		};
		world_changed(w, CLUSTER_CLAIMS, i);
		w->api.pods[slot].claim = i;
		return true;
	}
	return false;
}

static void bind_pod(struct world *w, int slot)
{
	struct world_pod *pod = &w->api.pods[slot];
	const struct world_shape *shape = &world_shapes[pod->shape];
	int node = (int)world_below(w, WORLD_NODES);

	if (!w->api.nodes[node].meta.exists || w->api.nodes[node].reconfiguring)
		return;
	if (shape->n_raw > 0 && shape->raw[0].resource == WORLD_CLASS_EXTENDED) {
		if (!has_devices(w, node, 2) || !claim_of_scheduler(w, slot, node))
			return;
	} else if (!offers(w, node, shape) && (w->calm || !world_chance(w, 10))) {
		return;
	}
	pod->node = node;
	pod->phase = POD_RUNNING;
	world_changed(w, CLUSTER_PODS, slot);
	world_say("bound: pod %d to node %d", slot, node);
}

static void allocate_claim(struct world *w, int slot)
{
	struct world_claim *claim = &w->api.claims[slot];
	int node = (int)world_below(w, WORLD_NODES), class = claim->class;

	if (claim->other_class != WORLD_NONE && world_chance(w, 2))
		class = claim->other_class;
	if (claim->allocated || !has_devices(w, node, class))
		return;
	claim->allocated = true;
	claim->given = class;
	claim->pool = node;
	world_changed(w, CLUSTER_CLAIMS, slot);
	world_say("allocated: claim %d on node %d", slot, node);
}

/* --- going */

static bool kubelet_answers(const struct world *w, const struct world_pod *pod)
{
	const struct world_node *node = &w->api.nodes[MAX(pod->node, 0)];

	return pod->node == WORLD_NONE || (node->meta.exists && node->ready != NODE_NOT_READY);
}

static void delete_pod(struct world *w, int slot)
{
	struct world_pod *pod = &w->api.pods[slot];

	if (pod->meta.terminating)
		return;
	pod->meta.terminating = true;
	pod->deletion_us = world_second(w) + 30 * WORLD_SECOND;
	world_changed(w, CLUSTER_PODS, slot);
	world_say("deleted: pod %d", slot);
}

static void finish_pod(struct world *w, int slot)
{
	struct world_pod *pod = &w->api.pods[slot];

	if (pod->node == WORLD_NONE || !kubelet_answers(w, pod))
		return;
	pod->phase = world_chance(w, 2) ? POD_SUCCEEDED : POD_FAILED;
	world_changed(w, CLUSTER_PODS, slot);
	world_say("finished: pod %d", slot);
}

/* Its containers are gone; of one that has none the API server knows at once. */
static bool remove_pod(struct world *w, int slot)
{
	struct world_pod *pod = &w->api.pods[slot];

	if (!pod->meta.exists || !pod->meta.terminating || !kubelet_answers(w, pod))
		return false;
	world_gone(w, CLUSTER_PODS, slot);
	world_say("gone: pod %d", slot);
	return true;
}

/* The garbage collector: whose owner is gone. */
static bool collect_claim(struct world *w, int slot)
{
	const struct world_claim *claim = &w->api.claims[slot];
	const struct world_pod *pod = &w->api.pods[MAX(claim->pod, 0)];

	if (!claim->meta.exists || claim->pod == WORLD_NONE ||
	    (pod->meta.exists && pod->meta.uid == claim->pod_uid))
		return false;
	world_gone(w, CLUSTER_CLAIMS, slot);
	world_say("collected: claim %d", slot);
	return true;
}

bool world_pods_settle(struct world *w)
{
	bool some = false;

	for (int i = 0; i < WORLD_SPACES * WORLD_PODS; i++)
		some |= remove_pod(w, i);
	for (int i = 0; i < WORLD_SPACES * WORLD_CLAIMS; i++)
		some |= collect_claim(w, i);
	return some;
}

/* --- any of these */

static void change_pod(struct world *w, int slot)
{
	const struct world_pod *pod = &w->api.pods[slot];

	if (!pod->meta.exists) {
		create_pod(w, slot);
	} else if (pod->meta.terminating) {
		remove_pod(w, slot);
	} else if (pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED) {
		if (world_chance(w, 2))
			world_gone(w, CLUSTER_PODS, slot);
	} else if (pod->node == WORLD_NONE && !world_chance(w, 4)) {
		bind_pod(w, slot);
	} else if (world_chance(w, 2)) {
		finish_pod(w, slot);
	} else if (world_chance(w, 2)) {
		delete_pod(w, slot);
	}
}

static void change_claim(struct world *w, int slot)
{
	struct world_claim *claim = &w->api.claims[slot];

	if (!claim->meta.exists)
		create_claim(w, slot / WORLD_CLAIMS);
	else if (!claim->allocated)
		allocate_claim(w, slot);
	else if (claim->pod == WORLD_NONE && world_chance(w, 3))
		world_gone(w, CLUSTER_CLAIMS, slot);
	else
		collect_claim(w, slot);
}

void world_pods_step(struct world *w)
{
	int space = any_space(w);

	if (!takes_objects(w, space))
		return;
	if (world_chance(w, 5) && w->only_profile == WORLD_NONE)
		change_claim(w, space * WORLD_CLAIMS + (int)world_below(w, WORLD_CLAIMS));
	else
		change_pod(w, space * WORLD_PODS + (int)world_below(w, WORLD_PODS));
}
