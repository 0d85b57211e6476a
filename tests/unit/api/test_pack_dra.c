/* SPDX-License-Identifier: Apache-2.0 */
/* Claims, slices and classes: as the real API server and scheduler write them, and spoilt ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/pack_dra.h"
#include "base/limits.h"
#include "base/macros.h"
#include "codec/pb.h"
#include "recorded.h"

static void assert_out(struct fixture *f, const char *what, const char *wanted)
{
	if (!str_equal(buf_str(&f->out), str_from(wanted)))
		fail_msg("%s:\n%s, not\n%s", what, f->out.data, wanted);
	buf_reset(&f->out);
}

/* --- facts as text */

static void amount_out(struct buf *out, int64_t bytes)
{
	if (bytes > 0)
		buf_printf(out, "%lldMi", (long long)(bytes / MIB));
	else
		buf_printf(out, "%s", amount_text(bytes).text);
}

static void claim_out(struct buf *out, const struct claim_facts *facts)
{
	for (size_t i = 0; i < facts->n_requests; i++) {
		const struct claim_request *request = &facts->requests[i];

		buf_printf(out, "%sasks", i ? ", " : "");
		for (size_t k = 0; k < request->n_choices; k++)
			buf_printf(out, "%s %lld of %.*s", k ? " or" : "",
				   (long long)request->choices[k].count,
				   STR_ARGS(request->choices[k].class));
		buf_printf(out, "%s", request->admin_access ? " as admin" : "");
	}
	if (!facts->allocated)
		return;
	for (size_t i = 0; i < facts->n_devices; i++) {
		const struct claim_device *device = &facts->devices[i];

		buf_printf(out, "; has %.*s/%.*s/%.*s of %.*s", STR_ARGS(device->driver),
			   STR_ARGS(device->pool), STR_ARGS(device->device),
			   STR_ARGS(device->class));
		if (device->consumed_memory != AMOUNT_NONE)
			buf_printf(out, " for %s", amount_text(device->consumed_memory).text);
		buf_printf(out, "%s", device->admin_access ? " as admin" : "");
	}
	buf_printf(out, "; for");
	for (size_t i = 0; i < facts->n_pods; i++)
		buf_printf(out, " %.*s", STR_ARGS(facts->pods[i].name));
}

static void slice_out(struct buf *out, const struct slice_facts *facts)
{
	buf_printf(out, "%.*s/%.*s %lld of %lld", STR_ARGS(facts->driver), STR_ARGS(facts->pool),
		   (long long)facts->generation, (long long)facts->slice_count);
	for (size_t i = 0; i < facts->n_devices; i++) {
		const struct slice_device *device = &facts->devices[i];

		buf_printf(out, "; %.*s on %.*s: %.*s, %.*s, ", STR_ARGS(device->name),
			   STR_ARGS(device->node), STR_ARGS(device->type),
			   STR_ARGS(device->product));
		amount_out(out, device->memory);
		buf_printf(out, "%s%s", device->counted ? ", counted" : "",
			   device->shared ? ", shared" : "");
	}
}

static void class_out(struct buf *out, const struct class_facts *facts)
{
	buf_printf(out, "%.*s: driver '%.*s', type '%.*s' in '%.*s', as '%.*s'",
		   STR_ARGS(facts->name), STR_ARGS(facts->driver), STR_ARGS(facts->type),
		   STR_ARGS(facts->type_domain), STR_ARGS(facts->extended_resource));
}

static int pack_any(struct fixture *f, const struct schema *schema, const void *wire)
{
	struct claim_facts claim;
	struct slice_facts slice;
	struct class_facts class;

	if (schema == &wire_claim_schema) {
		if (api_pack_claim(wire, &f->arena, &claim, &f->err) < 0)
			return -1;
		claim_out(&f->out, &claim);
	} else if (schema == &wire_slice_schema) {
		if (api_pack_slice(wire, &f->arena, &slice, &f->err) < 0)
			return -1;
		slice_out(&f->out, &slice);
	} else {
		if (api_pack_class(wire, &class, &f->err) < 0)
			return -1;
		class_out(&f->out, &class);
	}
	return 0;
}

union any_object {
	struct wire_claim claim;
	struct wire_slice slice;
	struct wire_class class;
};

/* --- recordings */

#define H100               "NVIDIA-H100-80GB-HBM3"
#define A100               "NVIDIA-A100-SXM4-40GB"
#define PART(name, memory) "; gpu-0-mig-" name " on cpu-2: mig, " A100 ", " memory ", counted"

static const struct {
	const char *name;
	const struct schema *schema;
	const char *facts;
} recordings[] = {
	{"resourceslice.whole", &wire_slice_schema,
	 "gpu.nvidia.com/cpu-0 1 of 1; gpu-0 on cpu-0: gpu, " H100
	 ", 81559Mi; gpu-1 on cpu-0: gpu, " H100 ", 81559Mi"},
	{"resourceslice.static", &wire_slice_schema,
	 "gpu.nvidia.com/cpu-1 1 of 1; gpu-0-mig-1g5gb-19-0 on cpu-1: mig, " A100
	 ", 4864Mi; gpu-0-mig-3g20gb-9-4 on cpu-1: mig, " A100 ", 19968Mi"},
	{"resourceslice.dynamic", &wire_slice_schema,
	 "gpu.nvidia.com/cpu-2 1 of 2; gpu-0 on cpu-2: gpu, " A100
	 ", 40960Mi, counted" PART("1g5gb-19-0", "4864Mi") PART("1g5gb-19-1", "4864Mi") PART(
		 "1g5gb-19-2", "4864Mi") PART("1g5gb-19-3", "4864Mi") PART("1g5gb-19-4", "4864Mi")
		 PART("1g5gb-19-5", "4864Mi") PART("1g5gb-19-6", "4864Mi")
			 PART("1g5gb-19-7", "4864Mi") PART("2g10gb-14-0", "9856Mi")
				 PART("2g10gb-14-2", "9856Mi") PART("2g10gb-14-4", "9856Mi")
					 PART("2g10gb-14-6", "9856Mi") PART("3g20gb-9-0", "19968Mi")
						 PART("3g20gb-9-4", "19968Mi")
							 PART("7g40gb-0-0", "40192Mi")},
	{"resourceslice.counters", &wire_slice_schema, "gpu.nvidia.com/cpu-2 1 of 2"},
	{"resourceslice.shared", &wire_slice_schema,
	 "gpu.nvidia.com/cpu-3 1 of 1; gpu-0 on cpu-3: gpu, " H100 ", 81559Mi, shared"},
	{"resourceslice.scattered", &wire_slice_schema,
	 "gpu.example.com/scattered 1 of 1; gpu-0 on cpu-1: gpu, " H100
	 ", 81559Mi; gpu-1 on cpu-2: gpu, " H100 ", 81559Mi"},
	{"deviceclass.gpu.nvidia.com", &wire_class_schema,
	 "gpu.nvidia.com: driver 'gpu.nvidia.com', type 'gpu' in 'gpu.nvidia.com', as "
	 "'nvidia.com/gpu'"},
	{"deviceclass.mig.nvidia.com", &wire_class_schema,
	 "mig.nvidia.com: driver 'gpu.nvidia.com', type 'mig' in 'gpu.nvidia.com', as ''"},
	{"resourceclaim.waiting", &wire_claim_schema, "asks 2 of gpu.nvidia.com"},
	{"resourceclaim.every", &wire_claim_schema, "asks 32 of whole.example.com"},
	{"resourceclaim.exact", &wire_claim_schema,
	 "asks 1 of whole.example.com; has gpu.nvidia.com/cpu-0/gpu-0 of whole.example.com; "
	 "for uses-exact too-exact"},
	{"resourceclaim.first", &wire_claim_schema,
	 "asks 9 of gpu.nvidia.com or 1 of mig.nvidia.com; has "
	 "gpu.nvidia.com/cpu-1/gpu-0-mig-1g5gb-19-0 of mig.nvidia.com; for uses-first too-first"},
	{"resourceclaim.part", &wire_claim_schema,
	 "asks 1 of whole.example.com; has gpu.nvidia.com/cpu-3/gpu-0 of whole.example.com for "
	 "20Gi; for uses-part too-part"},
	{"resourceclaim.admin", &wire_claim_schema,
	 "asks 1 of gpu.nvidia.com as admin; has gpu.nvidia.com/cpu-0/gpu-0 of gpu.nvidia.com as "
	 "admin; for uses-admin too-admin"},
	{"resourceclaim.of-template", &wire_claim_schema,
	 "asks 1 of mig.nvidia.com; has gpu.nvidia.com/cpu-2/gpu-0-mig-1g5gb-19-0 of "
	 "mig.nvidia.com; for of-template"},
	{"resourceclaim.extended", &wire_claim_schema,
	 "asks 1 of gpu.nvidia.com; has gpu.nvidia.com/cpu-0/gpu-1 of gpu.nvidia.com; for "
	 "extended"},
};

static void recorded_objects_are_read_for_what_they_are(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(recordings); i++) {
		struct fixture f CLEANUP(fixture_clear);
		union any_object wire;

		fixture_init(&f);
		recorded_decode(recordings[i].schema, recordings[i].name, &f.text, &f.arena, &wire);
		if (pack_any(&f, recordings[i].schema, &wire) < 0)
			fail_msg("%s: %s", recordings[i].name, f.err.message);
		assert_out(&f, recordings[i].name, recordings[i].facts);
	}
}

static void protobuf_says_the_same_as_json(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(recordings); i++) {
		const struct schema *schema = recordings[i].schema;
		struct fixture f CLEANUP(fixture_clear);
		struct pb_envelope envelope;
		union any_object wire;

		fixture_init(&f);
		recorded_read(recordings[i].name, ".pb", &f.text);
		if (pb_open_envelope(buf_str(&f.text), &envelope, &f.err) < 0 ||
		    pb_decode(schema, envelope.raw, &f.arena, &wire, &f.err) < 0 ||
		    pack_any(&f, schema, &wire) < 0)
			fail_msg("%s: %s", recordings[i].name, f.err.message);
		assert_out(&f, recordings[i].name, recordings[i].facts);
	}
}

static void a_claim_tells_whose_it_is(void **state)
{
	struct fixture f CLEANUP(fixture_clear);
	struct claim_facts facts;
	struct wire_claim wire;

	(void)state;
	fixture_init(&f);
	recorded_decode(&wire_claim_schema, "resourceclaim.extended", &f.text, &f.arena, &wire);
	assert_int_equal(api_pack_claim(&wire, &f.arena, &facts, &f.err), 0);
	assert_true(facts.says_extended);
	assert_true(str_equal(facts.owner_kind, STR("Pod")));
	assert_true(str_equal(facts.owner_name, STR("extended")));
	assert_true(str_equal(facts.owner_uid, facts.pods[0].uid));
	assert_int_equal(facts.owner_uid.len, 36);
	assert_true(facts.resource_version > 0 && facts.created_us > 0);
	assert_false(facts.terminating);
	buf_reset(&f.text);
	recorded_decode(&wire_claim_schema, "resourceclaim.of-template", &f.text, &f.arena, &wire);
	assert_int_equal(api_pack_claim(&wire, &f.arena, &facts, &f.err), 0);
	assert_false(facts.says_extended);
}

/* --- what nobody has recorded */

#define META "'metadata':{'name':'n','namespace':'a','uid':'u'}"
#define CLAIM(requests, rest) \
	"{" META ",'spec':{'devices':{'requests':[" requests "]}},'status':{" rest "}}"
#define ONE           "{'name':'r','exactly':{'deviceClassName':'c','count':1}}"
#define RESULTS(text) "'allocation':{'devices':{'results':[" text "]}}"
#define RESULT(more)  "{'request':'r','driver':'d','pool':'p','device':'x'" more "}"
#define SLICE(devices)                                                                     \
	"{" META ",'spec':{'driver':'d','nodeName':'n','pool':{'name':'p','generation':7," \
	"'resourceSliceCount':1},'devices':[" devices "]}}"
static const struct sample {
	const char *what;
	const struct schema *schema;
	const char *json, *facts;
} samples[] = {
	{"a request without a count asks for one", &wire_claim_schema,
	 CLAIM("{'name':'r','exactly':{'deviceClassName':'c'}}", ""), "asks 1 of c"},
	{"so does one whose count is 0", &wire_claim_schema,
	 CLAIM("{'name':'r','exactly':{'deviceClassName':'c','count':0}}", ""), "asks 1 of c"},
	{"an allocation mode of the future asks for the most", &wire_claim_schema,
	 CLAIM("{'name':'r','exactly':{'deviceClassName':'c','allocationMode':'Half','count':1}}",
	       ""),
	 "asks 32 of c"},
	{"a form of request of the future asks for the most of nobody knows what",
	 &wire_claim_schema, CLAIM("{'name':'r','roughly':{'deviceClassName':'c'}}", ""),
	 "asks 32 of "},
	{"an allocation that says nothing is none", &wire_claim_schema,
	 CLAIM(ONE, "'allocation':{'devices':{}}"), "asks 1 of c"},
	{"nothing asked for may be allocated", &wire_claim_schema, CLAIM("", "'allocation':{}"),
	 "; for"},
	{"a part that is nothing is the whole", &wire_claim_schema,
	 CLAIM(ONE, RESULTS(RESULT(",'consumedCapacity':{'memory':'0'}"))),
	 "asks 1 of c; has d/p/x of c; for"},
	{"a part that cannot be read is the whole", &wire_claim_schema,
	 CLAIM(ONE, RESULTS(RESULT(",'consumedCapacity':{'d/memory':'1Gi','memory':'much'}"))),
	 "asks 1 of c; has d/p/x of c; for"},
	{"a part may be named in the driver's domain", &wire_claim_schema,
	 CLAIM(ONE, RESULTS(RESULT(",'consumedCapacity':{'d/memory':'1Gi','e/memory':'2Gi'}"))),
	 "asks 1 of c; has d/p/x of c for 1Gi; for"},
	{"a result may answer what is not asked", &wire_claim_schema,
	 CLAIM("{'name':'s','exactly':{'deviceClassName':'c','count':1}}", RESULTS(RESULT(""))),
	 "asks 1 of c; has d/p/x of ; for"},
	{"users that are no pods are passed over", &wire_claim_schema,
	 CLAIM(ONE, RESULTS(RESULT("")) ",'reservedFor':[{'apiGroup':'g','resource':'pods',"
					"'name':'x','uid':'1'},{'resource':'pods','name':'y',"
					"'uid':'2'},{'resource':'pets','name':'z','uid':'3'}]"),
	 "asks 1 of c; has d/p/x of c; for y"},
	{"a list of choices is never admin's", &wire_claim_schema,
	 CLAIM("{'name':'r','exactly':{'deviceClassName':'c','adminAccess':true},"
	       "'firstAvailable':[{'name':'s','deviceClassName':'e','count':2}]}",
	       ""),
	 "asks 1 of c or 2 of e"},

	{"a device without memory is none of ours", &wire_slice_schema,
	 SLICE("{'name':'x','capacity':{'bandwidth':{'value':'1'}}}"),
	 "d/p 7 of 1; x on n: , , none"},
	{"memory that cannot be read is unknown", &wire_slice_schema,
	 SLICE("{'name':'x','capacity':{'memory':{'value':'much'}}},"
	       "{'name':'y','capacity':{'memory':{}}},{'name':'z','capacity':{'memory':null}},"
	       "{'name':'w','capacity':{'memory':{'value':'0'}}}"),
	 "d/p 7 of 1; x on n: , , unknown; y on n: , , unknown; z on n: , , unknown; "
	 "w on n: , , unknown"},
	{"of two memories the larger counts", &wire_slice_schema,
	 SLICE("{'name':'x','capacity':{'memory':{'value':'1Gi'},'d/memory':{'value':'2Gi'}}}"),
	 "d/p 7 of 1; x on n: , , 2048Mi"},
	{"another domain's names are not the device's", &wire_slice_schema,
	 SLICE("{'name':'x','attributes':{'e/type':{'string':'gpu'},'d/type':{'string':'npu'},"
	       "'e/productName':{'string':'E'},'model':{'string':'a b'}},"
	       "'capacity':{'e/memory':{'value':'1Gi'}}}"),
	 "d/p 7 of 1; x on n: npu, a-b, none"},
	{"a device may say where it is itself", &wire_slice_schema,
	 SLICE("{'name':'x','nodeName':'m','attributes':{'type':{'int':5}}}"),
	 "d/p 7 of 1; x on m: , , none"},
};

static void what_is_odd_is_never_cheaper(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		struct fixture f CLEANUP(fixture_clear);
		union any_object wire;

		fixture_init(&f);
		sample_decode(samples[i].schema, samples[i].json, &f.arena, &wire);
		if (pack_any(&f, samples[i].schema, &wire) < 0)
			fail_msg("%s: %s", samples[i].what, f.err.message);
		assert_out(&f, samples[i].what, samples[i].facts);
	}
}

static void a_gpu_driver_s_device_has_memory_if_unknown(void **state)
{
	struct fixture f CLEANUP(fixture_clear);
	struct wire_slice wire;

	(void)state;
	fixture_init(&f);
	sample_decode(&wire_slice_schema,
		      "{" META ",'spec':{'driver':'gpu.nvidia.com','pool':{'name':'p',"
		      "'generation':0,'resourceSliceCount':1},'devices':[{'name':'gpu-vfio-0'}]}}",
		      &f.arena, &wire);
	assert_int_equal(pack_any(&f, &wire_slice_schema, &wire), 0);
	assert_out(&f, "vfio", "gpu.nvidia.com/p 0 of 1; gpu-vfio-0 on : , , unknown");
}

/* --- classes */

static const struct expression {
	const char *text, *driver, *type;
} expressions[] = {
	{"device.driver == \"d\"", "d", ""},
	{"device.driver=='d'", "d", ""},
	{" device . driver\n== 'd' && true", "d", ""},
	{"device.attributes[\"d\"].type == \"mig\"", "", "mig"},
	{"device.driver == 'd' && device.attributes[ 'd' ] . type == 'mig'", "d", "mig"},
	{"(device.driver == 'd') && ((device.attributes['d'].type == 'mig'))", "d", "mig"},
	{"(device.driver == 'd' && x) && y in ['a && b', \"c\"]", "d", ""},
	{"device.driver == 'd' && (a || b)", "d", ""},
	{"has(device.capacity['d'].memory) && device.driver == 'd'", "d", ""},
	{"a[b ? 1 : 2] && device.driver == 'd'", "d", ""},
	{"x == '' && device.driver == 'd'", "d", ""},
	/* nothing can be told */
	{"device.driver == 'd' || true", "", ""},
	{"device.driver == 'd' && a || b", "", ""},
	{"(device.driver == 'd' || true)", "", ""},
	{"(device.driver == 'd') || (true)", "", ""},
	{"device.driver == 'd' ? false : true", "", ""},
	{"!(device.driver == 'd')", "", ""},
	{"!device.driver == 'd'", "", ""},
	{"device.driver != 'd'", "", ""},
	{"device.driver == 'd' + 'e'", "", ""},
	{"device.driver == 'd' == false", "", ""},
	{"device.driverless == 'd'", "", ""},
	{"my.device.driver == 'd'", "", ""},
	{"device.attributes['d'].typed == 'mig'", "", ""},
	{"device.attributes['d'].?type == optional.of('mig')", "", ""},
	{"device.driver == 'd\\x64'", "", ""},
	{"device.driver == '''d'''", "", ""},
	{"device.driver == ''", "", ""},
	{"true // && device.driver == 'd'", "", ""},
	{"x == \"\"\"a\"\"\" && device.driver == 'd'", "", ""},
	{"device.driver == 'd' && )", "", ""},
	{"device.driver == 'd' && (", "", ""},
	{"device.driver == 'd", "", ""},
	{"[device.driver == 'd' && true]", "", ""},
	{"", "", ""},
	{"&&", "", ""},
	{"device", "", ""},
};

static void class_with(const char *text, struct class_facts *ret_facts)
{
	struct wire_device_selector selector = {.cel.expression = str_from(text)};
	struct wire_class wire = {
		.meta = {.name = STR("c"), .uid = STR("u")},
		.spec.selectors = {&selector, 1},
	};
	struct error err;

	assert_int_equal(api_pack_class(&wire, ret_facts, &err), 0);
}

static void a_class_is_no_narrower_than_it_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(expressions); i++) {
		const struct expression *e = &expressions[i];
		struct class_facts facts;

		class_with(e->text, &facts);
		if (!str_equal(facts.driver, str_from(e->driver)) ||
		    !str_equal(facts.type, str_from(e->type)))
			fail_msg("%s: driver '%.*s', type '%.*s'", e->text, STR_ARGS(facts.driver),
				 STR_ARGS(facts.type));
	}
}

static void deep_parentheses_end(void **state)
{
	enum { DEEP = 100000 };
	struct buf text CLEANUP(buf_clear);
	struct class_facts facts;

	(void)state;
	buf_init(&text, LIMIT_WATCH_FRAME);
	for (int i = 0; i < DEEP; i++)
		buf_add_char(&text, '(');
	buf_printf(&text, "device.driver == 'd'");
	for (int i = 0; i < DEEP; i++)
		buf_add_char(&text, ')');
	class_with(text.data, &facts);
	assert_true(str_empty(facts.driver));
}

static void all_selectors_of_a_class_must_hold(void **state)
{
	struct wire_device_selector selectors[] = {
		{.cel.expression = STR("device.driver == 'd'")},
		{.cel.expression = STR("true || false")},
		{.cel.expression = STR("device.attributes['d'].type == 'gpu'")},
	};
	struct wire_class wire = {
		.meta = {.name = STR("c"), .uid = STR("u")},
		.spec.selectors = {selectors, ARRAY_SIZE(selectors)},
	};
	struct class_facts facts;

	(void)state;
	assert_int_equal(api_pack_class(&wire, &facts, NULL), 0);
	assert_true(str_equal(facts.driver, STR("d")));
	assert_true(str_equal(facts.type, STR("gpu")));
}

/* --- what is refused */

#define NAME_OF_254                                                        \
	"0123456789012345678901234567890123456789012345678901234567890123" \
	"0123456789012345678901234567890123456789012345678901234567890123" \
	"0123456789012345678901234567890123456789012345678901234567890123" \
	"01234567890123456789012345678901234567890123456789012345678901"

static const struct refused {
	const struct schema *schema;
	const char *json;
	enum error_kind kind;
	const char *message;
} refused[] = {
	{&wire_claim_schema, CLAIM("{'name':'r','exactly':{'deviceClassName':'c','count':-1}}", ""),
	 ERROR_INVALID, "ResourceClaim a/n: request r: asks for -1 devices"},
	{&wire_claim_schema,
	 CLAIM("{'name':'r','exactly':{'deviceClassName':'" NAME_OF_254 "'}}", ""), ERROR_LIMIT,
	 "ResourceClaim a/n: request r: the name of its device class has more than 253 bytes"},
	{&wire_claim_schema,
	 CLAIM(ONE, RESULTS("{'request':'r','driver':'d','pool':'" NAME_OF_254 "'}")), ERROR_LIMIT,
	 "ResourceClaim a/n: allocation: the name of its pool has more than 253 bytes"},
	{&wire_claim_schema, "{'metadata':{'name':'n','namespace':'a'}}", ERROR_INVALID,
	 "ResourceClaim a/n: has no uid"},
	{&wire_slice_schema, "{" META ",'spec':{'driver':'d'}}", ERROR_INVALID,
	 "ResourceSlice a/n: has no driver or no pool"},
	{&wire_slice_schema, "{" META ",'spec':{'driver':'d','pool':{'name':'p'}}}", ERROR_INVALID,
	 "ResourceSlice a/n: its pool has no generation or no slices"},
	{&wire_slice_schema, SLICE("{'name':'" NAME_OF_254 "'}"), ERROR_LIMIT,
	 "ResourceSlice a/n: the name of its device has more than 253 bytes"},
	{&wire_class_schema, "{}", ERROR_INVALID, "DeviceClass : has no name"},
};

static void what_cannot_be_right_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct fixture f CLEANUP(fixture_clear);
		union any_object wire;

		fixture_init(&f);
		sample_decode(refused[i].schema, refused[i].json, &f.arena, &wire);
		assert_int_equal(pack_any(&f, refused[i].schema, &wire), -1);
		assert_int_equal(f.err.kind, refused[i].kind);
		assert_string_equal(f.err.message, refused[i].message);
	}
}

static void assert_too_many(struct fixture *f, const struct schema *schema, const void *wire,
			    const char *message)
{
	assert_int_equal(pack_any(f, schema, wire), -1);
	assert_int_equal(f->err.kind, ERROR_LIMIT);
	if (!strstr(f->err.message, message))
		fail_msg("%s, not %s", f->err.message, message);
}

static void what_is_too_much_is_refused(void **state)
{
	static struct wire_claim_request requests[LIMIT_REQUESTS_PER_CLAIM + 1];
	static struct wire_device_request choices[LIMIT_CHOICES_PER_REQUEST + 1];
	static struct wire_claim_result results[LIMIT_CLAIM_DEVICES + 1];
	static struct wire_claim_consumer users[LIMIT_CLAIM_PODS + 1];
	static struct wire_device devices[LIMIT_DEVICES_PER_SLICE + 1];
	struct wire_claim claim = {.meta = {.name = STR("n"), .uid = STR("u")}};
	struct wire_slice slice = {
		.meta = {.name = STR("n"), .uid = STR("u")},
		.spec = {.driver = STR("d"),
			 .pool = {.name = STR("p"), .slice_count = 1},
			 .devices = {devices, ARRAY_SIZE(devices)}},
	};
	struct fixture f CLEANUP(fixture_clear);

	(void)state;
	fixture_init(&f);
	assert_too_many(&f, &wire_slice_schema, &slice, "has more than 128 devices");
	claim.spec.devices.requests = (struct wire_list){requests, ARRAY_SIZE(requests)};
	assert_too_many(&f, &wire_claim_schema, &claim, "has more than 32 requests");
	claim.spec.devices.requests.len = 1;
	requests[0].first_available = (struct wire_list){choices, ARRAY_SIZE(choices)};
	assert_too_many(&f, &wire_claim_schema, &claim, "has more than 32 choices in a request");
	requests[0].first_available.len = 0;
	claim.status.present = 1u << WIRE_CLAIM_STATUS_ALLOCATION;
	claim.status.allocation.devices.results = (struct wire_list){results, ARRAY_SIZE(results)};
	assert_too_many(&f, &wire_claim_schema, &claim, "has more than 32 allocated devices");
	claim.status.allocation.devices.results.len = 1;
	claim.status.reserved_for = (struct wire_list){users, ARRAY_SIZE(users)};
	assert_too_many(&f, &wire_claim_schema, &claim, "has more than 256 users");
}

static void an_outline_asks_for_the_most_of_no_class(void **state)
{
	struct wire_object wire = {
		.meta = {.name = STR("c"), .namespace = STR("n"), .uid = STR("u")}};
	struct claim_facts facts;
	struct error err = {0};

	(void)state;
	assert_int_equal(api_pack_claim_outline(&wire, &facts, &err), 0);
	assert_true(str_equal(facts.name, STR("c")));
	assert_false(facts.allocated);
	assert_int_equal(facts.n_requests, 1);
	assert_int_equal(facts.requests[0].choices[0].count, LIMIT_CLAIM_DEVICES);
	assert_true(str_empty(facts.requests[0].choices[0].class));
	wire.meta.uid = STR_NONE;
	assert_int_equal(api_pack_claim_outline(&wire, &facts, &err), -1);
	assert_string_equal(err.message, "ResourceClaim n/c: has no uid");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_outline_asks_for_the_most_of_no_class),
		cmocka_unit_test(recorded_objects_are_read_for_what_they_are),
		cmocka_unit_test(protobuf_says_the_same_as_json),
		cmocka_unit_test(a_claim_tells_whose_it_is),
		cmocka_unit_test(what_is_odd_is_never_cheaper),
		cmocka_unit_test(a_gpu_driver_s_device_has_memory_if_unknown),
		cmocka_unit_test(a_class_is_no_narrower_than_it_says),
		cmocka_unit_test(deep_parentheses_end),
		cmocka_unit_test(all_selectors_of_a_class_must_hold),
		cmocka_unit_test(what_cannot_be_right_is_refused),
		cmocka_unit_test(what_is_too_much_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
