/* SPDX-License-Identifier: Apache-2.0 */
/* Growing arrays. Kinds of asks are few, so that looking through them from the newest is enough. */
#include "sim/input.h"

#include "base/mem.h"

void sim_input_clear(struct sim_input *input)
{
	for (size_t i = 0; i < input->n_nodes; i++)
		mem_free(input->nodes[i].name);
	for (size_t i = 0; i < input->n_products; i++)
		mem_free(input->products[i]);
	mem_free(input->nodes);
	mem_free(input->pods);
	mem_free(input->asks);
	*input = (struct sim_input){0};
}

int sim_input_product(struct sim_input *input, struct str name, uint64_t *ret_bit,
		      struct error *err)
{
	size_t i = 0;

	if (str_empty(name)) {
		*ret_bit = 0;
		return 0;
	}
	while (i < input->n_products && !str_equal(str_from(input->products[i]), name))
		i++;
	if (i == SIM_PRODUCTS)
		return error_set(err, ERROR_LIMIT, "more than %d products of GPUs", SIM_PRODUCTS);
	if (i == input->n_products)
		input->products[input->n_products++] = mem_strndup(name.data, name.len);
	*ret_bit = UINT64_C(1) << i;
	return 0;
}

int sim_input_add_node(struct sim_input *input, struct str name, const struct frag_node *gpu,
		       int64_t memory, struct error *err)
{
	if (input->n_nodes == SIM_NODES)
		return error_set(err, ERROR_LIMIT, "more than %d nodes", SIM_NODES);
	mem_grow((void **)&input->nodes, &input->node_capacity, input->n_nodes + 1,
		 sizeof(input->nodes[0]));
	input->nodes[input->n_nodes++] = (struct sim_node){
		.name = mem_strndup(name.data, name.len), .gpu = *gpu, .memory = memory};
	return 0;
}

static bool same_ask(const struct frag_ask *a, const struct frag_ask *b)
{
	return a->cpu_milli == b->cpu_milli && a->gpu_milli == b->gpu_milli && a->gpus == b->gpus &&
	       a->products == b->products;
}

/* The index of @ask, or SIM_ASKS where there is no room for another. */
static uint32_t intern_ask(struct sim_input *input, const struct frag_ask *ask)
{
	for (size_t i = input->n_asks; i-- > 0;)
		if (same_ask(&input->asks[i], ask))
			return (uint32_t)i;
	if (input->n_asks == SIM_ASKS)
		return SIM_ASKS;
	mem_grow((void **)&input->asks, &input->ask_capacity, input->n_asks + 1,
		 sizeof(input->asks[0]));
	input->asks[input->n_asks] = *ask;
	input->asks[input->n_asks].weight = 0;
	return (uint32_t)input->n_asks++;
}

int sim_input_add_pod(struct sim_input *input, const struct frag_ask *ask, int64_t memory,
		      struct error *err)
{
	uint32_t index;

	if (input->n_pods == SIM_PODS)
		return error_set(err, ERROR_LIMIT, "more than %d pods", SIM_PODS);
	index = intern_ask(input, ask);
	if (index == SIM_ASKS)
		return error_set(err, ERROR_LIMIT, "more than %d kinds of pods", SIM_ASKS);
	mem_grow((void **)&input->pods, &input->pod_capacity, input->n_pods + 1,
		 sizeof(input->pods[0]));
	input->pods[input->n_pods++] = (struct sim_pod){.memory = memory, .ask = index};
	input->asks[index].weight++;
	return 0;
}

int64_t sim_input_cards(const struct sim_input *input)
{
	int64_t sum = 0;

	for (size_t i = 0; i < input->n_nodes; i++)
		sum += input->nodes[i].gpu.cards;
	return sum;
}
