/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes on a card, and how much of its multiprocessors' time each had since the card was read
 * before. A list may grow between the question how long it is and the one for it: then it is asked
 * for again next time.
 */
#include "nvml_internal.h"

#define SPARE 8

/* Of the card, with room for @ret_n; NULL: there are none, or they are not told. */
static struct nvml_process *list_processes(struct asking *asking, unsigned int *ret_n)
{
	struct nvml_process *list;
	unsigned int n = 0;

	if (!asking->nvml->calls.processes ||
	    asking->nvml->calls.processes(asking->device, &n, NULL) !=
		    NVML_CODE_INSUFFICIENT_SIZE ||
	    n > LIMIT_CARD_PROCESSES)
		return NULL;
	n += SPARE;
	list = arena_alloc(asking->arena, n * sizeof(*list));
	if (!list || !ASK(asking, processes, &n, list))
		return NULL;
	*ret_n = MIN(n, LIMIT_CARD_PROCESSES + SPARE);
	return list;
}

static struct nvml_utilization *list_samples(struct asking *asking, uint64_t since_us,
					     unsigned int *ret_n)
{
	struct nvml_utilization *list;
	unsigned int n = 0;

	if (!asking->nvml->calls.utilization ||
	    asking->nvml->calls.utilization(asking->device, NULL, &n, since_us) !=
		    NVML_CODE_INSUFFICIENT_SIZE ||
	    n > LIMIT_CARD_SAMPLES)
		return NULL;
	list = arena_alloc(asking->arena, n * sizeof(*list));
	if (!list || !ASK(asking, utilization, list, &n, since_us))
		return NULL;
	*ret_n = MIN(n, LIMIT_CARD_SAMPLES);
	return list;
}

/* The mean of the process's samples, or -1 where there are none that make sense. */
static int mean_of(const struct nvml_utilization *samples, unsigned int n, unsigned int pid)
{
	unsigned int sum = 0, count = 0;

	for (unsigned int i = 0; i < n; i++)
		if (samples[i].pid == pid && samples[i].sm <= 100) {
			sum += samples[i].sm;
			count++;
		}
	return count > 0 ? (int)(sum / count) : -1;
}

void nvml_read_processes(struct asking *asking, uint64_t *since_us, struct card_facts *card)
{
	unsigned int n = 0, n_samples = 0;
	const struct nvml_process *list = list_processes(asking, &n);
	const struct nvml_utilization *samples =
		list ? list_samples(asking, *since_us, &n_samples) : NULL;
	struct process_facts *processes = arena_alloc(asking->arena, n * sizeof(*processes));

	if (!processes)
		return;
	for (unsigned int i = 0; i < n; i++)
		processes[i] = (struct process_facts){
			.pid = list[i].pid,
			.memory = nvml_amount(list[i].memory, 1),
			.sm_percent = mean_of(samples, n_samples, list[i].pid),
		};
	for (unsigned int i = 0; i < n_samples; i++)
		*since_us = MAX(*since_us, samples[i].timestamp);
	card->processes = processes;
	card->n_processes = n;
}
