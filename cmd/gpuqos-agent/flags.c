/* SPDX-License-Identifier: Apache-2.0 */
/* The table of flags. */
#include "flags.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/flag.h"

/* What the command line comes to. */
struct parsed {
	struct flags flags;
	enum flag_outcome outcome;
};

static const struct flag rows[] = {
#define FLAG(name, value, set, field, help) FLAG_VALUE(name, value, set, struct parsed, field, help)
#define SWITCH(name, set, field, help)      FLAG_SWITCH(name, set, struct parsed, field, help)
	SWITCH("print", flag_set_bool, flags.print,
	       "draw how the machine is wired, and end; needs no cluster"),
	FLAG("hwloc-xml", "FILE", flag_set_text, flags.sources.hwloc_xml,
	     "of the machine that lstopo exported, in place of this"),
	FLAG("nvml", "LIBRARY", flag_set_text, flags.sources.nvml,
	     "NVIDIA's management library (default: libnvidia-ml.so.1, where there is one)"),
	FLAG("sysfs", "DIR", flag_set_text, flags.sources.sysfs, "in place of /sys"),
	FLAG("proc", "DIR", flag_set_text, flags.sources.proc,
	     "/proc of the node's PID namespace, to tell which pod's processes use a card"),
	SWITCH("json", flag_set_bool, flags.json, "print what is published, in place of a picture"),
	SWITCH("ascii", flag_set_bool, flags.ascii, "draw without UTF-8"),
	FLAG("node-name", "NAME", flag_set_text, flags.node_name,
	     "of the Node that this machine is (default: $NODE_NAME)"),
	FLAG("lease-namespace", "NAME", flag_set_text, flags.lease_namespace,
	     "where the Lease is (default: the pod's namespace, else the context's)"),
	FLAG("kubelet-address", "HOST:PORT", flag_set_text, flags.kubelet_address,
	     "of the node's kubelet (default: as the Node says; 0: it is not asked)"),
	FLAG("kubelet-ca-file", "FILE", flag_set_text, flags.kubelet_ca_file,
	     "who signed kubelet's certificate (default: as the API server's)"),
	FLAG("kubelet-server-name", "NAME", flag_set_text, flags.kubelet_server_name,
	     "that the certificate has (default: the node's name)"),
	FLAG("pod-resources-socket", "PATH", flag_set_text, flags.pod_resources,
	     "of kubelet (default: where kubelet has it; 0: no GpuNode is written)"),
	FLAG("resync", "TIME", flag_set_time, flags.resync_us,
	     "between looks at machine, Node and kubelet (default 60s)"),
	FLAG("start-spread", "TIME", flag_set_time, flags.spread_us,
	     "of the first requests of all agents that start at once (default 10s)"),
	PROCESS_FLAGS(struct parsed, flags.process),
	SWITCH("version", flag_set_version, outcome, "say which this is"),
	SWITCH("help", flag_set_help, outcome, "say this"),
};

static const struct flag_table table = {rows, ARRAY_SIZE(rows)};

/* Empty is unset: a DaemonSet may give an empty one. */
static const char *environment(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static int check(const struct flags *flags, struct error *err)
{
	if (!flags->print && (flags->json || flags->ascii))
		return error_set(err, ERROR_INVALID, "--json and --ascii go with --print");
	if (!flags->print && !flags->node_name)
		return error_set(err, ERROR_INVALID,
				 "which Node this machine is nobody says: --node-name, NODE_NAME, "
				 "or --print to see it without a cluster");
	return 0;
}

int flags_parse(int argc, char **argv, struct flags *ret_flags, enum flag_outcome *ret_outcome,
		struct error *err)
{
	struct parsed parsed = {.flags = {.process = PROCESS_SETTINGS_DEFAULT,
					  .node_name = environment("NODE_NAME"),
					  .resync_us = 60 * USEC_PER_SEC,
					  .spread_us = 10 * USEC_PER_SEC},
				.outcome = FLAG_RUN};

	if (flag_parse(&table, argc, argv, &parsed, err) < 0)
		return -1;
	if (parsed.outcome == FLAG_RUN && check(&parsed.flags, err) < 0)
		return -1;
	*ret_flags = parsed.flags;
	*ret_outcome = parsed.outcome;
	return 0;
}

void flags_print_help(FILE *file)
{
	fputs("Usage: gpuqos-agent [FLAGS]\n"
	      "       gpuqos-agent --print [--json|--ascii] [--hwloc-xml FILE]\n"
	      "\n"
	      "Publishes how the GPUs of its node are wired, on the Node. Without flags it uses the service account of its pod.\n"
	      "\n",
	      file);
	flag_print(&table, file);
	fputs("\nTIME is a number with ms, s or m, such as 1500ms, 15s or 2m.\n", file);
}
