/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_SOURCES_H
#define GPUQOS_AGENT_SOURCES_H

#include "agent/usage.h"

/*
 * All that knows about the machine: hwloc first, since it is what shows all cards, then NVML, which
 * knows its own better, and last sysfs, for what neither could tell. To be used by one thread at a
 * time; what it keeps from one reading to the next is the loaded NVML, whose events of failed cards
 * would be lost otherwise.
 */
struct sources;

struct sources_options {
	const char *hwloc_xml; /* an export of another machine; NULL: this one */
	const char *nvml;      /* a library; NULL: NVML_LIBRARY, where there is one, and of another
				  machine none */
	const char *sysfs;     /* a folder; NULL: SYSFS_ROOT, of another machine none */
	const char *proc; /* of the node's PID namespace; NULL: who uses cards is not looked for */
};

/*
 * The layout's writer, generation and kubelet are left for whoever publishes it. Where NVML fails,
 * the layout is what the others tell, with the cards' health unknown.
 */
struct sources_view {
	struct layout layout;
	struct machine_facts facts; /* NVML's, for whose devices are whose; none where it failed */
	struct usage usage;
	struct error nvml_error; /* kind ERROR_NONE: it did not fail, or there is none */
};

/* Texts are copied. Never NULL. */
struct sources *sources_new(const struct sources_options *options);
void sources_free(struct sources *sources);

/*
 * May block for as long as a driver does. Everything in @ret_view is borrowed from @arena. Errors
 * as of machine_read().
 */
int sources_read(struct sources *sources, struct arena *arena, struct sources_view *ret_view,
		 struct error *err);

DEFINE_CLEANUP(struct sources *, sources_free)

#endif
