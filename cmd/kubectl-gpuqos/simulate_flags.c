/* SPDX-License-Identifier: Apache-2.0 */
/* The table of flags. */
#include "simulate_flags.h"

#include "base/macros.h"
#include "base/str.h"

/* What the command line comes to. */
struct parsed {
	struct simulate_flags flags;
	enum flag_outcome outcome;
};

static int set_seeds(void *field, const char *value, struct error *err)
{
	struct simulate_flags *flags = field;
	struct str first, last;
	int64_t from, to;

	if (!str_split(str_from(value), '-', &first, &last))
		last = first;
	if (!str_to_int64(first, 0, INT32_MAX, &from) ||
	    !str_to_int64(last, from, INT32_MAX, &to) || to - from >= SIMULATE_SEEDS)
		return error_set(
			err, ERROR_INVALID,
			"\"%s\": neither a number nor two with - between, at most %d seeds", value,
			SIMULATE_SEEDS);
	flags->first_seed = from;
	flags->n_seeds = (uint32_t)(to - from + 1);
	return 0;
}

static int set_policies(void *field, const char *value, struct error *err)
{
	struct simulate_flags *flags = field;
	struct str rest = str_from(value), name;
	unsigned int seen = 0;

	flags->n_policies = 0;
	if (str_equal(rest, STR("all"))) {
		for (unsigned int i = 0; i < SIM_POLICY_COUNT; i++)
			flags->policies[flags->n_policies++] = i;
		return 0;
	}
	for (bool more = true; more;) {
		enum sim_policy policy;

		more = str_split(rest, ',', &name, &rest);
		if (!sim_policy_find(name, &policy))
			return error_set(err, ERROR_INVALID,
					 "no policy \"%.*s\"; --help lists them", STR_ARGS(name));
		if (seen & 1U << policy)
			return error_set(err, ERROR_INVALID, "policy %s is there twice",
					 sim_policy_name(policy));
		seen |= 1U << policy;
		flags->policies[flags->n_policies++] = policy;
	}
	return 0;
}

static int set_nodes(void *field, const char *path, struct error *err)
{
	struct simulate_flags *flags = field;

	(void)err;
	flags->nodes = path;
	flags->openb_nodes = false;
	return 0;
}

static int set_openb_nodes(void *field, const char *path, struct error *err)
{
	struct simulate_flags *flags = field;

	(void)err;
	flags->nodes = path;
	flags->openb_nodes = true;
	return 0;
}

static int set_pods(void *field, const char *path, struct error *err)
{
	struct simulate_flags *flags = field;

	(void)err;
	flags->pods = path;
	flags->openb_pods = false;
	return 0;
}

static int set_openb_pods(void *field, const char *path, struct error *err)
{
	struct simulate_flags *flags = field;

	(void)err;
	flags->pods = path;
	flags->openb_pods = true;
	return 0;
}

static int set_scenario(void *field, const char *name, struct error *err)
{
	if (!str_equal(str_from(name), STR("incident")))
		return error_set(err, ERROR_INVALID, "there is no scenario \"%s\", but incident",
				 name);
	*(bool *)field = true;
	return 0;
}

static const struct flag rows[] = {
#define FLAG(name, value, set, field, help) FLAG_VALUE(name, value, set, struct parsed, field, help)
#define SWITCH(name, set, field, help)      FLAG_SWITCH(name, set, struct parsed, field, help)
	FLAG("nodes", "FILE", set_nodes, flags,
	     "the nodes: from kubectl get nodes -o json (or yaml)"),
	FLAG("pods", "FILE", set_pods, flags,
	     "the pods to draw from: from kubectl get pods -A -o json"),
	FLAG("openb-nodes", "FILE", set_openb_nodes, flags,
	     "the nodes, from a list like openb_node_list_*.csv"),
	FLAG("openb-pods", "FILE", set_openb_pods, flags,
	     "the pods, from a list like openb_pod_list_*.csv"),
	FLAG("seeds", "A-B", set_seeds, flags,
	     "one run for each, in another order of pods (42-51)"),
	FLAG("policy", "LIST", set_policies, flags,
	     "who places, with commas between (gpuqos,fgd); all: each"),
	SWITCH("json", flag_set_bool, flags.json, "every run with its figures at each percent"),
	SWITCH("picture", flag_set_bool, flags.picture, "draw how the nodes fill in the first run"),
	FLAG("svg", "FILE", flag_set_text, flags.svg, "write that picture to a file"),
	SWITCH("ascii", flag_set_bool, flags.ascii, "draw without UTF-8"),
	FLAG("scenario", "incident", set_scenario, flags.incident,
	     "in place of lists: tenants race for two-socket nodes"),
	SWITCH("help", flag_set_help, outcome, "say this"),
};

static const struct flag_table table = {rows, ARRAY_SIZE(rows)};

static int check(const struct simulate_flags *flags, struct error *err)
{
	if (flags->incident && (flags->nodes || flags->pods || flags->picture || flags->svg))
		return error_set(err, ERROR_INVALID,
				 "--scenario goes with --seeds and --json alone");
	if (!flags->incident && (!flags->nodes || !flags->pods))
		return error_set(err, ERROR_INVALID, "%s is missing; see --help",
				 flags->nodes ? "--pods or --openb-pods"
					      : "--nodes or --openb-nodes");
	if (flags->json && flags->picture)
		return error_set(err, ERROR_INVALID, "--json or --picture, not both");
	return 0;
}

int simulate_flags_parse(int argc, char **argv, struct simulate_flags *ret_flags,
			 enum flag_outcome *ret_outcome, struct error *err)
{
	struct parsed parsed = {.flags = {.policies = {SIM_GPUQOS, SIM_FGD},
					  .n_policies = 2,
					  .first_seed = 42,
					  .n_seeds = 10},
				.outcome = FLAG_RUN};

	if (flag_parse(&table, argc, argv, &parsed, err) < 0)
		return -1;
	if (parsed.outcome == FLAG_RUN && check(&parsed.flags, err) < 0)
		return -1;
	*ret_flags = parsed.flags;
	*ret_outcome = parsed.outcome;
	return 0;
}

void simulate_flags_help(FILE *file)
{
	fputs("kubectl gpuqos simulate: how well pods are placed, without a cluster\n\n"
	      "Usage: kubectl gpuqos simulate --nodes FILE --pods FILE [FLAG...]\n"
	      "       kubectl gpuqos simulate --scenario incident [--seeds A-B] [--json]\n\n"
	      "Pods are drawn from the list until 130 % of the GPU capacity has been asked for;\n"
	      "each is placed as it comes or refused, and none ends.\n\n",
	      file);
	flag_print(&table, file);
	fputs("\npolicies:", file);
	for (unsigned int i = 0; i < SIM_POLICY_COUNT; i++)
		fprintf(file, " %s", sim_policy_name(i));
	fputc('\n', file);
}
