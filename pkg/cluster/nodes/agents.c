/* SPDX-License-Identifier: Apache-2.0 */
/* Leases by the names of the nodes whose agents hold them, which need not be known yet. */
#include "cluster/nodes/agents.h"

#include "base/limits.h"
#include "cluster/internal.h"
#include "cluster/nodes/gpunodes_internal.h"

#define DURATION_MOST_US (60 * USEC_PER_MIN)
/* An agent looks every 20 s, and says so with the next renewal, 10 s later at most: between two
 * words that are further apart than this some looks are missing. */
#define TOLD_HOLE_US (90 * USEC_PER_SEC)

uint32_t agent_find(const struct cluster *cluster, struct str lease)
{
	struct str prefix = STR(AGENT_LEASE_PREFIX);

	if (!str_starts_with(lease, prefix))
		return TABLE_NONE;
	lease.data += prefix.len;
	lease.len -= prefix.len;
	return name_find(cluster, CLUSTER_AGENTS, lease);
}

bool agent_lives_on(const struct cluster *cluster, struct str node)
{
	uint32_t agent = name_find(cluster, CLUSTER_AGENTS, node);

	return agent != TABLE_NONE && agent_at(cluster, agent)->lives;
}

int64_t agent_told_us(const struct cluster *cluster, struct str node)
{
	uint32_t agent = name_find(cluster, CLUSTER_AGENTS, node);

	return agent == TABLE_NONE ? 0 : agent_at(cluster, agent)->told_us;
}

static void set_lives(struct cluster *cluster, struct agent_record *record, bool lives,
		      int64_t now_us)
{
	uint32_t node = node_find(cluster, intern_str(cluster->intern, record->node));

	record->lives = lives;
	if (node == TABLE_NONE || node_at(cluster, node)->agent_lives == lives)
		return;
	node_at(cluster, node)->agent_lives = lives;
	layout_settle(cluster, node);
	if (node_at(cluster, node)->gpu_node == TABLE_NONE)
		return;
	if (lives)
		seen_forget_idle(cluster, node_at(cluster, node)->gpu_node, now_us);
	room_refresh(cluster, node);
}

static uint32_t agent_add(struct cluster *cluster, struct str node)
{
	uint32_t agent = table_add(&cluster->agents);

	agent_at(cluster, agent)->node = intern_ref(cluster->intern, node);
	name_insert(cluster, CLUSTER_AGENTS, agent);
	return agent;
}

/* Whether the record says anything new: others may touch its metadata. */
static bool is_renewed(const struct agent_record *record, const struct agent_facts *facts)
{
	return record->duration_us == 0 || record->renew_us != facts->renew_us;
}

/* After a hole nobody knows whether what is idle now was busy meanwhile. */
static void note_told(struct cluster *cluster, struct agent_record *record, int64_t now_us)
{
	uint32_t node = node_find(cluster, intern_str(cluster->intern, record->node));

	if (record->told_us > 0 && now_us - record->told_us > TOLD_HOLE_US && node != TABLE_NONE &&
	    node_at(cluster, node)->gpu_node != TABLE_NONE)
		seen_forget_idle(cluster, node_at(cluster, node)->gpu_node, now_us);
	record->told_us = now_us;
}

static void update(struct cluster *cluster, uint32_t agent, const struct agent_facts *facts,
		   int64_t now_us)
{
	struct agent_record *record = agent_at(cluster, agent);
	bool held = str_equal(facts->holder, intern_str(cluster->intern, record->node));
	bool renewed = is_renewed(record, facts);

	if (renewed)
		record->heard_us = now_us;
	if (facts->seen_us > 0 && facts->seen_us != record->seen_us)
		note_told(cluster, record, now_us);
	record->seen_us = facts->seen_us;
	record->renew_us = facts->renew_us;
	record->duration_us = MIN(facts->duration_us, DURATION_MOST_US);
	record->resource_version = facts->resource_version;
	if (!held || renewed)
		set_lives(cluster, record, held, now_us);
}

int cluster_apply_agent(struct cluster *cluster, const struct agent_facts *facts, int64_t now_us,
			struct error *err)
{
	struct str node = facts->name, prefix = STR(AGENT_LEASE_PREFIX);
	uint32_t agent;

	if (check_names(STR_NONE, facts->name, err) < 0)
		return refuse(cluster, CLUSTER_AGENTS, STR_NONE, facts->name, err);
	if (!str_starts_with(node, prefix) || node.len == prefix.len)
		return 0;
	node.data += prefix.len;
	node.len -= prefix.len;
	agent = name_find(cluster, CLUSTER_AGENTS, node);
	if (agent == TABLE_NONE)
		agent = agent_add(cluster, node);
	agent_at(cluster, agent)->epoch = cluster->epochs[CLUSTER_AGENTS];
	if (!is_older(facts->resource_version, agent_at(cluster, agent)->resource_version))
		update(cluster, agent, facts, now_us);
	return 0;
}

void agent_remove(struct cluster *cluster, uint32_t agent)
{
	struct agent_record *record = agent_at(cluster, agent);

	set_lives(cluster, record, false, 0);
	name_remove(cluster, CLUSTER_AGENTS, agent);
	intern_unref(cluster->intern, record->node);
	table_remove(&cluster->agents, agent);
}

void cluster_expire_agents(struct cluster *cluster, int64_t now_us, int64_t *ret_next_us)
{
	int64_t next_us = TIME_NEVER;

	for (uint32_t agent = table_next(&cluster->agents, 0); agent != TABLE_NONE;
	     agent = table_next(&cluster->agents, agent + 1)) {
		struct agent_record *record = agent_at(cluster, agent);
		int64_t over_us = record->heard_us + record->duration_us;

		if (!record->lives)
			continue;
		if (over_us <= now_us)
			set_lives(cluster, record, false, now_us);
		else
			next_us = MIN(next_us, over_us);
	}
	*ret_next_us = next_us;
}

void cluster_excuse_agents(struct cluster *cluster, int64_t now_us)
{
	for (uint32_t agent = table_next(&cluster->agents, 0); agent != TABLE_NONE;
	     agent = table_next(&cluster->agents, agent + 1))
		agent_at(cluster, agent)->heard_us = now_us;
}
