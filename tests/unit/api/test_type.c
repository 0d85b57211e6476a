/* SPDX-License-Identifier: Apache-2.0 */
/* The list of types and their field tables, as far as they can be checked without data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "api/type.h"
#include "api/wire_tenant.h"
#include "base/macros.h"

static const struct api_type *const types[] = {
	&api_pods,
	&api_nodes,
	&api_namespaces,
	&api_resource_quotas,
	&api_limit_ranges,
	&api_leases,
	&api_gpu_memory_quotas,
	&api_events,
	&api_resource_claims,
	&api_resource_slices,
	&api_device_classes,
	&api_tenants,
	&api_policy_bindings,
	&api_budgets,
	&api_jobs,
	&api_volume_claims,
	&api_volumes,
	&api_storage_classes,
	&api_csi_nodes,
	&api_csi_drivers,
};

static void every_table_can_be_decoded_into(void **state)
{
	struct error err = {0};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(types); i++)
		if (types[i]->schema && schema_check(types[i]->schema, &err) < 0)
			fail_msg("%s: %s", types[i]->kind, err.message);
	if (schema_check(&wire_status_schema, &err) < 0 ||
	    schema_check(&wire_list_meta_schema, &err) < 0)
		fail_msg("%s", err.message);
}

static void has_tag(const struct schema *schema, bool wanted)
{
	size_t i;

	for (i = 0; i < schema->n_fields; i++) {
		const struct field *field = &schema->fields[i];

		/* Metadata and selectors are shared by types of both sorts. */
		if (field->schema == &wire_meta_schema || field->schema == &wire_selector_schema)
			continue;
		if ((field->tag != 0) != wanted)
			fail_msg("%s.%s", schema->name, field->name);
		if (field->schema)
			has_tag(field->schema, wanted);
	}
}

static void what_travels_as_protobuf_has_tags(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(types); i++)
		if (types[i]->schema)
			has_tag(types[i]->schema, types[i]->protobuf);
}

/* The header's indices, against the tables. */
static void indices_name_the_fields_they_say(void **state)
{
	const struct schema *spec = wire_gpu_memory_quota_schema.fields[1].schema;
	const struct schema *status = wire_gpu_memory_quota_schema.fields[2].schema;
	const struct schema *meta[] = {&wire_meta_schema, &wire_labelled_meta_schema,
				       &wire_owned_meta_schema, &wire_bound_meta_schema};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(meta); i++)
		assert_string_equal(meta[i]->fields[WIRE_META_DELETION].name, "deletionTimestamp");
	assert_string_equal(wire_gpu_memory_quota_schema.fields[WIRE_GPU_MEMORY_QUOTA_STATUS].name,
			    "status");
	assert_string_equal(spec->fields[WIRE_QUOTA_GPU_MEMORY].name, "gpuMemory");
	assert_string_equal(spec->fields[WIRE_QUOTA_GPUS].name, "gpus");
	assert_string_equal(spec->fields[WIRE_QUOTA_PER_POD].name, "perPod");
	assert_string_equal(spec->fields[WIRE_QUOTA_PRODUCTS].name, "products");
	assert_string_equal(spec->fields[WIRE_QUOTA_BORROW].name, "borrowLimit");
	assert_string_equal(spec->fields[WIRE_QUOTA_DEADLINE].name, "shrinkDeadlineSeconds");
	assert_string_equal(spec->fields[WIRE_QUOTA_TIMEOUT].name, "terminalTimeoutSeconds");
	assert_string_equal(
		spec->fields[WIRE_QUOTA_PRODUCTS].schema->fields[WIRE_PRODUCT_GPU_MEMORY].name,
		"gpuMemory");
	assert_string_equal(
		spec->fields[WIRE_QUOTA_PRODUCTS].schema->fields[WIRE_PRODUCT_GPUS].name, "gpus");
	spec = spec->fields[WIRE_QUOTA_PER_POD].schema;
	assert_string_equal(spec->fields[WIRE_PER_POD_GPU_MEMORY].name, "gpuMemory");
	assert_string_equal(spec->fields[WIRE_PER_POD_GPUS].name, "gpus");
	assert_string_equal(status->fields[WIRE_STATUS_RESOURCES].name, "resources");
	assert_string_equal(status->fields[WIRE_STATUS_DRY_RUN].name, "dryRun");
	status = status->fields[WIRE_STATUS_RESOURCES].schema;
	assert_string_equal(status->fields[WIRE_RESOURCE_UNIT_MEMORY].name, "unitMemory");
}

static void indices_of_tenants_and_bindings_name_their_fields(void **state)
{
	const struct schema *spec = wire_tenant_schema.fields[1].schema;
	const struct schema *binding = wire_binding_schema.fields[1].schema;

	(void)state;
	assert_string_equal(wire_tenant_schema.fields[WIRE_TENANT_STATUS].name, "status");
	assert_string_equal(spec->fields[WIRE_TENANT_CEILING].name, "ceiling");
	assert_string_equal(spec->fields[WIRE_TENANT_QOS].name, "qosClass");
	assert_string_equal(spec->fields[WIRE_TENANT_TOPOLOGY].name, "topology");
	spec = spec->fields[WIRE_TENANT_CEILING].schema;
	assert_string_equal(spec->fields[WIRE_CEILING_GPU_MEMORY].name, "gpuMemory");
	assert_string_equal(spec->fields[WIRE_CEILING_GPUS].name, "gpus");
	assert_string_equal(binding->fields[1].schema->fields[WIRE_PARAM_SELECTOR].name,
			    "selector");
}

static void raw_values_are_the_same_from_both_encodings(void **state)
{
	(void)state;
	assert_true(str_equal(wire_raw(STR("{\"a\":1}")), STR("{\"a\":1}")));
	assert_true(str_equal(wire_raw(STR("\x0a\x07{\"a\":1}")), STR("{\"a\":1}")));
	assert_true(str_empty(wire_raw(STR_NONE)));
	assert_true(str_empty(wire_raw(STR("\x0a\x09{\"a\":1}"))));
	assert_true(str_empty(wire_raw(STR("\x0a"))));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_table_can_be_decoded_into),
		cmocka_unit_test(what_travels_as_protobuf_has_tags),
		cmocka_unit_test(indices_name_the_fields_they_say),
		cmocka_unit_test(indices_of_tenants_and_bindings_name_their_fields),
		cmocka_unit_test(raw_values_are_the_same_from_both_encodings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
