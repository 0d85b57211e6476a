/* SPDX-License-Identifier: Apache-2.0 */
/* gpuqos-agent: flags, wiring, exit code. 0 when it did what was asked, 1 when it could not, 2 for
 * wrong usage. */
#include <errno.h>
#include <stdio.h>

#include "agent/machine.h"
#include "agent/picture.h"
#include "api/layout.h"
#include "flags.h"

#ifndef GPUQOS_VERSION
#define GPUQOS_VERSION "0.1.0-dev"
#endif

#define LAYOUT_MEMORY (4 * 1024 * 1024)
#define PICTURE_MAX   (4 * 1024 * 1024)

static void write_json(const struct layout *layout, struct buf *out)
{
	api_body_layout(out, layout);
	buf_add_char(out, '\n');
}

static int print(const struct flags *flags, struct error *err)
{
	CLEANUP(arena_clear) struct arena arena;
	CLEANUP(buf_clear) struct buf out;
	struct layout layout;

	arena_init(&arena, LAYOUT_MEMORY);
	buf_init(&out, flags->json ? LIMIT_LAYOUT + 1 : PICTURE_MAX);
	if (machine_read(flags->hwloc_xml, &arena, &layout, err) < 0)
		return -1;
	layout.writer = STR("gpuqos-agent/" GPUQOS_VERSION);
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

int main(int argc, char **argv)
{
	struct error err = {0};
	enum flags_outcome outcome;
	struct flags flags;

	if (flags_parse(argc, argv, &flags, &outcome, &err) < 0) {
		fprintf(stderr, "gpuqos-agent: %s\n", err.message);
		return 2;
	}
	if (outcome == FLAGS_SHOW_VERSION)
		puts("gpuqos-agent " GPUQOS_VERSION);
	if (outcome == FLAGS_SHOW_HELP)
		flags_print_help(stdout);
	if (outcome == FLAGS_PRINT && print(&flags, &err) < 0) {
		fprintf(stderr, "gpuqos-agent: %s\n", err.message);
		return 1;
	}
	return 0;
}
