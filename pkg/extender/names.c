/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes a call is about: names as they were met, each in a line of the cache, found by a hash
 * and compared. A name whose node is another by now, or gone, is asked for anew.
 */
#include <string.h>

#include "base/macros.h"
#include "cluster/placing/placement.h"
#include "cluster/read.h"
#include "extender/internal.h"

#define BATCH 16 /* lines that the processor fetches at a time */

_Static_assert(sizeof(struct known_name) == 64, "a name is a line of the cache");

static struct known_name *line_of(struct names *names, uint64_t hash)
{
	return &names->known[hash % EXTENDER_NAMES_LINES];
}

/* Where @name is, or would have to be: there is always a free line. */
static struct known_name *search(struct names *names, struct str name, uint64_t hash)
{
	struct known_name *line = line_of(names, hash);

	while (line->born != 0 &&
	       (line->len != name.len || memcmp(line->text, name.data, name.len) != 0))
		line = line_of(names, ++hash);
	return line;
}

static uint32_t ask(struct extender *extender, struct str name, struct known_name *line)
{
	const struct cluster *cluster = extender->options.cluster;
	uint32_t node = cluster_node_find(cluster, name), n_stamps;
	const struct node_stamp *stamps = cluster_node_stamps(cluster, &n_stamps);

	if (node == TABLE_NONE || (line->born == 0 && extender->names.n == EXTENDER_NAMES_MOST))
		return node;
	extender->names.n += line->born == 0;
	line->born = stamps[node].born;
	line->node = node;
	line->len = (uint8_t)name.len;
	memcpy(line->text, name.data, name.len);
	return node;
}

static uint32_t find(struct extender *extender, struct str name, uint64_t hash)
{
	uint32_t n_stamps;
	const struct node_stamp *stamps = cluster_node_stamps(extender->options.cluster, &n_stamps);
	struct known_name *line;

	if (name.len > sizeof(line->text))
		return cluster_node_find(extender->options.cluster, name);
	line = search(&extender->names, name, hash);
	if (line->born != 0 && stamps[line->node].born == line->born)
		return line->node;
	return ask(extender, name, line);
}

static void find_batch(struct extender *extender, const struct str *names, size_t n,
		       uint32_t *ret_nodes)
{
	uint64_t hashes[BATCH];

	for (size_t i = 0; i < n; i++) {
		hashes[i] = hash_quick(&extender->options.hash_key, names[i].data, names[i].len);
		__builtin_prefetch(line_of(&extender->names, hashes[i]));
	}
	for (size_t i = 0; i < n; i++)
		ret_nodes[i] = find(extender, names[i], hashes[i]);
}

void names_find(struct extender *extender, const struct str *names, size_t n, uint32_t *ret_nodes)
{
	/* Those of nodes that are long gone too. */
	if (extender->names.n > EXTENDER_NAMES_LINES / 8 * 5)
		memset(&extender->names, 0, sizeof(extender->names));
	for (size_t i = 0; i < n; i += BATCH)
		find_batch(extender, &names[i], MIN(n - i, (size_t)BATCH), &ret_nodes[i]);
}
