/* SPDX-License-Identifier: Apache-2.0 */
/* Files in, runs, text out; a progress bar where standard error is a terminal. */
#include "simulate.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/dump.h"
#include "cli/incident.h"
#include "cli/openb.h"
#include "cli/picture.h"
#include "cli/simulate.h"
#include "kube/config.h"
#include "simulate_flags.h"

#define OUTPUT_MAX (64 * 1024 * 1024)
#define BAR_WIDTH  40

typedef int read_list_fn(struct sim_input *, struct str, const char *, struct error *);

static int read_list(const char *path, read_list_fn *add, struct sim_input *input,
		     struct error *err)
{
	char *text CLEANUP(mem_free) = NULL;
	size_t len;

	if (kube_read_file(path, DUMP_FILE, &text, &len, err) < 0)
		return -1;
	return add(input, (struct str){text, len}, path, err);
}

static void draw_bar(void *data, double done)
{
	int *drawn = data, percent = (int)(done * 100);

	if (percent == *drawn)
		return;
	*drawn = percent;
	fprintf(stderr, "\r[%-*.*s] %3d %%", BAR_WIDTH, percent * BAR_WIDTH / 100,
		"########################################", percent);
	/* Nothing of it stays in the way of the table. */
	if (percent == 100)
		fprintf(stderr, "\r%*s\r", BAR_WIDTH + 8, "");
	fflush(stderr);
}

static int write_all(FILE *file, const char *name, const struct buf *out, struct error *err)
{
	if (out->overflowed)
		return error_set(err, ERROR_LIMIT, "more than %zu bytes to write", out->max);
	if (fwrite(out->data, 1, out->len, file) != out->len || fflush(file) != 0)
		return error_set_errno(err, errno, "%s", name);
	return 0;
}

static int write_svg(const char *path, const struct buf *out, struct error *err)
{
	FILE *file = fopen(path, "we");
	int status;

	if (!file)
		return error_set_errno(err, errno, "%s", path);
	status = write_all(file, path, out, err);
	if (fclose(file) != 0 && status == 0)
		return error_set_errno(err, errno, "%s", path);
	return status;
}

static int draw_svg(const char *path, const struct simulation *simulation, struct picture *picture,
		    struct error *err)
{
	CLEANUP(buf_clear) struct buf out;

	buf_init(&out, OUTPUT_MAX);
	picture_make(picture, simulation->first, simulation->plan->input, PICTURE_SVG);
	picture_svg(picture, &out);
	return write_svg(path, &out, err);
}

static int report(const struct simulate_flags *flags, const struct simulation *simulation,
		  struct error *err)
{
	struct picture *picture CLEANUP(mem_free) = mem_alloc(sizeof(*picture));
	CLEANUP(buf_clear) struct buf out;

	buf_init(&out, OUTPUT_MAX);
	if (flags->svg && draw_svg(flags->svg, simulation, picture, err) < 0)
		return -1;
	if (flags->json)
		simulation_json(simulation, &out);
	else
		simulation_print(simulation, &out);
	if (flags->picture) {
		picture_make(picture, simulation->first, simulation->plan->input, PICTURE_TERMINAL);
		buf_add_char(&out, '\n');
		picture_text(picture, flags->ascii, &out);
	}
	return write_all(stdout, "standard output", &out, err);
}

static int run_incident(const struct simulate_flags *flags, struct error *err)
{
	CLEANUP(buf_clear) struct buf out;

	buf_init(&out, OUTPUT_MAX);
	incident_report(flags->first_seed, flags->n_seeds, flags->json, &out);
	return write_all(stdout, "standard output", &out, err);
}

static int run(const struct simulate_flags *flags, struct error *err)
{
	CLEANUP(sim_input_clear) struct sim_input input = {0};
	CLEANUP(simulation_clear) struct simulation simulation = {0};
	struct simulate_plan plan = {
		.input = &input,
		.n_policies = flags->n_policies,
		.first_seed = flags->first_seed,
		.n_seeds = flags->n_seeds,
		.picture = flags->picture || flags->svg,
	};
	int drawn = -1;

	for (size_t i = 0; i < flags->n_policies; i++)
		plan.policies[i] = flags->policies[i];
	if (read_list(flags->nodes, flags->openb_nodes ? openb_add_nodes : dump_add_nodes, &input,
		      err) < 0 ||
	    read_list(flags->pods, flags->openb_pods ? openb_add_pods : dump_add_pods, &input,
		      err) < 0)
		return -1;
	if (input.n_nodes == 0 || input.n_pods == 0)
		return error_set(err, ERROR_INVALID, "%s: nothing in it",
				 input.n_nodes ? flags->pods : flags->nodes);
	simulate(&simulation, &plan, isatty(STDERR_FILENO) ? draw_bar : NULL, &drawn);
	return report(flags, &simulation, err);
}

int simulate_main(int argc, char **argv)
{
	enum flag_outcome outcome;
	struct simulate_flags flags;
	struct error err = {0};

	if (simulate_flags_parse(argc, argv, &flags, &outcome, &err) < 0) {
		fprintf(stderr, "kubectl gpuqos simulate: %s\n", err.message);
		return 2;
	}
	if (outcome == FLAG_SHOW_HELP) {
		simulate_flags_help(stdout);
		return 0;
	}
	if ((flags.incident ? run_incident(&flags, &err) : run(&flags, &err)) < 0) {
		fprintf(stderr, "kubectl gpuqos simulate: %s\n", err.message);
		return 1;
	}
	return 0;
}
