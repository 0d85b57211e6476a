/* SPDX-License-Identifier: Apache-2.0 */
/* The parts under the cluster: uids, request vectors, packed objects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/macros.h"
#include "base/mem.h"
#include "cluster/ledger/vectors.h"
#include "cluster/pack/pack.h"
#include "cluster/uid.h"

static const struct hash_key key = {5, 6};

static void test_uids_are_numbers(void **state)
{
	struct uid dashed = uid_from(&key, STR("01234567-89ab-CDEF-0123-456789abcdef"));

	(void)state;
	assert_true(dashed.high == 0x0123456789abcdef && dashed.low == 0x0123456789abcdef);
	assert_true(uid_equal(dashed, uid_from(&key, STR("0123456789abcdef0123456789ABCDEF"))));
	assert_false(uid_equal(dashed, uid_from(&key, STR("0123456789abcdef0123456789abcdee"))));
}

static void test_other_uids_are_told_apart(void **state)
{
	static const char *const texts[] = {
		"",
		"a",
		"b",
		"01234567-89ab-cdef-0123-456789abcdeg",
		"01234567089ab-cdef-0123-456789abcdef",
		"0123456789abcdef0123456789abcde",
		"0123456789abcdef0123456789abcdef0",
		"-----------------------------------",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		for (size_t k = 0; k < ARRAY_SIZE(texts); k++)
			assert_int_equal(uid_equal(uid_from(&key, str_from(texts[i])),
						   uid_from(&key, str_from(texts[k]))),
					 i == k);
}

static void test_equal_vectors_are_one(void **state)
{
	const struct device_ask gpu[] = {device_ask_units(STR("nvidia.com/gpu"), 2)};
	const struct device_ask more[] = {device_ask_units(STR("nvidia.com/gpu"), 3)};
	const struct device_ask both[] = {
		device_ask_units(STR("nvidia.com/gpu"), 2),
		{STR("nvidia.com/gpumem"), INT64_MAX, STR("nvidia.com/gpu"), INT64_MAX, 0},
	};
	CLEANUP(intern_free) struct intern *intern = intern_new(&key);
	uint32_t a, b, c, d, cell;
	struct vectors vectors;

	(void)state;
	vectors_init(&vectors, &key, intern);
	a = vectors_ref(&vectors, gpu, 1);
	b = vectors_ref(&vectors, gpu, 1);
	c = vectors_ref(&vectors, more, 1);
	d = vectors_ref(&vectors, both, 2);
	assert_int_equal(a, b);
	assert_true(a != c && a != d && c != d);
	cell = vectors_first(&vectors, d);
	assert_int_equal(vectors_cell(&vectors, cell)->count, 2);
	cell = vectors_cell(&vectors, cell)->next;
	assert_int_equal(vectors_cell(&vectors, cell)->count, INT64_MAX);
	assert_int_equal(vectors_cell(&vectors, cell)->devices, VECTOR_DEVICES_MOST);
	assert_int_equal(vectors_cell(&vectors, cell)->next, TABLE_NONE);
	vectors_unref(&vectors, a);
	assert_int_equal(vectors_ref(&vectors, gpu, 1), a);
	vectors_unref(&vectors, a);
	vectors_unref(&vectors, a);
	vectors_unref(&vectors, c);
	assert_int_equal(intern_count(intern), 2);
	vectors_unref(&vectors, d);
	assert_int_equal(intern_count(intern), 0);
	assert_int_equal(vectors.cells.count, 0);
	vectors_clear(&vectors);
}

/* A quota with something in every field. */
static void fill_quota(struct quota_facts *ret_facts, const struct resource_amount *caps)
{
	static const struct product_cap product = {{"H100", 4}, 7, AMOUNT_NONE};
	static const struct dry_run_row workload = {{"Job", 3}, {"train", 5}, 8, 9};
	static const struct quota_class class = {{"gpu.nvidia.com", 14}, {"nvidia.com/gpu", 14}};
	static struct quota_row row;

	row = (struct quota_row){STR("nvidia.com/gpu"), STR("H100"), 80 * GIB, 3, 4, DEVICE_MPS};
	*ret_facts = (struct quota_facts){
		.uid = STR("uid"),
		.created_us = 4,
		.generation = 5,
		.terminating = true,
		.spec = {.gpu_memory = GIB,
			 .gpus = 2,
			 .pod_gpu_memory = 3,
			 .pod_gpus = AMOUNT_NONE,
			 .caps = caps,
			 .n_caps = 2,
			 .defaults = caps,
			 .n_defaults = 1,
			 .products = &product,
			 .n_products = 1,
			 .borrow_limit = 11,
			 .on_shrink = SHRINK_EVICT,
			 .shrink_deadline_us = 12,
			 .release_terminal = true,
			 .terminal_timeout_us = 13,
			 .dry_run = true},
		.invalid = "why",
		.has_status = true,
		.status = {.observed_generation = 1,
			   .effective = 2,
			   .used = 3,
			   .live = 6,
			   .gpus_used = 7,
			   .used_percent = 8,
			   .pods = 9,
			   .granted = 10,
			   .released = 14,
			   .released_pods = 15,
			   .tenant = STR("tenant"),
			   .dry_run = {.since_us = 1,
				       .through_us = 2,
				       .refused = 3,
				       .rows = &workload,
				       .n_rows = 1},
			   .rows = &row,
			   .n_rows = 1,
			   .classes = {&class, 1, 0}},
	};
	for (int i = 0; i < QUOTA_CONDITION_COUNT; i++) {
		struct condition *c = &ret_facts->status.conditions[i];

		c->status = CONDITION_FALSE;
		c->reason = QUOTA_REASON_PENDING;
		c->since_us = i;
		snprintf(c->message, sizeof(c->message), "sentence %d", i);
	}
}

static void test_quotas_survive_packing(void **state)
{
	const struct resource_amount caps[] = {{STR("b"), 1}, {STR("a"), 2}};
	const struct resource_amount sorted[] = {{STR("a"), 2}, {STR("b"), 1}};
	struct quota_facts facts, back;
	struct arena arena = {0}, small;
	struct buf one, two;

	(void)state;
	buf_init(&one, LIMIT_WATCH_FRAME);
	buf_init(&two, LIMIT_WATCH_FRAME);
	fill_quota(&facts, caps);
	pack_quota(&facts, &one);
	assert_true(unpack_quota(buf_str(&one), &arena, &back));
	assert_true(str_equal(unpack_uid(buf_str(&one)), STR("uid")));
	assert_string_equal(back.invalid, "why");
	assert_string_equal(back.status.conditions[4].message, "sentence 4");
	assert_true(str_equal(back.spec.caps[0].resource, STR("a")));
	assert_int_equal(back.status.rows[0].hard, 4);
	assert_int_equal(back.spec.pod_gpus, AMOUNT_NONE);
	assert_int_equal(back.spec.products[0].gpu_memory, 7);
	assert_int_equal(back.spec.borrow_limit, 11);
	assert_int_equal(back.spec.on_shrink, SHRINK_EVICT);
	assert_int_equal(back.spec.shrink_deadline_us, 12);
	assert_int_equal(back.spec.terminal_timeout_us, 13);
	assert_true(back.spec.release_terminal && back.spec.dry_run);
	assert_int_equal(back.status.granted, 10);
	assert_int_equal(back.status.released_pods, 15);
	assert_true(str_equal(back.status.tenant, STR("tenant")));
	assert_int_equal(back.status.dry_run.rows[0].pods, 8);
	assert_int_equal(back.status.classes.n, 1);
	assert_true(str_equal(back.status.classes.list[0].name, STR("gpu.nvidia.com")));
	assert_true(str_equal(back.status.classes.list[0].resource, STR("nvidia.com/gpu")));
	pack_quota(&back, &two);
	assert_true(str_equal(buf_str(&one), buf_str(&two)));
	facts.spec.caps = sorted;
	buf_reset(&two);
	pack_quota(&facts, &two);
	assert_true(str_equal(buf_str(&one), buf_str(&two))); /* in whichever order */
	arena_init(&small, 16);
	assert_false(unpack_quota(buf_str(&one), &small, &back));
	arena_clear(&small);
	arena_clear(&arena);
	buf_clear(&one);
	buf_clear(&two);
}

static void assert_tenant_survived(const struct tenant_facts *tenant)
{
	assert_true(tenant->terminating && tenant->has_status && tenant->spec.qos_denies);
	assert_int_equal(tenant->spec.tier, TIER_INFERENCE);
	assert_int_equal(tenant->spec.qos, POD_QOS_BURSTABLE);
	assert_int_equal(tenant->spec.ceiling_gpus, AMOUNT_NONE);
	assert_int_equal(tenant->spec.topology.policy, TOPOLOGY_REQUIRED);
	assert_int_equal(tenant->spec.topology.scope, LAYOUT_NVLINK);
	assert_int_equal(tenant->spec.topology.on_mismatch, MISMATCH_MIGRATE);
	assert_true(str_equal(tenant->spec.priority_classes[1], STR("web")));
	assert_true(tenant->status.lent == 4 && tenant->status.namespaces[0].data[0] == 'm');
}

static void test_tenants_and_bindings_survive_packing(void **state)
{
	const struct str values[] = {STR("ml"), STR("web")};
	const struct label_requirement requirements[] = {
		{STR("team"), LABEL_IN, values, 2}, {STR("stage"), LABEL_DOES_NOT_EXIST, NULL, 0}};
	const struct label_selector selector = {requirements, 2};
	struct tenant_facts tenant = {
		.uid = STR("uid"),
		.created_us = 1,
		.generation = 2,
		.terminating = true,
		.spec = {.tier = TIER_INFERENCE,
			 .ceiling = GIB,
			 .ceiling_gpus = AMOUNT_NONE,
			 .qos = POD_QOS_BURSTABLE,
			 .qos_denies = true,
			 .priority_classes = values,
			 .n_priority_classes = 2,
			 .topology = {TOPOLOGY_REQUIRED, LAYOUT_NVLINK, MISMATCH_MIGRATE}},
		.has_status = true,
		.status = {.observed_generation = 3,
			   .lent = 4,
			   .n_namespaces = 2,
			   .namespaces = values,
			   .n_namespaces_listed = 2},
	};
	struct binding_facts binding = {
		.uid = STR("uid"),
		.owner_uid = STR("owner"),
		.spec = {STR("policy"), STR("param"), true, selector, {NULL, 0}},
		.other = true};
	struct label_selector back;
	struct arena arena = {0};
	struct buf buf;

	(void)state;
	buf_init(&buf, LIMIT_WATCH_FRAME);
	pack_label_selector(&selector, &buf);
	assert_true(unpack_label_selector(buf_str(&buf), &arena, &back));
	assert_true(label_selector_equal(&selector, &back));
	buf_reset(&buf);
	pack_tenant(&tenant, &buf);
	memset(&tenant, 0, sizeof(tenant));
	assert_true(unpack_tenant(buf_str(&buf), &arena, &tenant));
	assert_tenant_survived(&tenant);
	buf_reset(&buf);
	pack_binding(&binding, &buf);
	memset(&binding, 0, sizeof(binding));
	assert_true(unpack_binding(buf_str(&buf), &arena, &binding));
	assert_true(binding.other && binding.spec.denies);
	assert_true(str_equal(binding.owner_uid, STR("owner")));
	assert_true(label_selector_equal(&binding.spec.namespaces, &selector));
	assert_int_equal(binding.spec.objects.n_requirements, 0);
	arena_clear(&arena);
	buf_clear(&buf);
}

static void test_uids_are_written_as_they_came(void **state)
{
	const struct str text = STR("0123abcd-4567-89ef-0123-456789abcdef");
	char back[UID_TEXT_SIZE];

	(void)state;
	uid_text(uid_from(&key, text), back);
	assert_string_equal(back, text.data);
	uid_text(uid_from(&key, STR("no uuid")), back);
	assert_int_equal(strlen(back), UID_TEXT_SIZE - 1);
}

static void test_owned_objects_survive_packing(void **state)
{
	const struct resource_amount amounts[] = {{STR("a"), 2}, {STR("b"), 0}};
	struct resource_quota_facts quota = {.uid = STR("u"),
					     .owner_uid = STR("o"),
					     .hard = amounts,
					     .n_hard = 2,
					     .status_hard = amounts,
					     .n_status_hard = 1,
					     .other_keys = true,
					     .foreign_manager = STR("m")};
	struct limit_range_facts range = {.uid = STR("u"),
					  .defaults = amounts,
					  .n_defaults = 2,
					  .other_limits = true,
					  .foreign_manager = STR("m")};
	struct arena arena = {0};
	struct buf buf;

	(void)state;
	buf_init(&buf, LIMIT_WATCH_FRAME);
	pack_resource_quota(&quota, &buf);
	memset(&quota, 0, sizeof(quota));
	assert_true(unpack_resource_quota(buf_str(&buf), &arena, &quota));
	assert_true(str_equal(quota.owner_uid, STR("o")) && quota.other_keys);
	assert_true(quota.n_hard == 2 && quota.n_status_hard == 1 && quota.hard[0].count == 2);
	assert_true(str_equal(quota.foreign_manager, STR("m")));
	buf_reset(&buf);
	pack_limit_range(&range, &buf);
	memset(&range, 0, sizeof(range));
	assert_true(unpack_limit_range(buf_str(&buf), &arena, &range));
	assert_true(range.n_defaults == 2 && range.other_limits && range.owner_uid.len == 0);
	arena_clear(&arena);
	buf_clear(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uids_are_numbers),
		cmocka_unit_test(test_other_uids_are_told_apart),
		cmocka_unit_test(test_equal_vectors_are_one),
		cmocka_unit_test(test_quotas_survive_packing),
		cmocka_unit_test(test_tenants_and_bindings_survive_packing),
		cmocka_unit_test(test_uids_are_written_as_they_came),
		cmocka_unit_test(test_owned_objects_survive_packing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
