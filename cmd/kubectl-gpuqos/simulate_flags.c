/* SPDX-License-Identifier: Apache-2.0 */
/* One table of flags: what getopt knows and what --help prints come from its rows. */
#include "simulate_flags.h"

#include <getopt.h>

#include "base/macros.h"
#include "base/str.h"

enum {
	NODES = 1,
	PODS,
	OPENB_NODES,
	OPENB_PODS,
	SEEDS,
	POLICY,
	JSON,
	PICTURE,
	SVG,
	ASCII,
	SCENARIO,
	HELP
};

static const struct {
	const char *name, *value; /* value: as --help names it, NULL for none */
	int id;
	const char *help;
} table[] = {
	{"nodes", "FILE", NODES, "the nodes: from kubectl get nodes -o json (or yaml)"},
	{"pods", "FILE", PODS, "the pods to draw from: from kubectl get pods -A -o json"},
	{"openb-nodes", "FILE", OPENB_NODES, "the nodes, from a list like openb_node_list_*.csv"},
	{"openb-pods", "FILE", OPENB_PODS, "the pods, from a list like openb_pod_list_*.csv"},
	{"seeds", "A-B", SEEDS, "one run for each, in another order of pods (42-51)"},
	{"policy", "LIST", POLICY, "who places, with commas between (gpuqos,fgd); all: each"},
	{"json", NULL, JSON, "every run with its figures at each percent"},
	{"picture", NULL, PICTURE, "draw how the nodes fill in the first run"},
	{"svg", "FILE", SVG, "write that picture to a file"},
	{"ascii", NULL, ASCII, "draw without UTF-8"},
	{"scenario", "incident", SCENARIO, "in place of lists: tenants race for two-socket nodes"},
	{"help", NULL, HELP, "say this"},
};

static int next_option(int argc, char **argv)
{
	struct option options[ARRAY_SIZE(table) + 1] = {{0}};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		options[i] = (struct option){table[i].name,
					     table[i].value ? required_argument : no_argument, NULL,
					     table[i].id};
	return getopt_long(argc, argv, ":", options, NULL);
}

static int read_seeds(const char *value, struct simulate_flags *flags, struct error *err)
{
	struct str first, last;
	int64_t from, to;

	if (!str_split(str_from(value), '-', &first, &last))
		last = first;
	if (!str_to_int64(first, 0, INT32_MAX, &from) ||
	    !str_to_int64(last, from, INT32_MAX, &to) || to - from >= SIMULATE_SEEDS)
		return error_set(
			err, ERROR_INVALID,
			"--seeds is \"%s\": a number, or two with - between, at most %d seeds",
			value, SIMULATE_SEEDS);
	flags->first_seed = from;
	flags->n_seeds = (uint32_t)(to - from + 1);
	return 0;
}

static int read_policies(const char *value, struct simulate_flags *flags, struct error *err)
{
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
			return error_set(err, ERROR_INVALID, "no policy \"%.*s\"; see --help",
					 STR_ARGS(name));
		if (seen & 1U << policy)
			return error_set(err, ERROR_INVALID, "policy %s is there twice",
					 sim_policy_name(policy));
		seen |= 1U << policy;
		flags->policies[flags->n_policies++] = policy;
	}
	return 0;
}

/* What has a value. */
static int read_value(int id, struct simulate_flags *flags, struct error *err)
{
	switch (id) {
	case NODES:
	case OPENB_NODES:
		flags->nodes = optarg;
		flags->openb_nodes = id == OPENB_NODES;
		return 0;
	case PODS:
	case OPENB_PODS:
		flags->pods = optarg;
		flags->openb_pods = id == OPENB_PODS;
		return 0;
	case SVG:
		flags->svg = optarg;
		return 0;
	case SCENARIO:
		if (!str_equal(str_from(optarg), STR("incident")))
			return error_set(err, ERROR_INVALID, "no scenario \"%s\"; see --help",
					 optarg);
		flags->incident = true;
		return 0;
	case SEEDS:
		return read_seeds(optarg, flags, err);
	default:
		return read_policies(optarg, flags, err);
	}
}

static int check(const struct simulate_flags *flags, int argc, char **argv, struct error *err)
{
	if (optind < argc)
		return error_set(err, ERROR_INVALID, "\"%s\" is no flag; see --help", argv[optind]);
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
			 enum simulate_flags_outcome *ret_outcome, struct error *err)
{
	struct simulate_flags flags = {.policies = {SIM_GPUQOS, SIM_FGD},
				       .n_policies = 2,
				       .first_seed = 42,
				       .n_seeds = 10};
	int id;

	opterr = 0;
	while ((id = next_option(argc, argv)) != -1) {
		switch (id) {
		case JSON:
			flags.json = true;
			break;
		case PICTURE:
			flags.picture = true;
			break;
		case ASCII:
			flags.ascii = true;
			break;
		case HELP:
			*ret_outcome = SIMULATE_HELP;
			return 0;
		case ':':
			return error_set(err, ERROR_INVALID, "%s needs a value", argv[optind - 1]);
		case '?':
			return error_set(err, ERROR_INVALID, "no flag %s; see --help",
					 argv[optind - 1]);
		default:
			if (read_value(id, &flags, err) < 0)
				return -1;
		}
	}
	if (check(&flags, argc, argv, err) < 0)
		return -1;
	*ret_flags = flags;
	*ret_outcome = SIMULATE_RUN;
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
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		char name[64];

		snprintf(name, sizeof(name), "--%s %s", table[i].name,
			 table[i].value ? table[i].value : "");
		fprintf(file, "  %-20s %s\n", name, table[i].help);
	}
	fputs("\npolicies:", file);
	for (unsigned int i = 0; i < SIM_POLICY_COUNT; i++)
		fprintf(file, " %s", sim_policy_name(i));
	fputc('\n', file);
}
