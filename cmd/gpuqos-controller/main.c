/* SPDX-License-Identifier: Apache-2.0 */
/* gpuqos-controller: flags, wiring, exit code. 0 after an orderly stop, 1 when it could not start,
 * 2 for wrong usage. */
#include <stdio.h>
#include <stdlib.h>

#include "controller/controller.h"
#include "extender/extender.h"
#include "flags.h"
#include "runtime/process.h"

#ifndef GPUQOS_VERSION
#define GPUQOS_VERSION "0.1.0-dev"
#endif

struct program {
	struct flags flags;
	struct process process;
	struct controller *controller;
	struct extender *extender; /* NULL: it is not served */
};

static bool healthy(void *context, struct buf *text)
{
	struct program *program = context;

	return controller_healthy(program->controller, text);
}

static bool ready(void *context, struct buf *text)
{
	struct program *program = context;

	return controller_ready(program->controller, text);
}

static void stop(void *context, loop_fn stopped, void *stopped_context)
{
	struct program *program = context;

	controller_stop(program->controller, stopped, stopped_context);
}

/* Called also before there is an extender, and after it has ended. */
static void changed(void *context)
{
	struct program *program = context;

	if (program->extender)
		extender_look_again(program->extender);
}

static struct str lease_namespace(const struct program *program)
{
	const char *pod_namespace = getenv("POD_NAMESPACE");

	if (program->flags.lease_namespace)
		return str_from(program->flags.lease_namespace);
	if (pod_namespace && *pod_namespace)
		return str_from(pod_namespace);
	return str_from(kube_client_config(program->process.client)->namespace);
}

static int make_controller(struct program *program, struct error *err)
{
	const struct process *process = &program->process;

	return controller_new(process->client,
			      &(struct controller_options){
				      .config = &program->flags.config,
				      .identity = process->identity,
				      .leader_elect = program->flags.leader_elect,
				      .lease_namespace = lease_namespace(program),
				      .pod_namespace = str_from(getenv("POD_NAMESPACE")),
				      .pod_name = str_from(getenv("POD_NAME")),
				      .changed = changed,
				      .context = program,
				      .log = process->log,
				      .metrics = process->metrics,
				      .seed = process->seed + 1,
			      },
			      &program->controller, err);
}

static int make_extender(struct program *program, struct error *err)
{
	const struct extender_flags *flags = &program->flags.extender;
	struct controller_parts parts = controller_parts(program->controller);

	if (!flags->address)
		return 0;
	if (extender_new(
		    &(struct extender_options){
			    .address = flags->address,
			    .cert_file = flags->cert_file,
			    .key_file = flags->key_file,
			    .client_ca_file = flags->client_ca_file,
			    .cluster = parts.cluster,
			    .table = &program->flags.config.resources,
			    .weights = &program->flags.config.weights,
			    .candidates = (size_t)program->flags.config.candidates,
			    .margin = program->flags.config.margin,
			    .client = program->process.client,
			    .recorder = parts.recorder,
			    .may_answer = controller_may_answer,
			    .touched = controller_touched,
			    .context = program->controller,
			    .log = program->process.log,
			    .metrics = program->process.metrics,
			    .hash_key = parts.hash_key,
		    },
		    &program->extender, err) < 0)
		return -1;
	log_info(program->process.log, "kube-scheduler's extender is served",
		 LOG_INT("port", extender_port(program->extender)));
	return 0;
}

static int run(struct program *program, struct error *err)
{
	struct process *process = &program->process;

	*process = (struct process){
		.name = "gpuqos-controller",
		.version = GPUQOS_VERSION,
		.settings = program->flags.process,
		.hooks = {.healthy = healthy, .ready = ready, .stop = stop, .context = program},
	};
	if (process_init(process, err) < 0 || make_controller(program, err) < 0 ||
	    make_extender(program, err) < 0 || process_serve(process, err) < 0)
		return -1;
	controller_start(program->controller);
	process_run(process);
	return 0;
}

static void finish(struct program *program)
{
	process_close(&program->process);
	extender_free(TAKE(program->extender));
	controller_free(program->controller);
	process_clear(&program->process);
	controller_config_clear(&program->flags.config);
}

int main(int argc, char **argv)
{
	struct program program = {0};
	struct error err = {0};
	enum flag_outcome outcome;

	if (flags_parse(argc, argv, &program.flags, &outcome, &err) < 0) {
		fprintf(stderr, "gpuqos-controller: %s\n", err.message);
		return 2;
	}
	if (outcome == FLAG_SHOW_VERSION)
		puts("gpuqos-controller " GPUQOS_VERSION);
	if (outcome == FLAG_SHOW_HELP)
		flags_print_help(stdout);
	if (outcome != FLAG_RUN)
		return 0;
	int r = run(&program, &err);

	finish(&program);
	if (r < 0)
		fprintf(stderr, "gpuqos-controller: %s\n", err.message);
	return r < 0;
}
