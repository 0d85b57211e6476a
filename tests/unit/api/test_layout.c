/* SPDX-License-Identifier: Apache-2.0 */
/* The annotation gpuqos.io/topology: what it says, what is refused and where; ' stands for ". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/layout.h"
#include "api/wire_layout.h"
#include "base/macros.h"
#include "lib/layouts.h"

#define NUMA    "{'id':0,'cpus':'0-3,8'},{'id':4,'cpus':'4-7','memory':'0'}"
#define BRIDGES "{'pci':'0000:16:02.0'},{'pci':'0000:17:00.0','parent':0}"
#define GPUS    "{'pci':'0000:1b:00.0'},{'pci':'0000:3b:00.0'}"
#define DOCUMENT(numa, bridges, gpus, links)                                   \
	"{'version':1,'numa':[" numa "],'bridges':[" bridges "],'gpus':[" gpus \
	"],'nvlinks':[" links "]}"
#define OF_NUMA(numa)     DOCUMENT(numa, "", "", "")
#define OF_BRIDGES(list)  DOCUMENT(NUMA, list, "", "")
#define OF_GPUS(gpus)     DOCUMENT(NUMA, BRIDGES, gpus, "")
#define OF_GPU(fields)    OF_GPUS("{'pci':'0000:3b:00.0'," fields "}")
#define OF_LINKS(links)   DOCUMENT(NUMA, BRIDGES, GPUS, links)
#define OF_KUBELET(field) "{'version':1,'kubelet':{" field "}}"
#define OF_PCI(address)   OF_GPUS("{'pci':'" address "'}")

static struct arena arena;
static struct error err;
static char quoted[4096];

static int reset(void **state)
{
	(void)state;
	arena_reset(&arena);
	error_clear(&err);
	return 0;
}

static int release(void **state)
{
	(void)state;
	arena_clear(&arena);
	return 0;
}

/* The text stays until the next call. */
static int read_quoted(const char *text, struct layout *ret_layout)
{
	size_t len = strlen(text);

	assert_true(len < sizeof(quoted));
	for (size_t i = 0; i <= len; i++)
		quoted[i] = (char)(text[i] == '\'' ? '"' : text[i]);
	return api_read_layout((struct str){quoted, len}, &arena, ret_layout, &err);
}

static struct layout good(const char *text)
{
	struct layout layout = {0};

	if (read_quoted(text, &layout) < 0)
		fail_msg("%s", err.message);
	return layout;
}

#define assert_str(s, text) assert_true(str_equal((s), str_from(text)))

/* --- what it says */

static const char whole[] =
	"{'version':1,'writer':'gpuqos-agent/0.2.0','generation':7,"
	"'kubelet':{'topologyPolicy':'single-numa-node','topologyScope':'pod',"
	"'cpuPolicy':'static'},"
	"'numa':[{'id':0,'cpus':'0-23,48-71','memory':'512Gi','distances':[10,21]},"
	"{'id':1,'cpus':'24-47,72-95','memory':'512Gi','distances':[21,10]}],"
	"'bridges':[{'pci':'0000:16:02.0','speed':'31500000000'},"
	"{'pci':'0000:17:00.0','parent':0,'speed':'31500000000'}],"
	"'gpus':[{'uuid':'GPU-5f5c','index':0,'pci':'0000:1b:00.0','numa':0,'bridge':1,"
	"'speed':'63000000000','memory':'81559Mi','product':'NVIDIA-H100-80GB-HBM3',"
	"'sharing':'MIG','health':'OK','mig':[{'profile':'1g.10gb','count':7,"
	"'memory':'9728Mi'}]},{'pci':'10000:3b:00.0','sharing':'None','health':'Failed'}],"
	"'nvlinks':[{'a':0,'b':1,'bandwidth':'450000000000'}]}";

static void a_whole_document_is_read_as_it_says(void **state)
{
	struct layout layout = good(whole);
	const struct layout_gpu *gpu = layout.gpus;

	(void)state;
	assert_str(layout.writer, "gpuqos-agent/0.2.0");
	assert_int_equal(layout.generation, 7);
	assert_int_equal(layout.kubelet.policy, LAYOUT_POLICY_SINGLE_NUMA);
	assert_true(layout.kubelet.pod_scope && layout.kubelet.static_cpu);
	assert_int_equal(layout.n_numas, 2);
	assert_int_equal(layout.numas[1].id, 1);
	assert_int_equal(layout.numas[1].n_cpus, 48);
	assert_int_equal(layout.numas[1].memory, 512 * GIB);
	assert_int_equal(layout.distances[1], 21);
	assert_int_equal(layout.distances[3], 10);
	assert_int_equal(layout.n_bridges, 2);
	assert_int_equal(layout.bridges[0].parent, LAYOUT_NONE);
	assert_int_equal(layout.bridges[1].parent, 0);
	assert_int_equal(layout.bridges[1].speed, 31500000000);
	assert_int_equal(layout.n_gpus, 2);
	assert_str(gpu->uuid, "GPU-5f5c");
	assert_int_equal(gpu->memory, 81559 * MIB);
	assert_int_equal(gpu->bridge, 1);
	assert_int_equal(gpu->sharing, DEVICE_MIG);
	assert_int_equal(gpu->health, LAYOUT_HEALTH_OK);
	assert_str(gpu->migs[0].profile, "1g.10gb");
	assert_int_equal(gpu->migs[0].count, 7);
	assert_str(layout.gpus[1].pci, "10000:3b:00.0");
	assert_int_equal(layout.gpus[1].health, LAYOUT_HEALTH_FAILED);
	assert_int_equal(layout.n_links, 1);
	assert_int_equal(layout.links[0].bandwidth, 450000000000);
}

static void what_is_absent_is_unknown(void **state)
{
	struct layout layout = good("{'version':1,'numa':[{'id':0}],'bridges':[{'pci':"
				    "'0000:16:02.0'}],'gpus':[{'pci':'0000:1b:00.0'}]}");
	const struct layout_gpu *gpu = layout.gpus;

	(void)state;
	assert_int_equal(layout.kubelet.policy, LAYOUT_POLICY_UNKNOWN);
	assert_false(layout.kubelet.pod_scope || layout.kubelet.static_cpu);
	assert_null(layout.distances);
	assert_int_equal(layout.numas[0].memory, AMOUNT_UNKNOWN);
	assert_int_equal(layout.numas[0].n_cpus, 0);
	assert_int_equal(layout.bridges[0].speed, AMOUNT_UNKNOWN);
	assert_true(str_empty(gpu->uuid) && str_empty(gpu->product));
	assert_int_equal(gpu->index, LAYOUT_NONE);
	assert_int_equal(gpu->numa, LAYOUT_NONE);
	assert_int_equal(gpu->bridge, LAYOUT_NONE);
	assert_int_equal(gpu->speed, AMOUNT_UNKNOWN);
	assert_int_equal(gpu->memory, AMOUNT_UNKNOWN);
	assert_int_equal(gpu->sharing, DEVICE_OTHER);
	assert_int_equal(gpu->health, LAYOUT_HEALTH_UNKNOWN);
	assert_int_equal(layout.n_links, 0);
}

static void everything_else_that_version_1_allows(void **state)
{
	static const struct {
		const char *sentence, *text;
	} table[] = {
		{"a node without anything", "{'version':1}"},
		{"null is absence", OF_GPU("'numa':null,'bridge':null,'uuid':null")},
		{"a key of a later agent is passed over", OF_GPU("'nvswitch':{'x':[1,2]}")},
		{"a NUMA node of memory alone", OF_NUMA("{'id':2,'memory':'64Gi'}")},
		{"a NUMA node of CPUs alone", OF_NUMA("{'id':2,'cpus':'0','memory':'0'}")},
		{"two cards without a uuid", OF_GPUS(GPUS)},
		{"two cards of one index, by two drivers",
		 OF_GPUS("{'pci':'0000:1b:00.0','index':0},{'pci':'0000:1c:00.0','index':0}")},
		{"functions of one device",
		 OF_GPUS("{'pci':'0000:1b:00.0'},{'pci':'0000:1b:00.1'}")},
		{"the longest domain", OF_PCI("fffffffe:1b:1f.7")},
		{"partitions that take all of a card",
		 OF_GPU("'memory':'8Gi','mig':[{'profile':'a','count':4,'memory':'2Gi'}]")},
		{"partitions of unknown size",
		 OF_GPU("'memory':'8Gi','mig':[{'profile':'a','count':64}]")},
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct layout layout;

		reset(state);
		if (read_quoted(table[i].text, &layout) < 0)
			fail_msg("%s: %s", table[i].sentence, err.message);
	}
}

/* --- what is refused */

struct refusal {
	const char *sentence, *text, *message;
};

static void assert_refused(const struct refusal *table, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		struct layout layout = {.n_gpus = 4711};

		arena_reset(&arena);
		if (read_quoted(table[i].text, &layout) == 0)
			fail_msg("%s: was read", table[i].sentence);
		if (layout.n_gpus != 4711 || layout.n_numas != 0)
			fail_msg("%s: was read in part", table[i].sentence);
		if (!strstr(err.message, "gpuqos.io/topology: ") ||
		    !strstr(err.message, table[i].message))
			fail_msg("%s: %s", table[i].sentence, err.message);
	}
}

static void documents_that_are_refused(void **state)
{
	static const struct refusal table[] = {
		{"nothing", "", "at byte 0"},
		{"no object", "[1]", "at byte 0"},
		{"half an object", "{'version':1,'gpus':[{", "byte"},
		{"no version", "{'gpus':[]}", ": version: no number from 1"},
		{"version 0", "{'version':0}", ": version: no number from 1"},
		{"a text as version", "{'version':'1'}", ": version"},
		{"the next version", "{'version':2,'gpus':'other'}",
		 ": version 2 is newer than 1, the latest that is understood here"},
		{"a key twice", "{'version':1,'gpus':[],'gpus':[]}", ": gpus"},
		{"an unknown policy", OF_KUBELET("'topologyPolicy':'strict'"),
		 ": kubelet.topologyPolicy: \"strict\" is not known"},
		{"an unknown scope", OF_KUBELET("'topologyScope':'node'"),
		 ": kubelet.topologyScope: \"node\" is not known"},
		{"an unknown CPU policy", OF_KUBELET("'cpuPolicy':'dynamic'"),
		 ": kubelet.cpuPolicy: \"dynamic\" is not known"},
		{"a negative generation", "{'version':1,'generation':-1}",
		 ": generation: is negative"},
		{"an escape sequence as writer", "{'version':1,'writer':'\\u001b[2J'}",
		 ": writer: byte 0 is no printable ASCII"},
	};

	(void)state;
	assert_refused(table, ARRAY_SIZE(table));
}

static void numa_nodes_that_are_refused(void **state)
{
	static const struct refusal table[] = {
		{"without id", OF_NUMA("{'cpus':'0'}"), ": numa[0].id: no number from 0 to 1023"},
		{"id too large", OF_NUMA("{'id':1024}"), ": numa[0].id: no number"},
		{"an id twice", OF_NUMA("{'id':3},{'id':3}"), ": numa[1].id: 3 occurs twice"},
		{"a CPU twice", OF_NUMA("{'id':0,'cpus':'0-3'},{'id':1,'cpus':'3'}"),
		 ": numa[1].cpus: CPU 3 occurs twice"},
		{"CPUs backwards", OF_NUMA("{'id':0,'cpus':'3-1'}"), ": numa[0].cpus: no list"},
		{"a comma at the end", OF_NUMA("{'id':0,'cpus':'1,'}"), ": numa[0].cpus: ends"},
		{"words as CPUs", OF_NUMA("{'id':0,'cpus':'all'}"), ": numa[0].cpus: no list"},
		{"a CPU too large", OF_NUMA("{'id':0,'cpus':'8192'}"), ": numa[0].cpus: no list"},
		{"negative memory", OF_NUMA("{'id':0,'memory':'-1'}"),
		 ": numa[0].memory: is negative"},
		{"memory beyond counting", OF_NUMA("{'id':0,'memory':'8Ei'}"),
		 ": numa[0].memory: no quantity, or too large"},
		{"memory beyond any machine", OF_NUMA("{'id':0,'memory':'1Ei'}"),
		 ": numa[0].memory: is more than"},
		{"distances of some", OF_NUMA("{'id':0,'distances':[10,20]},{'id':1}"),
		 ": numa[1].distances: missing"},
		{"too few distances", OF_NUMA("{'id':0,'distances':[10]},{'id':1}"),
		 ": numa[0].distances: fewer than the 2 NUMA nodes"},
		{"too many distances", OF_NUMA("{'id':0,'distances':[10,20]}"),
		 ": numa[0].distances: more than the 1 NUMA nodes"},
		{"far from itself", OF_NUMA("{'id':0,'distances':[11]}"),
		 ": numa[0].distances: 11 to itself"},
		{"a distance too large", OF_NUMA("{'id':0,'distances':[10,256]},{'id':1}"),
		 ": numa[0].distances: "},
		{"a distance too small", OF_NUMA("{'id':0,'distances':[10,9]},{'id':1}"),
		 ": numa[0].distances: "},
		{"no list of distances", OF_NUMA("{'id':0,'distances':10}"),
		 ": numa[0].distances: "},
	};

	(void)state;
	assert_refused(table, ARRAY_SIZE(table));
}

static void bridges_that_are_refused(void **state)
{
	static const struct refusal table[] = {
		{"without address", OF_BRIDGES("{}"), ": bridges[0].pci: no address"},
		{"its own parent", OF_BRIDGES("{'pci':'0000:16:02.0','parent':0}"),
		 ": bridges[0].parent: 0 names none of the 0 there"},
		{"a parent that comes later",
		 OF_BRIDGES("{'pci':'0000:16:02.0','parent':1},{'pci':'0000:17:02.0'}"),
		 ": bridges[0].parent: 1 names none of the 0 there"},
		{"a negative parent", OF_BRIDGES("{'pci':'0000:16:02.0','parent':-1}"),
		 ": bridges[0].parent: -1 names none"},
		{"an address twice", OF_BRIDGES("{'pci':'0000:16:02.0'},{'pci':'0000:16:02.0'}"),
		 ": bridges[1].pci: 0000:16:02.0 occurs twice"},
		{"a link of speed 0", OF_BRIDGES("{'pci':'0000:16:02.0','speed':'0'}"),
		 ": bridges[0].speed: is 0"},
	};

	(void)state;
	assert_refused(table, ARRAY_SIZE(table));
}

static void cards_that_are_refused(void **state)
{
	static const struct refusal table[] = {
		{"without address", OF_GPUS("{}"), ": gpus[0].pci: no address"},
		{"an upper case address", OF_PCI("0000:3B:00.0"), ": gpus[0].pci: no address"},
		{"an address without domain", OF_PCI("3b:00.0"), ": gpus[0].pci: no address"},
		{"a domain with a needless 0", OF_PCI("00000:3b:00.0"), ": gpus[0].pci: no"},
		{"device 32", OF_PCI("0000:3b:20.0"), ": gpus[0].pci: no address"},
		{"function 8", OF_PCI("0000:3b:00.8"), ": gpus[0].pci: no address"},
		{"more behind the address", OF_PCI("0000:3b:00.0.0"), ": gpus[0].pci: no address"},
		{"an address twice", OF_GPUS(GPUS "," GPUS), ": gpus[2].pci: 0000:1b:00.0 occurs"},
		{"the address of a bridge", OF_PCI("0000:17:00.0"), ": gpus[0].pci: 0000:17:00.0"},
		{"a uuid twice",
		 OF_GPUS("{'pci':'0000:1b:00.0','uuid':'u'},{'pci':'0000:3b:00.0','uuid':'u'}"),
		 ": gpus[1].uuid: u occurs twice"},
		{"a NUMA node that is not there", OF_GPU("'numa':2"),
		 ": gpus[0].numa: 2 names none of the 2 there"},
		{"the NUMA node -1 of sysfs", OF_GPU("'numa':-1"), ": gpus[0].numa: -1 names none"},
		{"a bridge that is not there", OF_GPU("'bridge':2"), ": gpus[0].bridge: 2 names"},
		{"an index beyond 32 bits", OF_GPU("'index':4294967295"), ": gpus[0].index: "},
		{"no memory", OF_GPU("'memory':'0'"), ": gpus[0].memory: is 0"},
		{"negative memory", OF_GPU("'memory':'-80Gi'"), ": gpus[0].memory: is negative"},
		{"memory beyond counting", OF_GPU("'memory':'8Ei'"), ": gpus[0].memory: no"},
		{"a text as memory", OF_GPU("'memory':'much'"), ": gpus[0].memory: no quantity"},
		{"a fraction as index", OF_GPU("'index':0.5"), ": gpus[0].index"},
		{"unknown sharing", OF_GPU("'sharing':'mig'"), ": gpus[0].sharing: \"mig\""},
		{"unknown health", OF_GPU("'health':'ok'"), ": gpus[0].health: \"ok\" is not"},
		{"a line break as product", OF_GPU("'product':'a\\nb'"),
		 ": gpus[0].product: byte 1 is no printable ASCII"},
		{"a profile without name", OF_GPU("'mig':[{'count':1}]"),
		 ": gpus[0].mig[0].profile: is empty"},
		{"a profile twice",
		 OF_GPU("'mig':[{'profile':'a','count':1},{'profile':'a','count':1}]"),
		 ": gpus[0].mig[1].profile: a occurs twice"},
		{"no partitions", OF_GPU("'mig':[{'profile':'a','count':0}]"),
		 ": gpus[0].mig[0].count: no number from 1 to 64"},
		{"partitions of no memory",
		 OF_GPU("'mig':[{'profile':'a','count':1,'memory':'0'}]"),
		 ": gpus[0].mig[0].memory: is 0"},
		{"partitions larger than the card",
		 OF_GPU("'memory':'8Gi','mig':[{'profile':'a','count':4,'memory':'1Gi'},"
			"{'profile':'b','count':5,'memory':'1Gi'}]"),
		 ": gpus[0].mig: partitions have more memory than the card"},
	};

	(void)state;
	assert_refused(table, ARRAY_SIZE(table));
}

static void links_that_are_refused(void **state)
{
	static const struct refusal table[] = {
		{"one end", OF_LINKS("{'a':0,'bandwidth':'1'}"), ": nvlinks[0].b: is missing"},
		{"no end", OF_LINKS("{'bandwidth':'1'}"), ": nvlinks[0].a: is missing"},
		{"to itself", OF_LINKS("{'a':1,'b':1,'bandwidth':'1'}"),
		 ": nvlinks[0].a: 1 is not lower than b, 1"},
		{"backwards", OF_LINKS("{'a':1,'b':0,'bandwidth':'1'}"),
		 ": nvlinks[0].a: 1 is not lower than b, 0"},
		{"a card that is not there", OF_LINKS("{'a':0,'b':2,'bandwidth':'1'}"),
		 ": nvlinks[0].b: 2 names none of the 2 there"},
		{"a pair twice",
		 OF_LINKS("{'a':0,'b':1,'bandwidth':'1'},{'a':0,'b':1,'bandwidth':'2'}"),
		 ": nvlinks[1].b: 0 and 1 are linked already"},
		{"without bandwidth", OF_LINKS("{'a':0,'b':1}"), ": nvlinks[0].bandwidth: is"},
		{"of bandwidth 0", OF_LINKS("{'a':0,'b':1,'bandwidth':'0'}"),
		 ": nvlinks[0].bandwidth: is 0"},
	};

	(void)state;
	assert_refused(table, ARRAY_SIZE(table));
}

/* --- what is too much */

/* The list @name of @n elements, which all say @element. */
static void refuses_long_list(const char *name, const char *element, size_t n)
{
	struct buf text CLEANUP(buf_clear);
	struct layout layout;

	buf_init(&text, LIMIT_LAYOUT);
	buf_printf(&text, "{\"version\":1,\"%s\":[", name);
	for (size_t i = 0; i < n; i++)
		buf_printf(&text, "%s%s", i > 0 ? "," : "", element);
	buf_add_cstr(&text, "]}");
	assert_false(text.overflowed);
	assert_int_equal(api_read_layout(buf_str(&text), &arena, &layout, &err), -1);
	if (err.kind != ERROR_LIMIT || !strstr(err.message, name))
		fail_msg("%zu of %s: %s", n, name, err.message);
	arena_reset(&arena);
}

static void lists_have_limits(void **state)
{
	(void)state;
	refuses_long_list("numa", "{}", LIMIT_LAYOUT_NUMAS + 1);
	refuses_long_list("bridges", "{}", LIMIT_LAYOUT_BRIDGES + 1);
	refuses_long_list("gpus", "{}", LIMIT_LAYOUT_GPUS + 1);
	refuses_long_list("nvlinks", "{}", LIMIT_LAYOUT_GPUS * (LIMIT_LAYOUT_GPUS - 1) / 2 + 1);
}

/* A document of @len bytes in which something nests @depth deep. */
static int read_filled(size_t len, size_t depth)
{
	struct buf text CLEANUP(buf_clear);
	struct layout layout;

	buf_init(&text, len);
	buf_add_cstr(&text, "{\"version\":1,\"x\":[");
	for (size_t i = 1; i < depth; i++)
		buf_add_char(&text, '[');
	for (size_t i = 0; i < depth; i++)
		buf_add_char(&text, ']');
	while (text.len + 1 < len)
		buf_add_char(&text, ' ');
	buf_add_char(&text, '}');
	assert_false(text.overflowed);
	return api_read_layout(buf_str(&text), &arena, &layout, &err);
}

static void a_document_has_a_size(void **state)
{
	(void)state;
	assert_int_equal(read_filled(LIMIT_LAYOUT, 1), 0);
	assert_int_equal(read_filled(LIMIT_LAYOUT + 1, 1), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_string_equal(err.message, "gpuqos.io/topology: has 65537 bytes, more than 65536");
}

static void a_document_has_a_depth(void **state)
{
	(void)state;
	assert_int_equal(read_filled(10000, 100), 0);
	assert_int_equal(read_filled(10000, 1000), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

static void a_full_arena_is_an_error(void **state)
{
	struct arena small CLEANUP(arena_clear) = {0};
	struct layout layout;

	(void)state;
	good(whole);
	for (size_t limit = 1; limit < 1000; limit++) {
		arena_init(&small, limit);
		if (api_read_layout(str_from(quoted), &small, &layout, &err) == 0)
			fail_msg("was read in %zu bytes", limit);
		assert_int_equal(err.kind, ERROR_LIMIT);
		arena_clear(&small);
	}
}

/* --- what is written */

static void what_was_written_is_what_is_read(void **state)
{
	struct buf first CLEANUP(buf_clear), second CLEANUP(buf_clear);
	struct layout layout = good(whole);

	(void)state;
	buf_init(&first, LIMIT_LAYOUT);
	buf_init(&second, LIMIT_LAYOUT);
	api_body_layout(&first, &layout);
	assert_false(first.overflowed);
	if (api_read_layout(buf_str(&first), &arena, &layout, &err) < 0)
		fail_msg("%s", err.message);
	api_body_layout(&second, &layout);
	assert_string_equal(first.data, second.data);
	assert_non_null(strstr(first.data, "\"memory\":\"81559Mi\""));
	assert_non_null(strstr(first.data, "\"speed\":\"63000000000\""));
}

static void assert_round_trip(const char *name, const struct layout *layout)
{
	struct buf body CLEANUP(buf_clear);
	struct layout again;

	buf_init(&body, LIMIT_LAYOUT);
	arena_reset(&arena);
	api_body_layout(&body, layout);
	if (body.overflowed || api_read_layout(buf_str(&body), &arena, &again, &err) < 0)
		fail_msg("%s: %s", name, body.overflowed ? "too long" : err.message);
	if (!layouts_equal(layout, &again))
		fail_msg("%s reads as another one: %s", name, body.data);
}

static void machines_are_read_as_they_were_written(void **state)
{
	static struct machine machine;
	struct random random;

	(void)state;
	machine_dgx2(&machine);
	assert_round_trip("DGX-2", &machine.layout);
	machine_dgx_h100(&machine);
	assert_round_trip("DGX H100", &machine.layout);
	machine_pcie_box(&machine);
	assert_round_trip("a box without NVLink", &machine.layout);
	machine_unknown(&machine, LIMIT_LAYOUT_GPUS);
	assert_round_trip("a node of which nothing is known", &machine.layout);
	random_init(&random, 1);
	for (size_t i = 0; i < 200; i++) {
		machine_random(&machine, &random, 20);
		assert_round_trip("a random node", &machine.layout);
	}
}

static void a_layout_is_written_as_documented(void **state)
{
	static const char written[] =
		"{'version':1,'generation':0,'kubelet':{'topologyScope':'container',"
		"'cpuPolicy':'none'},'numa':[{'id':0,'cpus':'0-3,8'},{'id':4,'cpus':'4-7',"
		"'memory':'0'}],'bridges':[],'gpus':[{'pci':'0000:3b:00.0','numa':1,"
		"'sharing':'Unknown','health':'Unknown'}],'nvlinks':[]}";
	struct buf body CLEANUP(buf_clear);
	struct layout layout = good(DOCUMENT(NUMA, "", "{'pci':'0000:3b:00.0','numa':1}", ""));

	(void)state;
	buf_init(&body, LIMIT_LAYOUT);
	api_body_layout(&body, &layout);
	for (size_t i = 0; i < body.len; i++)
		if (body.data[i] == '"')
			body.data[i] = '\'';
	assert_string_equal(body.data, written);
}

static void too_small_a_buffer_overflows(void **state)
{
	struct layout layout = good(whole);
	struct buf body CLEANUP(buf_clear);

	(void)state;
	buf_init(&body, 100);
	api_body_layout(&body, &layout);
	assert_true(body.overflowed);
}

static void the_tables_are_sound(void **state)
{
	(void)state;
	assert_int_equal(schema_check(&wire_layout_version_schema, &err), 0);
	assert_int_equal(schema_check(&wire_layout_schema, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_whole_document_is_read_as_it_says, reset),
		cmocka_unit_test_setup(what_is_absent_is_unknown, reset),
		cmocka_unit_test_setup(everything_else_that_version_1_allows, reset),
		cmocka_unit_test_setup(documents_that_are_refused, reset),
		cmocka_unit_test_setup(numa_nodes_that_are_refused, reset),
		cmocka_unit_test_setup(bridges_that_are_refused, reset),
		cmocka_unit_test_setup(cards_that_are_refused, reset),
		cmocka_unit_test_setup(links_that_are_refused, reset),
		cmocka_unit_test_setup(lists_have_limits, reset),
		cmocka_unit_test_setup(a_document_has_a_size, reset),
		cmocka_unit_test_setup(a_document_has_a_depth, reset),
		cmocka_unit_test_setup(a_full_arena_is_an_error, reset),
		cmocka_unit_test_setup(what_was_written_is_what_is_read, reset),
		cmocka_unit_test_setup(machines_are_read_as_they_were_written, reset),
		cmocka_unit_test_setup(a_layout_is_written_as_documented, reset),
		cmocka_unit_test_setup(too_small_a_buffer_overflows, reset),
		cmocka_unit_test_setup(the_tables_are_sound, reset),
	};

	return cmocka_run_group_tests(tests, NULL, release);
}
