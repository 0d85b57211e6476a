/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small objects of a namespace. The order of fields is that of the functions below; writer and
 * reader of each stand together.
 */
#include "cluster/pack/pack.h"

#include "cluster/pack/pack_io.h"

/* --- GpuMemoryQuota */

static void put_products(struct buf *buf, const struct product_cap *products, size_t n)
{
	pack_put_int(buf, (int64_t)n);
	for (size_t i = 0; i < n; i++) {
		pack_put_str(buf, products[i].product);
		pack_put_int(buf, products[i].gpu_memory);
		pack_put_int(buf, products[i].gpus);
	}
}

static const struct product_cap *get_products(struct pack_reader *reader, size_t *ret_len)
{
	size_t n = (size_t)pack_get_int(reader);
	struct product_cap *products = pack_get_memory(reader, n, sizeof(*products));

	for (size_t i = 0; i < n; i++) {
		struct product_cap product = {.product = pack_get_str(reader)};

		product.gpu_memory = pack_get_int(reader);
		product.gpus = pack_get_int(reader);
		if (products)
			products[i] = product;
	}
	*ret_len = n;
	return products;
}

static void put_spec(struct buf *buf, const struct quota_spec *spec)
{
	pack_put_int(buf, spec->gpu_memory);
	pack_put_int(buf, spec->gpus);
	pack_put_int(buf, spec->pod_gpu_memory);
	pack_put_int(buf, spec->pod_gpus);
	pack_put_amounts(buf, spec->caps, spec->n_caps);
	pack_put_amounts(buf, spec->defaults, spec->n_defaults);
	put_products(buf, spec->products, spec->n_products);
	pack_put_int(buf, spec->borrow_limit);
	pack_put_int(buf, (int64_t)spec->on_shrink);
	pack_put_int(buf, spec->shrink_deadline_us);
	pack_put_int(buf, spec->release_terminal);
	pack_put_int(buf, spec->terminal_timeout_us);
	pack_put_int(buf, spec->dry_run);
}

static void get_spec(struct pack_reader *reader, struct quota_spec *spec)
{
	spec->gpu_memory = pack_get_int(reader);
	spec->gpus = pack_get_int(reader);
	spec->pod_gpu_memory = pack_get_int(reader);
	spec->pod_gpus = pack_get_int(reader);
	spec->caps = pack_get_amounts(reader, &spec->n_caps);
	spec->defaults = pack_get_amounts(reader, &spec->n_defaults);
	spec->products = get_products(reader, &spec->n_products);
	spec->borrow_limit = pack_get_int(reader);
	spec->on_shrink = (enum shrink_policy)pack_get_int(reader);
	spec->shrink_deadline_us = pack_get_int(reader);
	spec->release_terminal = pack_get_int(reader) != 0;
	spec->terminal_timeout_us = pack_get_int(reader);
	spec->dry_run = pack_get_int(reader) != 0;
}

static void put_rows(struct buf *buf, const struct quota_row *rows, size_t n)
{
	pack_put_int(buf, (int64_t)n);
	for (size_t i = 0; i < n; i++) {
		pack_put_str(buf, rows[i].resource);
		pack_put_str(buf, rows[i].product);
		pack_put_int(buf, rows[i].unit_memory);
		pack_put_int(buf, rows[i].used);
		pack_put_int(buf, rows[i].hard);
		pack_put_int(buf, (int64_t)rows[i].sharing);
	}
}

static const struct quota_row *get_rows(struct pack_reader *reader, size_t *ret_len)
{
	size_t n = (size_t)pack_get_int(reader);
	struct quota_row *rows = pack_get_memory(reader, n, sizeof(*rows));

	for (size_t i = 0; i < n; i++) {
		struct quota_row row = {.resource = pack_get_str(reader)};

		row.product = pack_get_str(reader);
		row.unit_memory = pack_get_int(reader);
		row.used = pack_get_int(reader);
		row.hard = pack_get_int(reader);
		row.sharing = (enum device_sharing)pack_get_int(reader);
		if (rows)
			rows[i] = row;
	}
	*ret_len = n;
	return rows;
}

static void put_classes(struct buf *buf, const struct quota_classes *classes)
{
	pack_put_int(buf, (int64_t)classes->n);
	for (size_t i = 0; i < classes->n; i++) {
		pack_put_str(buf, classes->list[i].name);
		pack_put_str(buf, classes->list[i].resource);
	}
}

static void get_classes(struct pack_reader *reader, struct quota_classes *classes)
{
	size_t n = (size_t)pack_get_int(reader);
	struct quota_class *list = pack_get_memory(reader, n, sizeof(*list));

	for (size_t i = 0; i < n; i++) {
		struct quota_class class = {.name = pack_get_str(reader)};

		class.resource = pack_get_str(reader);
		if (list)
			list[i] = class;
	}
	*classes = (struct quota_classes){.list = list, .n = n};
}

static void put_dry_run(struct buf *buf, const struct dry_run_status *status)
{
	pack_put_int(buf, status->since_us);
	pack_put_int(buf, status->through_us);
	pack_put_int(buf, status->refused);
	pack_put_int(buf, (int64_t)status->n_rows);
	for (size_t i = 0; i < status->n_rows; i++) {
		pack_put_str(buf, status->rows[i].kind);
		pack_put_str(buf, status->rows[i].name);
		pack_put_int(buf, status->rows[i].pods);
		pack_put_int(buf, status->rows[i].gpu_memory);
	}
}

static void get_dry_run(struct pack_reader *reader, struct dry_run_status *status)
{
	struct dry_run_row *rows;

	status->since_us = pack_get_int(reader);
	status->through_us = pack_get_int(reader);
	status->refused = pack_get_int(reader);
	status->n_rows = (size_t)pack_get_int(reader);
	rows = pack_get_memory(reader, status->n_rows, sizeof(*rows));
	for (size_t i = 0; i < status->n_rows; i++) {
		struct dry_run_row row = {.kind = pack_get_str(reader)};

		row.name = pack_get_str(reader);
		row.pods = pack_get_int(reader);
		row.gpu_memory = pack_get_int(reader);
		if (rows)
			rows[i] = row;
	}
	status->rows = rows;
}

/* The integers of a status, in order. */
static size_t status_integers(struct quota_status *status, int64_t **ret_integers)
{
	size_t n = 0;

	ret_integers[n++] = &status->observed_generation;
	ret_integers[n++] = &status->effective;
	ret_integers[n++] = &status->used;
	ret_integers[n++] = &status->lent;
	ret_integers[n++] = &status->borrowed;
	ret_integers[n++] = &status->live;
	ret_integers[n++] = &status->gpus_used;
	ret_integers[n++] = &status->used_percent;
	ret_integers[n++] = &status->pods;
	ret_integers[n++] = &status->granted;
	ret_integers[n++] = &status->released;
	ret_integers[n++] = &status->released_pods;
	ret_integers[n++] = &status->granted_gpus;
	ret_integers[n++] = &status->effective_gpus;
	return n;
}

#define STATUS_INTEGERS 14

static void put_status(struct buf *buf, const struct quota_status *facts)
{
	struct quota_status status = *facts;
	int64_t *integers[STATUS_INTEGERS];
	size_t n = status_integers(&status, integers);

	for (size_t i = 0; i < n; i++)
		pack_put_int(buf, *integers[i]);
	pack_put_str(buf, status.tenant);
	put_dry_run(buf, &status.dry_run);
	put_rows(buf, status.rows, status.n_rows);
	put_classes(buf, &status.classes);
	for (int i = 0; i < QUOTA_CONDITION_COUNT; i++)
		pack_put_condition(buf, &status.conditions[i]);
	pack_put_int(buf, status.unshown);
}

static void get_status(struct pack_reader *reader, struct quota_status *status)
{
	int64_t *integers[STATUS_INTEGERS];
	size_t n = status_integers(status, integers);

	for (size_t i = 0; i < n; i++)
		*integers[i] = pack_get_int(reader);
	status->tenant = pack_get_str(reader);
	get_dry_run(reader, &status->dry_run);
	status->rows = get_rows(reader, &status->n_rows);
	get_classes(reader, &status->classes);
	for (int i = 0; i < QUOTA_CONDITION_COUNT; i++)
		pack_get_condition(reader, &status->conditions[i]);
	status->unshown = pack_get_int(reader) != 0;
}

void pack_quota(const struct quota_facts *facts, struct buf *ret_bytes)
{
	pack_put_object(ret_bytes, &(struct pack_object){facts->uid, facts->created_us,
							 facts->generation, facts->terminating,
							 facts->invalid, facts->has_status});
	put_spec(ret_bytes, &facts->spec);
	if (facts->has_status)
		put_status(ret_bytes, &facts->status);
}

bool unpack_quota(struct str bytes, struct arena *arena, struct quota_facts *ret_facts)
{
	struct pack_reader reader = {bytes, arena, false};
	struct pack_object object = pack_get_object(&reader);

	*ret_facts = (struct quota_facts){
		.uid = object.uid,
		.created_us = object.created_us,
		.generation = object.generation,
		.terminating = object.terminating,
		.invalid = object.invalid,
		.has_status = object.has_status,
	};
	get_spec(&reader, &ret_facts->spec);
	if (ret_facts->has_status)
		get_status(&reader, &ret_facts->status);
	return !reader.full;
}

struct str unpack_uid(struct str bytes)
{
	struct pack_reader reader = {bytes, NULL, false};

	return pack_get_str(&reader);
}

/* --- ResourceQuota, LimitRange */

void pack_resource_quota(const struct resource_quota_facts *facts, struct buf *ret_bytes)
{
	pack_put_str(ret_bytes, facts->uid);
	pack_put_str(ret_bytes, facts->owner_uid);
	pack_put_amounts(ret_bytes, facts->hard, facts->n_hard);
	pack_put_amounts(ret_bytes, facts->status_hard, facts->n_status_hard);
	pack_put_int(ret_bytes, facts->other_keys);
	pack_put_int(ret_bytes, facts->scoped);
	pack_put_str(ret_bytes, facts->foreign_manager);
}

bool unpack_resource_quota(struct str bytes, struct arena *arena,
			   struct resource_quota_facts *ret_facts)
{
	struct pack_reader reader = {bytes, arena, false};

	*ret_facts = (struct resource_quota_facts){.uid = pack_get_str(&reader)};
	ret_facts->owner_uid = pack_get_str(&reader);
	ret_facts->hard = pack_get_amounts(&reader, &ret_facts->n_hard);
	ret_facts->status_hard = pack_get_amounts(&reader, &ret_facts->n_status_hard);
	ret_facts->other_keys = pack_get_int(&reader) != 0;
	ret_facts->scoped = pack_get_int(&reader) != 0;
	ret_facts->foreign_manager = pack_get_str(&reader);
	return !reader.full;
}

void pack_limit_range(const struct limit_range_facts *facts, struct buf *ret_bytes)
{
	pack_put_str(ret_bytes, facts->uid);
	pack_put_str(ret_bytes, facts->owner_uid);
	pack_put_amounts(ret_bytes, facts->defaults, facts->n_defaults);
	pack_put_int(ret_bytes, facts->other_limits);
	pack_put_str(ret_bytes, facts->foreign_manager);
}

bool unpack_limit_range(struct str bytes, struct arena *arena, struct limit_range_facts *ret_facts)
{
	struct pack_reader reader = {bytes, arena, false};

	*ret_facts = (struct limit_range_facts){.uid = pack_get_str(&reader)};
	ret_facts->owner_uid = pack_get_str(&reader);
	ret_facts->defaults = pack_get_amounts(&reader, &ret_facts->n_defaults);
	ret_facts->other_limits = pack_get_int(&reader) != 0;
	ret_facts->foreign_manager = pack_get_str(&reader);
	return !reader.full;
}
