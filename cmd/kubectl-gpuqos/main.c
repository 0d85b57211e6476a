/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl-gpuqos, which kubectl runs as `kubectl gpuqos`: one file for each command. Exit code 0
 * when it did what was asked, 1 when it could not, 2 for wrong usage. */
#include <stdio.h>

#include "base/macros.h"
#include "base/str.h"
#include "simulate.h"

#ifndef GPUQOS_VERSION
#define GPUQOS_VERSION "0.1.0-dev"
#endif

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{"simulate", simulate_main, "how well pods are placed, without a cluster"},
};

static void print_help(FILE *file)
{
	fputs("kubectl gpuqos: tries how GPU pods would be placed\n\n"
	      "Usage: kubectl gpuqos COMMAND [FLAG...]\n\n",
	      file);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(file, "  %-18s %s\n", commands[i].name, commands[i].help);
	fputs("  --version          say which this is\n"
	      "  --help             say this; after a command: what it takes\n",
	      file);
}

int main(int argc, char **argv)
{
	struct str name = str_from(argc > 1 ? argv[1] : NULL);

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (str_equal(name, str_from(commands[i].name)))
			return commands[i].run(argc - 1, argv + 1);
	if (str_equal(name, STR("--version"))) {
		puts("kubectl-gpuqos " GPUQOS_VERSION);
		return 0;
	}
	if (str_equal(name, STR("--help"))) {
		print_help(stdout);
		return 0;
	}
	if (str_empty(name))
		fputs("kubectl gpuqos: no command; see --help\n", stderr);
	else
		fprintf(stderr, "kubectl gpuqos: no command \"%s\"; see --help\n", argv[1]);
	return 2;
}
