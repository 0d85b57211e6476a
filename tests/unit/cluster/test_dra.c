/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims, slices and classes, case by case: what a device costs, and who is charged for it.
 *
 * size: every case is made of the same few objects
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/macros.h"
#include "cluster/internal.h"
#include "cluster/looks.h"
#include "cluster/read.h"

#define GPU "gpu.nvidia.com"
#define ROW "nvidia.com/gpu"
#define MIG "mig.nvidia.com.deviceclass.resource.k8s.io/devices"

struct fixture {
	struct cluster *cluster;
	uint64_t version;
};

static int setup(void **state)
{
	static const struct hash_key key = {1, 2};
	static struct fixture fixture;

	fixture = (struct fixture){.cluster = cluster_new(&key)};
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	cluster_free(f->cluster);
	return 0;
}

/* --- objects */

static void apply_class(struct fixture *f, const char *name, const char *type, const char *extended)
{
	struct class_facts facts = {
		.name = str_from(name),
		.uid = str_from(name),
		.driver = STR(GPU),
		.type_domain = STR(GPU),
		.type = str_from(type),
		.extended_resource = str_from(extended),
	};

	assert_int_equal(cluster_apply_class(f->cluster, &facts, NULL), 0);
}

/* As the driver's chart has them. */
static void apply_classes(struct fixture *f)
{
	apply_class(f, GPU, "gpu", ROW);
	apply_class(f, "mig.nvidia.com", "mig", "");
}

static const struct slice_device h100 = {{"gpu-0", 5}, {"gpu", 3}, {"H100", 4}, {"n", 1}, 80 * GIB,
					 false,        false,      {NULL, 0},   {NULL, 0}};
static const struct slice_device a100 = {{"gpu-1", 5}, {"gpu", 3}, {"A100", 4}, {"n", 1}, 40 * GIB,
					 false,        false,      {NULL, 0},   {NULL, 0}};
static const struct slice_device mig = {{"gpu-1-mig", 9}, {"mig", 3}, {"A100", 4}, {"n", 1},
					5 * GIB,          false,      false,       {NULL, 0},
					{NULL, 0}};
static const struct slice_device shared = {{"gpu-2", 5}, {"gpu", 3}, {"H100", 4},
					   {"n", 1},     80 * GIB,   false,
					   true,         {NULL, 0},  {NULL, 0}};

/* A slice of the pool "n", one of @count of this generation. */
static void apply_slice_of(struct fixture *f, const char *name, int64_t generation, int64_t count,
			   struct slice_device device)
{
	struct slice_facts facts = {
		.name = str_from(name),
		.uid = str_from(name),
		.resource_version = ++f->version,
		.driver = STR(GPU),
		.pool = STR("n"),
		.generation = generation,
		.slice_count = count,
		.devices = &device,
		.n_devices = 1,
	};

	assert_int_equal(cluster_apply_slice(f->cluster, &facts, NULL), 0);
}

static void apply_slice(struct fixture *f, const char *name, struct slice_device device,
			const char *pool)
{
	struct slice_facts facts = {
		.name = str_from(name),
		.uid = str_from(name),
		.resource_version = ++f->version,
		.driver = STR(GPU),
		.pool = str_from(pool),
		.slice_count = 1,
		.devices = &device,
		.n_devices = 1,
	};

	assert_int_equal(cluster_apply_slice(f->cluster, &facts, NULL), 0);
}

static void apply_claim(struct fixture *f, struct claim_facts facts)
{
	facts.namespace = STR("a");
	if (str_empty(facts.name))
		facts.name = STR("c");
	facts.uid = facts.name;
	facts.resource_version = ++f->version;
	assert_int_equal(cluster_apply_claim(f->cluster, &facts, NULL), 0);
}

/* One request, for so many of a class. */
static void apply_waiting(struct fixture *f, const char *class, int64_t count)
{
	struct claim_choice choice = {str_from(class), count};
	struct claim_request request = {&choice, 1, false};

	apply_claim(f, (struct claim_facts){.requests = &request, .n_requests = 1});
}

static struct claim_device device_of(const char *pool, const char *name, const char *class)
{
	return (struct claim_device){
		.driver = STR(GPU),
		.pool = str_from(pool),
		.device = str_from(name),
		.class = str_from(class),
		.consumed_memory = AMOUNT_NONE,
	};
}

static void apply_allocated(struct fixture *f, struct claim_device device)
{
	struct claim_choice choice = {device.class, 1};
	struct claim_request request = {&choice, 1, device.admin_access};

	apply_claim(f, (struct claim_facts){.requests = &request,
					    .n_requests = 1,
					    .allocated = true,
					    .devices = &device,
					    .n_devices = 1});
}

static void apply_pod(struct fixture *f, const char *resource, const char *claim,
		      enum pod_phase phase, const char *uid)
{
	struct device_ask ask = device_ask_units(str_from(resource), 1);
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct pod_facts facts = {
		.namespace = STR("a"),
		.name = STR("p"),
		.uid = str_from(uid),
		.resource_version = ++f->version,
		.node = STR("n"),
		.phase = phase,
		.extended_claim = str_from(claim),
		.containers = &container,
		.n_containers = 1,
	};

	assert_int_equal(cluster_apply_pod(f->cluster, &facts, NULL), 0);
}

/* The claim that the scheduler made for pod "p". */
static void apply_extended_claim(struct fixture *f, const char *name)
{
	struct claim_choice choice = {STR(GPU), 1};
	struct claim_request request = {&choice, 1, false};
	struct claim_device device = device_of("n", "gpu-0", GPU);

	apply_claim(f, (struct claim_facts){.name = str_from(name),
					    .owner_kind = STR("Pod"),
					    .owner_name = STR("p"),
					    .owner_uid = STR("uid-p"),
					    .says_extended = true,
					    .requests = &request,
					    .n_requests = 1,
					    .allocated = true,
					    .devices = &device,
					    .n_devices = 1});
}

/* --- what comes of them */

static struct namespace_view view_of(struct fixture *f)
{
	struct namespace_view view = {0};
	struct recount recount = {0};
	uint32_t namespace, cursor = 0;

	while (cluster_take_dirty(f->cluster, &namespace))
		;
	assert_true(cluster_recount(f->cluster, &cursor, UINT32_MAX, &recount));
	assert_int_equal(recount.differing, 0);
	namespace = cluster_namespace_find(f->cluster, STR("a"));
	if (namespace != TABLE_NONE)
		cluster_namespace_view(f->cluster, namespace, &view);
	return view;
}

static void assert_used(struct fixture *f, int64_t bytes, int64_t live, int64_t unpriced)
{
	struct namespace_view view = view_of(f);

	if (view.used != bytes || view.live != live || view.unpriced != unpriced)
		fail_msg("%s used, %s live, %d unpriced; not %s, %s, %d",
			 amount_text(view.used).text, amount_text(view.live).text,
			 (int)view.unpriced, amount_text(bytes).text, amount_text(live).text,
			 (int)unpriced);
}

/* "H100=80Gi A100=40Gi" of one resource, in no particular order of products. */
static void assert_rows(struct fixture *f, const char *resource, size_t n, int64_t smallest,
			int64_t largest)
{
	struct price_list list = cluster_prices(f->cluster);
	uint32_t handle = intern_find(f->cluster->intern, str_from(resource));
	int64_t low = INT64_MAX, high = 0;

	list = price_of(&list, handle);
	assert_int_equal(list.n_rows, n);
	for (size_t i = 0; i < n; i++) {
		low = MIN(low, list.rows[i].smallest);
		high = MAX(high, list.rows[i].largest);
	}
	if (n > 0) {
		assert_int_equal(low, smallest);
		assert_int_equal(high, largest);
	}
}

/* --- prices */

static void each_class_has_a_row_for_each_product(void **state)
{
	struct fixture *f = *state;

	apply_classes(f);
	apply_slice(f, "s0", h100, "n");
	apply_slice(f, "s1", a100, "m");
	apply_slice(f, "s2", mig, "k");
	assert_rows(f, ROW, 2, 40 * GIB, 80 * GIB);
	assert_rows(f, MIG, 1, 5 * GIB, 5 * GIB);
	cluster_delete(f->cluster, CLUSTER_SLICES, STR_NONE, STR("s0"));
	assert_rows(f, ROW, 1, 40 * GIB, 40 * GIB);
	cluster_delete(f->cluster, CLUSTER_CLASSES, STR_NONE, STR("mig.nvidia.com"));
	assert_rows(f, MIG, 0, 0, 0);
	/* one that says nothing may have all */
	cluster_apply_class(f->cluster, &(struct class_facts){.name = STR("any"), .uid = STR("u")},
			    NULL);
	assert_rows(f, "any.deviceclass.resource.k8s.io/devices", 1, 5 * GIB, 40 * GIB);
}

static void rows_of_an_extended_resource_are_those_of_plugins_too(void **state)
{
	struct device_offer offer = {.resource = STR(ROW),
				     .product = STR("H100"),
				     .unit_memory = 94 * GIB,
				     .count = 8,
				     .sharing = DEVICE_WHOLE};
	struct node_facts node = {
		.name = STR("m"), .uid = STR("u"), .offers = &offer, .n_offers = 1};
	struct fixture *f = *state;

	apply_classes(f);
	apply_slice(f, "s0", h100, "n");
	assert_int_equal(cluster_apply_node(f->cluster, &node, NULL), 0);
	assert_rows(f, ROW, 1, 80 * GIB, 94 * GIB);
	/* a claim gets none of the plugin's */
	apply_waiting(f, GPU, 1);
	assert_used(f, 80 * GIB, 0, 0);
	cluster_delete(f->cluster, CLUSTER_SLICES, STR_NONE, STR("s0"));
	assert_rows(f, ROW, 1, 94 * GIB, 94 * GIB);
	assert_used(f, 94 * GIB, 0, 0);
}

static void a_pool_counts_when_it_is_complete(void **state)
{
	struct fixture *f = *state;

	apply_classes(f);
	apply_slice_of(f, "s0", 1, 2, h100);
	assert_rows(f, ROW, 0, 0, 0);
	apply_slice_of(f, "s1", 1, 2, a100);
	assert_rows(f, ROW, 2, 40 * GIB, 80 * GIB);
	/* the next generation, slice by slice */
	apply_slice_of(f, "s0", 2, 2, h100);
	assert_rows(f, ROW, 0, 0, 0);
	apply_slice_of(f, "s1", 2, 2, mig);
	assert_rows(f, ROW, 1, 80 * GIB, 80 * GIB);
	assert_rows(f, MIG, 1, 5 * GIB, 5 * GIB);
	/* one of before, which is late */
	apply_slice_of(f, "s2", 1, 1, a100);
	assert_rows(f, ROW, 1, 80 * GIB, 80 * GIB);
	cluster_delete(f->cluster, CLUSTER_SLICES, STR_NONE, STR("s1"));
	assert_rows(f, ROW, 0, 0, 0);
}

static void a_shared_device_may_be_cut_small(void **state)
{
	struct fixture *f = *state;

	apply_classes(f);
	apply_slice(f, "s0", shared, "n");
	assert_rows(f, ROW, 1, MIB, 80 * GIB);
}

static void a_replace_drops_what_is_gone(void **state)
{
	struct fixture *f = *state;

	apply_classes(f);
	apply_slice(f, "s0", h100, "n");
	apply_slice(f, "s1", a100, "m");
	apply_waiting(f, GPU, 1);
	assert_used(f, 80 * GIB, 0, 0);
	cluster_begin_replace(f->cluster, CLUSTER_SLICES);
	apply_slice(f, "s1", a100, "m");
	cluster_end_replace(f->cluster, CLUSTER_SLICES);
	assert_used(f, 40 * GIB, 0, 0);
	cluster_begin_replace(f->cluster, CLUSTER_CLASSES);
	cluster_abort_replace(f->cluster, CLUSTER_CLASSES);
	assert_used(f, 40 * GIB, 0, 0);
	cluster_begin_replace(f->cluster, CLUSTER_CLAIMS);
	cluster_end_replace(f->cluster, CLUSTER_CLAIMS);
	assert_used(f, 0, 0, 0);
}

/* --- claims */

static void a_claim_that_waits_costs_the_dearest_of_its_class(void **state)
{
	struct fixture *f = *state;

	apply_classes(f);
	apply_waiting(f, GPU, 2);
	assert_used(f, 0, 0, 2);
	apply_slice(f, "s0", a100, "n");
	assert_used(f, 80 * GIB, 0, 0);
	apply_slice(f, "s1", h100, "m");
	assert_used(f, 160 * GIB, 0, 0);
	/* of a class of which nothing is known, the dearest there is */
	apply_waiting(f, "mig.nvidia.com", 3);
	assert_used(f, 240 * GIB, 0, 0);
	apply_slice(f, "s2", mig, "k");
	assert_used(f, 15 * GIB, 0, 0);
	apply_waiting(f, "nobody-knows", 32);
	assert_used(f, 32 * 80 * GIB, 0, 0);
	cluster_delete(f->cluster, CLUSTER_CLAIMS, STR("a"), STR("c"));
	assert_used(f, 0, 0, 0);
}

static void the_first_available_costs_the_dearest_choice(void **state)
{
	struct claim_choice choices[] = {
		{STR("mig.nvidia.com"), 4}, {STR(GPU), 1}, {STR("nobody-knows"), 3}};
	struct claim_request request = {choices, 2, false};
	struct claim_facts facts = {.requests = &request, .n_requests = 1};
	struct fixture *f = *state;

	apply_classes(f);
	apply_slice(f, "s0", h100, "n");
	apply_slice(f, "s1", mig, "m");
	apply_claim(f, facts);
	assert_used(f, 80 * GIB, 0, 0);
	choices[0].count = 17;
	apply_claim(f, facts);
	assert_used(f, 85 * GIB, 0, 0);
	/* a choice of which nothing is known is no reason to charge less */
	request.n_choices = 3;
	apply_claim(f, facts);
	assert_used(f, 240 * GIB, 0, 0);
}

static void an_allocated_claim_costs_what_it_got(void **state)
{
	struct fixture *f = *state;

	apply_classes(f);
	apply_slice(f, "s0", h100, "n");
	apply_slice(f, "s1", a100, "m");
	apply_allocated(f, device_of("m", "gpu-1", GPU));
	assert_used(f, 40 * GIB, 40 * GIB, 0);
	/* unknown: the dearest of the class */
	apply_allocated(f, device_of("m", "gpu-7", GPU));
	assert_used(f, 80 * GIB, 80 * GIB, 0);
	apply_allocated(f, device_of("nowhere", "gpu-1", GPU));
	assert_used(f, 80 * GIB, 80 * GIB, 0);
	apply_allocated(f, device_of("nowhere", "gpu-1", "nobody-knows"));
	assert_used(f, 80 * GIB, 80 * GIB, 0);
	/* known, whatever class it was asked for by */
	apply_allocated(f, device_of("m", "gpu-1", "nobody-knows"));
	assert_used(f, 40 * GIB, 40 * GIB, 0);
	/* and when the pool goes */
	apply_allocated(f, device_of("m", "gpu-1", GPU));
	cluster_delete(f->cluster, CLUSTER_SLICES, STR_NONE, STR("s1"));
	assert_used(f, 80 * GIB, 80 * GIB, 0);
	apply_slice(f, "s1", a100, "m");
	assert_used(f, 40 * GIB, 40 * GIB, 0);
}

static void a_part_of_a_shared_device_costs_a_part(void **state)
{
	struct claim_device part = device_of("n", "gpu-2", GPU);
	struct fixture *f = *state;

	apply_classes(f);
	apply_slice(f, "s0", shared, "n");
	apply_slice(f, "s1", a100, "m");
	apply_allocated(f, part);
	assert_used(f, 80 * GIB, 80 * GIB, 0);
	part.consumed_memory = 20 * GIB;
	apply_allocated(f, part);
	assert_used(f, 20 * GIB, 20 * GIB, 0);
	/* of a device that is not shared there are no parts */
	part.pool = STR("m");
	part.device = STR("gpu-1");
	apply_allocated(f, part);
	assert_used(f, 40 * GIB, 40 * GIB, 0);
	part.device = STR("gone");
	apply_allocated(f, part);
	assert_used(f, 20 * GIB, 20 * GIB, 0);
}

static void an_admin_s_access_costs_nothing(void **state)
{
	struct claim_device device = device_of("n", "gpu-0", GPU);
	struct claim_choice choice = {STR(GPU), 1};
	struct claim_request request = {&choice, 1, true};
	struct fixture *f = *state;

	apply_classes(f);
	apply_slice(f, "s0", h100, "n");
	apply_claim(f, (struct claim_facts){.requests = &request, .n_requests = 1});
	assert_used(f, 0, 0, 0);
	device.admin_access = true;
	apply_allocated(f, device);
	assert_used(f, 0, 0, 0);
}

static void other_devices_than_gpus_cost_nothing(void **state)
{
	struct slice_device nic = {.name = STR("nic-0"), .node = STR("n"), .memory = AMOUNT_NONE};
	struct slice_facts slice = {.name = STR("s0"),
				    .uid = STR("u"),
				    .driver = STR("dra.net"),
				    .pool = STR("n"),
				    .slice_count = 1,
				    .devices = &nic,
				    .n_devices = 1};
	struct class_facts class = {.name = STR("nic"), .uid = STR("u"), .driver = STR("dra.net")};
	struct claim_device device = device_of("n", "nic-0", "nic");
	struct fixture *f = *state;

	assert_int_equal(cluster_apply_class(f->cluster, &class, NULL), 0);
	apply_waiting(f, "nic", 2);
	/* before the driver says what it has, they may be anything */
	assert_used(f, 0, 0, 2);
	assert_int_equal(cluster_apply_slice(f->cluster, &slice, NULL), 0);
	assert_used(f, 0, 0, 0);
	device.driver = STR("dra.net");
	apply_allocated(f, device);
	assert_used(f, 0, 0, 0);
	apply_pod(f, "deviceclass.resource.kubernetes.io/nic", "", POD_RUNNING, "uid-p");
	assert_used(f, 0, 0, 0);
	/* until they have memory */
	nic.memory = 16 * GIB;
	slice.resource_version = ++f->version;
	assert_int_equal(cluster_apply_slice(f->cluster, &slice, NULL), 0);
	assert_used(f, 32 * GIB, 32 * GIB, 0);
	/* and what it gave once it may give again */
	cluster_delete(f->cluster, CLUSTER_SLICES, STR_NONE, slice.name);
	assert_used(f, 0, 0, 2);
}

/* What holds devices that nobody publishes any more goes on holding them. */
static void a_class_of_gpus_is_never_free(void **state)
{
	struct slice_device card = {.name = STR("c"), .node = STR("m"), .memory = 80 * GIB};
	struct slice_facts slice = {.name = STR("s"),
				    .uid = STR("u"),
				    .driver = STR("acc.example.com"),
				    .pool = STR("m"),
				    .slice_count = 1,
				    .devices = &card,
				    .n_devices = 1};
	struct class_facts class = {
		.name = STR("acc"), .uid = STR("u"), .driver = STR("acc.example.com")};
	struct claim_device device = device_of("m", "c", "acc");
	struct fixture *f = *state;

	apply_classes(f);
	apply_slice(f, "s1", a100, "n");
	assert_int_equal(cluster_apply_class(f->cluster, &class, NULL), 0);
	assert_int_equal(cluster_apply_slice(f->cluster, &slice, NULL), 0);
	device.driver = class.driver;
	apply_allocated(f, device);
	assert_used(f, 80 * GIB, 80 * GIB, 0);
	cluster_delete(f->cluster, CLUSTER_SLICES, STR_NONE, slice.name);
	assert_used(f, 40 * GIB, 40 * GIB, 0); /* the dearest that there is */
	/* what it publishes beside them is no proof */
	card.memory = AMOUNT_NONE;
	card.name = STR("nic");
	slice.resource_version = ++f->version;
	assert_int_equal(cluster_apply_slice(f->cluster, &slice, NULL), 0);
	assert_used(f, 40 * GIB, 40 * GIB, 0);
}

static void a_device_that_does_not_tell_costs_the_most(void **state)
{
	struct slice_device unknown = h100;
	struct fixture *f = *state;

	unknown.memory = AMOUNT_UNKNOWN;
	apply_classes(f);
	apply_slice(f, "s0", unknown, "n");
	apply_allocated(f, device_of("n", "gpu-0", GPU));
	assert_used(f, 0, 0, 1);
	apply_slice(f, "s1", a100, "m");
	assert_used(f, 40 * GIB, 40 * GIB, 0);
	apply_waiting(f, GPU, 2);
	assert_used(f, 80 * GIB, 0, 0);
}

/* --- pods */

static void a_pod_on_the_node_costs_the_dearest_there(void **state)
{
	struct slice_device elsewhere = h100;
	struct fixture *f = *state;

	elsewhere.node = STR("m");
	apply_classes(f);
	apply_slice(f, "s0", elsewhere, "m");
	apply_pod(f, ROW, "", POD_RUNNING, "uid-p");
	assert_used(f, 80 * GIB, 80 * GIB, 0);
	apply_slice(f, "s1", a100, "n");
	assert_used(f, 40 * GIB, 40 * GIB, 0);
	apply_pod(f, "deviceclass.resource.kubernetes.io/gpu.nvidia.com", "", POD_RUNNING, "uid-p");
	assert_used(f, 40 * GIB, 40 * GIB, 0);
	apply_slice(f, "s2", shared, "k");
	assert_used(f, 80 * GIB, 80 * GIB, 0);
	cluster_delete(f->cluster, CLUSTER_SLICES, STR_NONE, STR("s2"));
	assert_used(f, 40 * GIB, 40 * GIB, 0);
	assert_int_equal(view_of(f).pods, 1);
}

static void the_scheduler_s_claim_is_charged_with_its_pod(void **state)
{
	struct fixture *f = *state;

	apply_classes(f);
	apply_slice(f, "s0", h100, "n");
	/* the claim first: nobody knows its pod yet */
	apply_extended_claim(f, "made");
	assert_used(f, 80 * GIB, 80 * GIB, 0);
	apply_pod(f, ROW, "", POD_PENDING, "uid-p");
	assert_used(f, 160 * GIB, 160 * GIB, 0);
	apply_pod(f, ROW, "made", POD_PENDING, "uid-p");
	assert_used(f, 80 * GIB, 80 * GIB, 0);
	/* a pod that is over holds nothing, and its claim is there until it is deleted */
	apply_pod(f, ROW, "made", POD_SUCCEEDED, "uid-p");
	assert_used(f, 80 * GIB, 80 * GIB, 0);
	cluster_delete(f->cluster, CLUSTER_CLAIMS, STR("a"), STR("made"));
	assert_used(f, 0, 0, 0);
	/* the pod first */
	apply_pod(f, ROW, "made", POD_RUNNING, "uid-p");
	assert_used(f, 80 * GIB, 80 * GIB, 0);
	apply_extended_claim(f, "made");
	assert_used(f, 80 * GIB, 80 * GIB, 0);
	cluster_delete(f->cluster, CLUSTER_PODS, STR("a"), STR("p"));
	assert_used(f, 80 * GIB, 80 * GIB, 0);
}

static void a_claim_is_no_other_s_for_what_it_says_of_itself(void **state)
{
	struct fixture *f = *state;

	apply_classes(f);
	apply_slice(f, "s0", h100, "n");
	apply_pod(f, ROW, "made", POD_RUNNING, "uid-p");
	apply_extended_claim(f, "made");
	/* a second one that names the same pod */
	apply_extended_claim(f, "forged");
	assert_used(f, 160 * GIB, 160 * GIB, 0);
	/* another pod of the same name */
	apply_pod(f, ROW, "made", POD_RUNNING, "uid-q");
	assert_used(f, 240 * GIB, 240 * GIB, 0);
	apply_pod(f, ROW, "forged", POD_RUNNING, "uid-p");
	assert_used(f, 160 * GIB, 160 * GIB, 0);
}

/* --- what changes nothing */

static void what_changes_nothing_marks_nothing(void **state)
{
	struct fixture *f = *state;
	uint32_t namespace;

	apply_classes(f);
	apply_slice(f, "s0", h100, "n");
	apply_allocated(f, device_of("n", "gpu-0", GPU));
	apply_pod(f, ROW, "c", POD_RUNNING, "uid-p");
	assert_used(f, 160 * GIB, 160 * GIB, 0);
	apply_classes(f);
	apply_slice(f, "s0", h100, "n");
	apply_allocated(f, device_of("n", "gpu-0", GPU));
	apply_pod(f, ROW, "c", POD_RUNNING, "uid-p");
	assert_false(cluster_take_dirty(f->cluster, &namespace));
}

static void an_older_object_is_ignored(void **state)
{
	struct claim_choice choice = {STR(GPU), 1};
	struct claim_request request = {&choice, 1, false};
	struct claim_facts facts = {.namespace = STR("a"),
				    .name = STR("c"),
				    .uid = STR("c"),
				    .resource_version = 1,
				    .requests = &request,
				    .n_requests = 1};
	struct fixture *f = *state;

	f->version = 10;
	apply_classes(f);
	apply_slice(f, "s0", h100, "n");
	apply_waiting(f, GPU, 2);
	assert_int_equal(cluster_apply_claim(f->cluster, &facts, NULL), 0);
	assert_used(f, 160 * GIB, 0, 0);
	facts.uid = STR("another");
	assert_int_equal(cluster_apply_claim(f->cluster, &facts, NULL), 0);
	assert_used(f, 80 * GIB, 0, 0);
}

static void what_is_refused_stays_as_it_was(void **state)
{
	struct claim_facts claim = {.namespace = STR("a"), .name = STR("c"), .n_requests = 33};
	struct class_facts class = {.name = STR_NONE};
	struct slice_facts slice = {.name = STR("s0"), .driver = STR("d"), .pool = STR("")};
	struct cluster_stats stats;
	struct fixture *f = *state;
	struct error err;

	apply_classes(f);
	apply_slice(f, "s0", h100, "n");
	apply_waiting(f, GPU, 2);
	assert_int_equal(cluster_apply_claim(f->cluster, &claim, &err), -1);
	assert_string_equal(err.message, "ResourceClaim a/c: it asks for too much");
	assert_int_equal(cluster_apply_class(f->cluster, &class, &err), -1);
	assert_int_equal(cluster_apply_slice(f->cluster, &slice, &err), -1);
	assert_used(f, 160 * GIB, 0, 0);
	cluster_stats(f->cluster, &stats);
	assert_int_equal(stats.objects[CLUSTER_CLAIMS], 1);
	assert_int_equal(stats.objects[CLUSTER_SLICES], 1);
	assert_int_equal(stats.objects[CLUSTER_CLASSES], 2);
	assert_int_equal(stats.unreadable[CLUSTER_CLAIMS], 1);
	assert_int_equal(stats.unreadable[CLUSTER_SLICES], 1);
	assert_int_equal(stats.unreadable[CLUSTER_CLASSES], 1);
	assert_true(stats.bytes[CLUSTER_SLICES] > 0);
}

static void nothing_is_left_behind(void **state)
{
	struct fixture *f = *state;
	uint32_t namespace;

	apply_classes(f);
	apply_slice(f, "s0", h100, "n");
	apply_slice(f, "s1", mig, "m");
	apply_allocated(f, device_of("n", "gpu-0", GPU));
	apply_pod(f, ROW, "c", POD_RUNNING, "uid-p");
	cluster_delete(f->cluster, CLUSTER_PODS, STR("a"), STR("p"));
	cluster_delete(f->cluster, CLUSTER_CLASSES, STR_NONE, STR(GPU));
	cluster_delete(f->cluster, CLUSTER_SLICES, STR_NONE, STR("s0"));
	cluster_delete(f->cluster, CLUSTER_CLAIMS, STR("a"), STR("c"));
	cluster_delete(f->cluster, CLUSTER_SLICES, STR_NONE, STR("s1"));
	cluster_delete(f->cluster, CLUSTER_CLASSES, STR_NONE, STR("mig.nvidia.com"));
	while (cluster_take_dirty(f->cluster, &namespace) ||
	       cluster_take_node(f->cluster, &namespace))
		;
	assert_int_equal(f->cluster->dra.device_kinds.count, 0);
	assert_int_equal(f->cluster->dra.pools.count, 0);
	assert_int_equal(f->cluster->dra.devices.count, 0);
	assert_int_equal(f->cluster->dra.results.count + f->cluster->dra.asks.count, 0);
	assert_int_equal(f->cluster->kinds.count, 0);
	assert_int_equal(f->cluster->nodes.count + f->cluster->namespaces.count, 0);
	assert_int_equal(intern_count(f->cluster->intern), 0);
}

#define test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(each_class_has_a_row_for_each_product),
		test(rows_of_an_extended_resource_are_those_of_plugins_too),
		test(a_pool_counts_when_it_is_complete),
		test(a_shared_device_may_be_cut_small),
		test(a_replace_drops_what_is_gone),
		test(a_claim_that_waits_costs_the_dearest_of_its_class),
		test(the_first_available_costs_the_dearest_choice),
		test(an_allocated_claim_costs_what_it_got),
		test(a_part_of_a_shared_device_costs_a_part),
		test(an_admin_s_access_costs_nothing),
		test(other_devices_than_gpus_cost_nothing),
		test(a_class_of_gpus_is_never_free),
		test(a_device_that_does_not_tell_costs_the_most),
		test(a_pod_on_the_node_costs_the_dearest_there),
		test(the_scheduler_s_claim_is_charged_with_its_pod),
		test(a_claim_is_no_other_s_for_what_it_says_of_itself),
		test(what_changes_nothing_marks_nothing),
		test(an_older_object_is_ignored),
		test(what_is_refused_stays_as_it_was),
		test(nothing_is_left_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
