/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes a call is about. Sets of a few hashes each; what is found anew takes another's place.
 */
#include "base/macros.h"
#include "cluster/read.h"
#include "extender/internal.h"

#define BATCH 16 /* sets that the processor fetches at a time */

static struct known_name *set_of(struct extender *extender, uint64_t hash)
{
	return extender->names.known[hash % EXTENDER_NAMES_SETS];
}

static uint64_t expect(struct extender *extender, struct str name)
{
	uint64_t hash = hash_bytes(&extender->options.hash_key, name.data, name.len);
	const struct known_name *set = set_of(extender, hash);

	__builtin_prefetch(&set[0]);
	__builtin_prefetch(&set[EXTENDER_NAMES_WAYS - 1]);
	return hash;
}

static uint32_t find(struct extender *extender, struct str name, uint64_t hash)
{
	struct known_name *set = set_of(extender, hash);
	uint32_t node;

	for (size_t i = 0; i < EXTENDER_NAMES_WAYS; i++)
		if (set[i].hash == hash && set[i].known)
			return set[i].node;
	node = cluster_node_find(extender->options.cluster, name);
	if (node == TABLE_NONE)
		return TABLE_NONE;
	memmove(&set[1], &set[0], (EXTENDER_NAMES_WAYS - 1) * sizeof(*set));
	set[0] = (struct known_name){hash, node, true};
	return node;
}

static void find_batch(struct extender *extender, const struct str *names, size_t n,
		       uint32_t *ret_nodes)
{
	uint64_t hashes[BATCH];

	for (size_t i = 0; i < n; i++)
		hashes[i] = expect(extender, names[i]);
	for (size_t i = 0; i < n; i++)
		ret_nodes[i] = find(extender, names[i], hashes[i]);
}

void names_find(struct extender *extender, const struct str *names, size_t n, uint32_t *ret_nodes)
{
	uint64_t changed = cluster_nodes_changed(extender->options.cluster);

	if (extender->names.changed != changed) {
		memset(extender->names.known, 0, sizeof(extender->names.known));
		extender->names.changed = changed;
	}
	for (size_t i = 0; i < n; i += BATCH)
		find_batch(extender, &names[i], MIN(n - i, (size_t)BATCH), &ret_nodes[i]);
}
