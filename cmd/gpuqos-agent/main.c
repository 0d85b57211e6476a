/* SPDX-License-Identifier: Apache-2.0 */
/* gpuqos-agent: flags, wiring, exit code. 0 when it did what was asked, or after an orderly stop, 1
 * when it could not, 2 for wrong usage. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/agent.h"
#include "agent/picture.h"
#include "agent/survey.h"
#include "api/layout.h"
#include "flags.h"
#include "runtime/process.h"

#ifndef GPUQOS_VERSION
#define GPUQOS_VERSION "0.1.0-dev"
#endif

#define WRITER      "gpuqos-agent/" GPUQOS_VERSION
#define PICTURE_MAX (4 * 1024 * 1024)

struct program {
	struct flags flags;
	struct process process;
	struct agent *agent;
};

static void write_json(const struct layout *layout, struct buf *out)
{
	api_body_layout(out, layout);
	buf_add_char(out, '\n');
}

static void say(const struct error *err)
{
	fprintf(stderr, "gpuqos-agent: %s\n", err->message);
}

/* A library that was named must work; of one that was found it is said that it does not. */
static int look(const struct flags *flags, struct arena *arena, struct layout *ret_layout,
		struct error *err)
{
	CLEANUP(sources_free) struct sources *sources = sources_new(&flags->sources);
	struct sources_view view;

	if (sources_read(sources, arena, &view, err) < 0)
		return -1;
	if (view.nvml_error.kind != ERROR_NONE && flags->sources.nvml) {
		*err = view.nvml_error;
		return -1;
	}
	if (view.nvml_error.kind != ERROR_NONE)
		say(&view.nvml_error);
	*ret_layout = view.layout;
	ret_layout->writer = STR(WRITER);
	return 0;
}

static int print(const struct flags *flags, struct error *err)
{
	CLEANUP(arena_clear) struct arena arena;
	CLEANUP(buf_clear) struct buf out;
	struct layout layout;

	arena_init(&arena, SURVEY_MEMORY);
	buf_init(&out, flags->json ? LIMIT_LAYOUT + 1 : PICTURE_MAX);
	if (look(flags, &arena, &layout, err) < 0)
		return -1;
	if (flags->json)
		write_json(&layout, &out);
	else
		picture_draw(&layout, flags->ascii, &out);
	if (out.overflowed)
		return error_set(err, ERROR_LIMIT, "more than %zu bytes to print", out.max);
	if (fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0)
		return error_set_errno(err, errno, "standard output");
	return 0;
}

static bool healthy(void *context, struct buf *text)
{
	struct program *program = context;

	return agent_healthy(program->agent, text);
}

static bool ready(void *context, struct buf *text)
{
	struct program *program = context;

	return agent_ready(program->agent, text);
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

static int make_agent(struct program *program, struct error *err)
{
	const struct process *process = &program->process;
	const struct flags *flags = &program->flags;
	const char *server_name =
		flags->kubelet_server_name ? flags->kubelet_server_name : flags->node_name;

	return agent_new(process->client,
			 &(struct agent_options){
				 .node = str_from(flags->node_name),
				 .namespace = lease_namespace(program),
				 .writer = WRITER,
				 .sources = flags->sources,
				 .kubelet_address = flags->kubelet_address,
				 .kubelet_ca_file = flags->kubelet_ca_file,
				 .kubelet_server_name = server_name,
				 .pod_resources = flags->pod_resources,
				 .resync_us = flags->resync_us,
				 .spread_us = flags->spread_us,
				 .log = process->log,
				 .metrics = process->metrics,
				 .seed = process->seed + 1,
			 },
			 &program->agent, err);
}

static int run(struct program *program, struct error *err)
{
	struct process *process = &program->process;

	*process = (struct process){
		.name = "gpuqos-agent",
		.version = GPUQOS_VERSION,
		.settings = program->flags.process,
		.hooks = {.healthy = healthy, .ready = ready, .context = program},
	};
	int r = process_init(process, err);

	if (r == 0)
		r = make_agent(program, err);
	if (r == 0)
		r = process_serve(process, err);
	if (r == 0) {
		agent_start(program->agent);
		process_run(process);
	}
	process_close(process);
	agent_free(program->agent);
	process_clear(process);
	return r;
}

int main(int argc, char **argv)
{
	struct program program = {0};
	struct error err = {0};
	enum flag_outcome outcome;
	int r = 0;

	if (flags_parse(argc, argv, &program.flags, &outcome, &err) < 0) {
		say(&err);
		return 2;
	}
	switch (outcome) {
	case FLAG_SHOW_VERSION:
		puts("gpuqos-agent " GPUQOS_VERSION);
		break;
	case FLAG_SHOW_HELP:
		flags_print_help(stdout);
		break;
	case FLAG_RUN:
		r = program.flags.print ? print(&program.flags, &err) : run(&program, &err);
		break;
	}
	if (r < 0)
		say(&err);
	return r < 0;
}
