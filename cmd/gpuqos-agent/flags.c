/* SPDX-License-Identifier: Apache-2.0 */
/* One table of flags: what getopt knows and what --help prints come from its rows. */
#include "flags.h"

#include <getopt.h>

#include "base/macros.h"

enum { PRINT = 1, HWLOC_XML, JSON, ASCII, VERSION, HELP };

static const struct {
	const char *name, *value; /* value: as --help names it, NULL for none */
	int id;
	const char *help;
} table[] = {
	{"print", NULL, PRINT, "draw how the machine is wired; needs no cluster"},
	{"hwloc-xml", "FILE", HWLOC_XML, "of the machine that lstopo exported, in place of this"},
	{"json", NULL, JSON, "print what is published, in place of a picture"},
	{"ascii", NULL, ASCII, "draw without UTF-8"},
	{"version", NULL, VERSION, "say which this is"},
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

int flags_parse(int argc, char **argv, struct flags *ret_flags, enum flags_outcome *ret_outcome,
		struct error *err)
{
	struct flags flags = {0};
	bool print = false;
	int id;

	opterr = 0;
	while ((id = next_option(argc, argv)) != -1) {
		switch (id) {
		case PRINT:
			print = true;
			break;
		case HWLOC_XML:
			flags.hwloc_xml = optarg;
			break;
		case JSON:
			flags.json = true;
			break;
		case ASCII:
			flags.ascii = true;
			break;
		case VERSION:
		case HELP:
			*ret_outcome = id == HELP ? FLAGS_SHOW_HELP : FLAGS_SHOW_VERSION;
			return 0;
		case ':':
			return error_set(err, ERROR_INVALID, "%s needs a value", argv[optind - 1]);
		default:
			return error_set(err, ERROR_INVALID, "no flag %s; see --help",
					 argv[optind - 1]);
		}
	}
	if (optind < argc)
		return error_set(err, ERROR_INVALID, "\"%s\" is no flag; see --help", argv[optind]);
	if (!print)
		return error_set(err, ERROR_INVALID, "nothing to do; see --help");
	*ret_flags = flags;
	*ret_outcome = FLAGS_PRINT;
	return 0;
}

void flags_print_help(FILE *file)
{
	fputs("gpuqos-agent: how the GPUs of this machine are wired\n\nUsage: gpuqos-agent --print\n\n",
	      file);
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		char name[64];

		snprintf(name, sizeof(name), "--%s %s", table[i].name,
			 table[i].value ? table[i].value : "");
		fprintf(file, "  %-18s %s\n", name, table[i].help);
	}
}
