/* SPDX-License-Identifier: Apache-2.0 */
/* Telling a cluster of it, now or late. */
#include "lib/place_history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"

const struct str history_resources[KUBELET_RESOURCES] = {{"nvidia.com/gpu", 14},
							 {"nvidia.com/mig-1g.10gb", 22}};

uint32_t history_below(struct history *h, uint32_t bound)
{
	return (uint32_t)random_below(&h->random, bound);
}

bool history_chance(struct history *h, uint32_t one_in)
{
	return history_below(h, one_in) == 0;
}

static void print_pod(const struct history_pod *pod)
{
	print_message("pod: guaranteed %d, whole CPUs %d, required %d (scope %d)\n",
		      pod->guaranteed, pod->whole_cpus, pod->required, pod->required_scope);
	for (size_t i = 0; i < pod->spec.n; i++)
		print_message(
			"  container of kind %d: %u cards, %u parts, %u CPUs\n",
			pod->spec.containers[i].kind, pod->spec.containers[i].asks[KUBELET_CARDS],
			pod->spec.containers[i].asks[KUBELET_PARTS], pod->spec.containers[i].cpus);
	print_message("  got cards %llx, parts %llx, CPUs of nodes %llx; assumed %llx\n",
		      (unsigned long long)pod->got.units[KUBELET_CARDS],
		      (unsigned long long)pod->got.units[KUBELET_PARTS],
		      (unsigned long long)pod->got.cpus, (unsigned long long)pod->assumed_cards);
}

static void print_node(const struct history_node *node)
{
	const struct kubelet_resource *cards = &node->kubelet.resources[KUBELET_CARDS];

	print_message("node: %zu cards, cut %llx, given %llx, healthy %llx; published %d (policy "
		      "%d), policy %d, pod scope %d, static CPUs %d; NUMA nodes",
		      node->machine.layout.n_gpus, (unsigned long long)node->cut,
		      (unsigned long long)cards->given, (unsigned long long)cards->healthy,
		      node->published, node->policy_told, node->kubelet.settings.policy,
		      node->kubelet.settings.pod_scope, node->kubelet.settings.static_cpu);
	for (size_t card = 0; card < node->machine.layout.n_gpus; card++)
		print_message(" %d", (int)node->machine.gpus[card].numa);
	print_message("; CPUs free of all");
	for (uint32_t numa = 0; numa < node->kubelet.n_numas; numa++)
		print_message(" %u/%u", node->kubelet.free_cpus[numa], node->kubelet.cpus[numa]);
	print_message("\n");
}

void history_fail_at(const struct history *h, const char *what, int pod, int node)
{
	if (pod >= 0)
		print_pod(&h->pods[pod]);
	if (node >= 0)
		print_node(&h->nodes[node]);
	fail_msg("seed %llu, step %llu: %s (pod %d, node %d)", (unsigned long long)h->seed,
		 (unsigned long long)h->step, what, pod, node);
}

struct history_name history_name_of(const char *kind, int64_t number)
{
	struct history_name name;

	snprintf(name.text, sizeof(name.text), "%s-%d", kind, (int)number);
	return name;
}

uint32_t history_count_of(uint64_t set)
{
	return (uint32_t)__builtin_popcountll(set);
}

uint64_t history_cards_below(size_t n)
{
	return n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
}

/* --- telling the cluster */

uint32_t history_asks_of(const struct history_pod *pod, int resource)
{
	return kubelet_pod_asks(&pod->spec, resource);
}

int64_t history_given_out(const struct history_node *node, int r)
{
	const struct kubelet_resource *resource = &node->kubelet.resources[r];

	return history_count_of(resource->registered & resource->healthy);
}

void history_tell_node(struct history *h, struct cluster *cluster, int n)
{
	const struct history_node *node = &h->nodes[n];
	struct history_name name = history_name_of("node", n);
	struct layout layout = node->machine.layout;
	struct node_facts facts = {.name = str_from(name.text),
				   .uid = str_from(name.text),
				   .ready = NODE_READY,
				   .reserved_cpus = node->reserved_cpus,
				   .layout_state = LAYOUT_IS_AGENT_GONE};
	struct device_offer offers[KUBELET_RESOURCES];

	for (int r = 0; r < KUBELET_RESOURCES; r++) {
		uint32_t count = history_count_of(node->kubelet.resources[r].registered);

		if (count == 0)
			continue;
		offers[facts.n_offers++] = (struct device_offer){
			.resource = history_resources[r],
			.product = node->card_bytes == 80 * GIB ? STR("H100") : STR("A100"),
			.unit_memory = r == KUBELET_CARDS ? node->card_bytes : PART_BYTES,
			.count = count,
			.allocatable = history_given_out(node, r),
			.sharing = r == KUBELET_CARDS ? DEVICE_WHOLE : DEVICE_MIG,
		};
	}
	facts.offers = offers;
	layout.kubelet = node->kubelet.settings;
	if (!node->policy_told)
		layout.kubelet.policy = LAYOUT_POLICY_UNKNOWN;
	if (node->published) {
		facts.layout = &layout;
		facts.layout_state = LAYOUT_IS_KNOWN;
	}
	assert_int_equal(cluster_apply_node(cluster, &facts, NULL), 0);
}

void history_tell_space(struct history *h, struct cluster *cluster, int s)
{
	const struct history_space *space = &h->spaces[s];
	struct history_name name = history_name_of("space", s),
			    tenant = history_name_of("tenant", space->tenant);
	struct label label = {STR("team"), str_from(tenant.text)};
	struct namespace_facts facts = {.name = str_from(name.text),
					.uid = str_from(name.text),
					.labels = &label,
					.n_labels = space->tenant >= 0};
	struct quota_facts quota = {
		.namespace = facts.name,
		.name = STR("q"),
		.uid = STR("q"),
		.spec = {.gpu_memory = space->bytes,
			 .gpus = space->gpus,
			 .pod_gpu_memory = AMOUNT_NONE,
			 .pod_gpus = AMOUNT_NONE},
		.has_status = true,
		.status = {.granted = space->bytes,
			   .effective = space->bytes,
			   .granted_gpus = 1000,
			   .effective_gpus = 1000,
			   .tenant = space->tenant >= 0 ? str_from(tenant.text) : STR_NONE},
	};

	assert_int_equal(cluster_apply_namespace(cluster, &facts, NULL), 0);
	if (space->has_quota)
		assert_int_equal(cluster_apply_quota(cluster, &quota, NULL), 0);
}

void history_tell_tenant(struct history *h, struct cluster *cluster, int t)
{
	struct history_name name = history_name_of("tenant", t);
	struct str value = str_from(name.text);
	struct label_requirement requirement = {STR("team"), LABEL_IN, &value, 1};
	struct tenant_facts facts = {.name = str_from(name.text),
				     .uid = str_from(name.text),
				     .spec = {.namespaces = {&requirement, 1},
					      .ceiling = h->tenants[t].bytes,
					      .ceiling_gpus = h->tenants[t].gpus,
					      .topology = h->tenants[t].topology}};

	assert_int_equal(cluster_apply_tenant(cluster, &facts, NULL), 0);
}

static size_t container_asks(const struct kubelet_container *container, struct device_ask *asks)
{
	size_t n = 0;

	for (int r = 0; r < KUBELET_RESOURCES; r++)
		if (container->asks[r] > 0)
			asks[n++] = device_ask_units(history_resources[r], container->asks[r]);
	return n;
}

static bool takes_over(const struct kubelet_pod *spec)
{
	bool init = false;

	for (size_t i = 0; i < spec->n; i++) {
		const struct kubelet_container *c = &spec->containers[i];

		init |= c->kind == CONTAINER_INIT &&
			c->cpus + c->asks[KUBELET_CARDS] + c->asks[KUBELET_PARTS] > 0;
	}
	return init && spec->n > 1 && kubelet_pod_cpus(spec) > 0;
}

static bool has_cpus_in_one(const struct kubelet_pod *spec)
{
	size_t n = 0;

	for (size_t i = 0; i < spec->n; i++)
		n += spec->containers[i].cpus > 0;
	return n == 1;
}

/* As it was told last, to a cluster that may be new. */
void history_tell_what_was_told(struct history *h, struct cluster *cluster, int p)
{
	const struct history_pod *pod = &h->pods[p];
	struct history_name name = history_name_of("pod", p),
			    uid = history_name_of("uid", (int64_t)pod->uid);
	struct history_name space = history_name_of("space", pod->space),
			    node = history_name_of("node", pod->told_node);
	struct device_ask asks[KUBELET_CONTAINERS][KUBELET_RESOURCES] = {0};
	struct container_facts containers[KUBELET_CONTAINERS];
	struct str ids[LIMIT_LAYOUT_GPUS];
	struct pod_facts facts = {
		.namespace = str_from(space.text),
		.name = str_from(name.text),
		.uid = str_from(uid.text),
		.node = pod->told_node == NO_NODE ? STR_NONE : str_from(node.text),
		.phase = pod->told_finished ? POD_FAILED : POD_RUNNING,
		.terminating = pod->told_terminating,
		.containers = containers,
		.n_containers = pod->spec.n,
		.alignment = {.guaranteed = pod->guaranteed,
			      .whole_cpus = pod->whole_cpus,
			      .cpus = kubelet_pod_cpus(&pod->spec),
			      .cpus_together = has_cpus_in_one(&pod->spec),
			      .takes_over = takes_over(&pod->spec),
			      .wished = pod->wished,
			      .policy = pod->policy,
			      .scoped = pod->scoped,
			      .scope = pod->scope},
		.device_ids = ids,
	};

	for (size_t i = 0; i < pod->spec.n; i++)
		containers[i] =
			(struct container_facts){pod->spec.containers[i].kind, asks[i],
						 container_asks(&pod->spec.containers[i], asks[i])};
	for (uint32_t card = 0; card < LIMIT_LAYOUT_GPUS; card++)
		if (pod->told_cards >> card & 1)
			ids[facts.n_device_ids++] =
				h->nodes[pod->told_node].machine.gpus[card].uuid;
	assert_int_equal(cluster_apply_pod(cluster, &facts, NULL), 0);
}

void history_tell_pod(struct history *h, int p)
{
	struct history_pod *pod = &h->pods[p];

	pod->stale = false;
	pod->told_node = pod->node;
	pod->told_finished = pod->finished;
	pod->told_terminating = pod->terminating;
	if (pod->terminating && pod->left == 0)
		pod->left = h->step;
	if (pod->admitted && !str_empty(h->nodes[pod->node].machine.gpus[0].uuid))
		pod->told_cards = pod->got.units[KUBELET_CARDS];
	if (pod->told_node != NO_NODE || pod->told_finished)
		pod->assumed = false;
	history_tell_what_was_told(h, h->cluster, p);
}

/* Now, or some time later. */
void history_changed(struct history *h, int p)
{
	h->pods[p].stale = true;
	if (history_chance(h, 2))
		history_tell_pod(h, p);
}

uint32_t history_node_handle(const struct cluster *cluster, int n)
{
	struct history_name name = history_name_of("node", n);

	return cluster_node_find(cluster, str_from(name.text));
}

uint32_t history_pod_handle(const struct history *h, const struct cluster *cluster, int p)
{
	struct history_name name = history_name_of("pod", p),
			    uid = history_name_of("uid", (int64_t)h->pods[p].uid);
	struct history_name space = history_name_of("space", h->pods[p].space);

	return cluster_pod_find(cluster, str_from(space.text), str_from(name.text),
				str_from(uid.text));
}
