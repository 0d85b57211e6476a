/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens hwloc's topology, has it read part by part and closes it: nothing of hwloc outlives
 * machine_read().
 *
 * hwloc is asked for little. The parts of it that open GPUs to look at them (CUDA, OpenCL, GL) cost
 * memory on the cards of tenants, and the one for x86 moves this thread over all CPUs to execute an
 * instruction on each; what the kernel says in sysfs is enough. CPUs that are not ours to run on
 * are CPUs all the same: an agent in a cpuset describes the machine, not its own share of it.
 */
#include "agent/machine.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "internal.h"

static void topology_free(hwloc_topology_t topology)
{
	if (topology)
		hwloc_topology_destroy(topology);
}

DEFINE_CLEANUP(hwloc_topology_t, topology_free)

void *reading_alloc(struct reading *reading, size_t count, size_t size, struct error *err)
{
	void *block = arena_alloc(reading->arena, count * size);

	if (!block)
		error_set(err, ERROR_LIMIT, "a layout of more than %zu bytes",
			  reading->arena->limit);
	return block;
}

/* What fails here only makes hwloc look at more than it need. */
static void ask_for_little(hwloc_topology_t topology)
{
	static const char *const unwanted[] = {"cuda", "opencl", "gl", "x86"};

	for (size_t i = 0; i < ARRAY_SIZE(unwanted); i++)
		hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
					      unwanted[i]);
}

void machine_prepare(void)
{
	/* Memory of a card that the kernel lists as a NUMA node is one to kubelet, too. */
	setenv("HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES", "1", 0);
}

static int topology_load(const char *hwloc_xml, hwloc_topology_t topology, struct error *err)
{
	const char *what = hwloc_xml ? hwloc_xml : "this machine";

	if (hwloc_xml && hwloc_topology_set_xml(topology, hwloc_xml) < 0)
		return error_set_errno(err, errno, "%s", what);
	ask_for_little(topology);
	if (hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) < 0 ||
	    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) < 0 ||
	    hwloc_topology_load(topology) < 0)
		return error_set_errno(err, errno, "%s: hwloc cannot read it", what);
	return 0;
}

static uint64_t cards_of(const struct reading *reading, unsigned int vendor)
{
	uint64_t cards = 0;

	for (size_t i = 0; i < reading->layout.n_gpus; i++)
		if (gpu_vendor(reading->gpus[i]) == vendor)
			cards |= UINT64_C(1) << i;
	return cards;
}

int machine_read(const char *hwloc_xml, struct arena *arena, struct layout *ret_layout,
		 uint64_t *ret_nvidia, struct error *err)
{
	CLEANUP(topology_free) hwloc_topology_t topology = NULL;
	struct reading reading = {.arena = arena};

	machine_prepare();
	if (hwloc_topology_init(&topology) < 0)
		return error_set_errno(err, errno, "hwloc");
	if (topology_load(hwloc_xml, topology, err) < 0)
		return -1;
	reading.topology = topology;
	if (reading_numas(&reading, err) < 0 || reading_gpus(&reading, err) < 0 ||
	    reading_links(&reading, err) < 0)
		return error_wrap(err, "%s", hwloc_xml ? hwloc_xml : "this machine");
	*ret_layout = reading.layout;
	if (ret_nvidia)
		*ret_nvidia = cards_of(&reading, VENDOR_NVIDIA);
	return 0;
}
