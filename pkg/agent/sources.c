/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVML is opened when it is first read, and opened again after it failed: a driver may be installed
 * or replaced while the agent runs. Most machines have none, which is nothing to speak of.
 */
#include "agent/sources.h"

#include "agent/machine.h"
#include "agent/nvml.h"
#include "agent/sysfs.h"
#include "base/mem.h"

struct sources {
	char *hwloc_xml, *library, *sysfs, *proc; /* NULL: not asked; hwloc_xml: this machine */
	bool must_have_nvml;
	struct nvml *nvml; /* NULL: not open */
};

static char *copy(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

struct sources *sources_new(const struct sources_options *options)
{
	struct sources *sources = mem_alloc(sizeof(*sources));
	bool is_here = !options->hwloc_xml;

	sources->hwloc_xml = copy(options->hwloc_xml);
	sources->library = copy(options->nvml || !is_here ? options->nvml : NVML_LIBRARY);
	sources->sysfs = copy(options->sysfs || !is_here ? options->sysfs : SYSFS_ROOT);
	sources->proc = copy(options->proc);
	sources->must_have_nvml = options->nvml != NULL;
	return sources;
}

void sources_free(struct sources *sources)
{
	if (!sources)
		return;
	nvml_close(sources->nvml);
	mem_free(sources->hwloc_xml);
	mem_free(sources->library);
	mem_free(sources->sysfs);
	mem_free(sources->proc);
	mem_free(sources);
}

/* Where there is none, and none was named, nothing failed. */
static void open_nvml(struct sources *sources, struct error *err)
{
	if (sources->nvml || !sources->library)
		return;
	if (nvml_open(sources->library, &sources->nvml, err) < 0 && err->kind == ERROR_NOT_FOUND &&
	    !sources->must_have_nvml)
		error_clear(err);
}

/* What fails leaves the layout as it was. */
static void add_nvml(struct sources *sources, uint64_t theirs, struct arena *arena,
		     struct sources_view *view)
{
	struct machine_facts facts;

	open_nvml(sources, &view->nvml_error);
	if (!sources->nvml)
		return;
	if (nvml_read(sources->nvml, arena, &facts, &view->nvml_error) < 0) {
		nvml_close(TAKE(sources->nvml));
		return;
	}
	facts.theirs = theirs;
	if (machine_merge(&view->layout, &facts, arena, &view->layout, &view->nvml_error) == 0)
		view->facts = facts;
	if (sources->proc &&
	    !usage_read(sources->proc, &view->layout, &view->facts, arena, &view->usage))
		error_set(&view->nvml_error, ERROR_LIMIT, "too many processes on cards");
}

int sources_read(struct sources *sources, struct arena *arena, struct sources_view *ret_view,
		 struct error *err)
{
	struct sources_view view = {0};
	uint64_t nvidia = 0;

	if (machine_read(sources->hwloc_xml, arena, &view.layout, &nvidia, err) < 0)
		return -1;
	add_nvml(sources, nvidia, arena, &view);
	if (sources->sysfs &&
	    sysfs_fill(sources->sysfs, &view.layout, arena, &view.layout, err) < 0)
		return -1;
	*ret_view = view;
	return 0;
}
