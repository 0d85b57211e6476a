/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_resources SOCKET: asks kubelet once and prints what it told, a line for each container, its
 * devices and claims, and for what is allocatable; or the error, with status 1.
 */
#include <stdio.h>

#include "agent/podresources.h"
#include "base/clock.h"
#include "http/client.h"

struct run {
	struct loop *loop;
	int status;
};

static void print_devices(const struct held_devices *devices)
{
	printf("  %.*s:", STR_ARGS(devices->resource));
	for (size_t i = 0; i < devices->n_ids; i++)
		printf(" %.*s", STR_ARGS(devices->ids[i]));
	for (size_t i = 0; i < devices->n_numas; i++)
		printf(" numa=%u", devices->numas[i]);
	puts("");
}

static void print_container(const struct held_container *it)
{
	printf("%.*s/%.*s %.*s cpus=%.*s\n", STR_ARGS(it->namespace), STR_ARGS(it->pod),
	       STR_ARGS(it->name), STR_ARGS(it->cpus));
	for (size_t i = 0; i < it->n_devices; i++)
		print_devices(&it->devices[i]);
	for (size_t i = 0; i < it->n_claims; i++)
		printf("  claim %.*s/%.*s: %.*s/%.*s/%.*s\n", STR_ARGS(it->claims[i].namespace),
		       STR_ARGS(it->claims[i].name), STR_ARGS(it->claims[i].driver),
		       STR_ARGS(it->claims[i].pool), STR_ARGS(it->claims[i].device));
}

static void on_answer(void *context, const struct held *held, const struct error *err)
{
	struct run *run = context;

	if (err)
		printf("%s: %s\n", error_kind_name(err->kind), err->message);
	for (size_t i = 0; held && i < held->n_containers; i++)
		print_container(&held->containers[i]);
	for (size_t i = 0; held && i < held->n_allocatable; i++)
		print_devices(&held->allocatable[i]);
	run->status = err != NULL;
	loop_stop(run->loop);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	http_library_init();
	CLEANUP(loop_free) struct loop *loop = loop_new(clock_system());
	struct run run = {.loop = loop};
	CLEANUP(podresources_free)
	struct podresources *podresources =
		podresources_new(loop, &(struct podresources_options){.socket = argv[1],
								      .every_us = 60 * USEC_PER_SEC,
								      .on_answer = on_answer,
								      .context = &run});

	podresources_start(podresources);
	loop_run(loop);
	return run.status;
}
