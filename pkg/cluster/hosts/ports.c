/* SPDX-License-Identifier: Apache-2.0 */
/* Who has which port of a node. */
#include "cluster/hosts/ports.h"

#include "cluster/hosts/hosts_internal.h"
#include "cluster/hosts/terms_io.h"

bool ports_learn(const struct cluster *cluster, uint32_t pod, struct cluster_terms *terms)
{
	struct host_port *ports, port;
	struct str bytes, rest;

	if (!text_copy(cluster, occupant_ports(cluster, exit_of(cluster, pod)->occupant),
		       terms->arena, &bytes))
		return false;
	rest = bytes;
	while (ports_next(&rest, &port))
		terms->n_ports++;
	ports = arena_alloc(terms->arena, terms->n_ports * sizeof(*ports));
	rest = bytes;
	for (size_t i = 0; ports && ports_next(&rest, &port); i++)
		ports[i] = port;
	terms->ports = ports;
	return ports != NULL;
}

static bool clash(const struct cluster *cluster, uint32_t ports, const struct cluster_terms *terms)
{
	struct str rest = texts_str(&cluster->texts, ports);
	struct host_port port;

	while (ports_next(&rest, &port))
		for (size_t i = 0; i < terms->n_ports; i++)
			if (host_ports_clash(&port, &terms->ports[i]))
				return true;
	return false;
}

static bool is_gone(const struct cluster_ask *ask, uint32_t pod)
{
	if (pod == TABLE_NONE)
		return false;
	for (size_t i = 0; ask->trial && i < ask->trial->n; i++)
		if (ask->trial->gone[i] == pod)
			return true;
	return pod == ask->pod;
}

static uint32_t held(const struct cluster *cluster, const struct cluster_ask *ask,
		     const struct cluster_terms *terms, uint32_t node)
{
	uint32_t hold = holds_next(cluster, ask, node_at(cluster, node)->first_hold), n = 0;

	for (; hold != TABLE_NONE;
	     hold = holds_next(cluster, ask, hold_at(cluster, hold)->node_next))
		n += clash(cluster, hold_at(cluster, hold)->ports, terms);
	return n;
}

struct cluster_ports_taken cluster_ports_taken(const struct cluster *cluster,
					       const struct cluster_ask *ask,
					       const struct cluster_terms *terms, uint32_t node)
{
	uint32_t occupant = node_at(cluster, node)->first_occupant;
	struct cluster_ports_taken taken = {0};

	if (terms->n_ports == 0)
		return taken;
	for (; occupant != TABLE_NONE; occupant = occupant_at(cluster, occupant)->next) {
		const struct occupant_record *record = occupant_at(cluster, occupant);

		if (is_gone(ask, record->pod) || !clash(cluster, record->ports, terms))
			continue;
		taken.pods++;
		taken.forever += record->pod == TABLE_NONE;
	}
	taken.pods += held(cluster, ask, terms, node);
	return taken;
}

bool cluster_pod_has_ports(const struct cluster *cluster, uint32_t pod,
			   const struct cluster_terms *terms)
{
	return pod_at(cluster, pod)->seated && terms->n_ports > 0 &&
	       clash(cluster, occupant_ports(cluster, exit_of(cluster, pod)->occupant), terms);
}
