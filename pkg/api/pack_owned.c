/* SPDX-License-Identifier: Apache-2.0 */
/* The objects that we own in a tenant's namespace: ResourceQuota and LimitRange. */
#include "api/pack.h"
#include "api/pack_common.h"
#include "base/macros.h"
#include "model/resource.h"

/*
 * Adds one amount. False for what we never write: one that cannot be read, or one too many. It must
 * not make the object unreadable: what is not seen is not put right.
 */
static bool set_amount(struct pack_amounts *amounts, struct str resource, struct str value)
{
	int64_t count;

	return pack_count(resource, value, &count, NULL) == 0 &&
	       pack_amounts_set(amounts, resource, count);
}

static int pack_hard(const struct wire_list *hard, const struct pack *pack,
		     struct pack_amounts *ret_amounts, bool *ret_others)
{
	size_t most = MIN(hard->len, (size_t)LIMIT_RESOURCE_NAMES);

	*ret_others = false;
	if (pack_amounts_init(ret_amounts, most, pack) < 0)
		return -1;
	wire_for_each(const struct wire_pair, pair, *hard) {
		struct str resource;

		if (!resource_of_quota_key(pair->key, &resource) ||
		    !set_amount(ret_amounts, resource, pair->value))
			*ret_others = true;
	}
	return 0;
}

int api_pack_resource_quota(const struct wire_resource_quota *wire, struct arena *arena,
			    struct resource_quota_facts *ret_facts, struct error *err)
{
	const struct wire_meta *meta = &wire->meta;
	struct pack pack = {arena, err};
	struct pack_amounts hard, status_hard;
	struct str manager;
	bool others, status_others;

	if (pack_check_meta(meta, err) < 0 ||
	    pack_hard(&wire->spec.hard, &pack, &hard, &others) < 0 ||
	    pack_hard(&wire->status.hard, &pack, &status_hard, &status_others) < 0 ||
	    pack_foreign_manager(&meta->managed_fields, &pack, &manager) < 0)
		return pack_locate(err, "ResourceQuota", meta);
	*ret_facts = (struct resource_quota_facts){
		.namespace = meta->namespace,
		.name = meta->name,
		.uid = meta->uid,
		.resource_version = api_version_number(meta->resource_version),
		.owner_uid = pack_owner_uid(&meta->owners),
		.hard = hard.rows,
		.n_hard = hard.len,
		.status_hard = status_hard.rows,
		.n_status_hard = status_hard.len,
		.other_keys = others,
		.scoped = wire->spec.scopes.len > 0 ||
			  wire_has(&wire->spec, WIRE_RESOURCE_QUOTA_SCOPE_SELECTOR),
		.foreign_manager = manager,
	};
	return 0;
}

static bool same_quantity(const struct wire_list *map, struct str key, struct str value)
{
	struct str other;

	return wire_map_get(map, key, &other) && str_equal(other, value);
}

/* The one Container entry: what it has as default and as default request alike. */
static int pack_defaults(const struct wire_limit_item *item, const struct pack *pack,
			 struct pack_amounts *amounts, bool *others)
{
	size_t most;

	if (item->max.len + item->min.len + item->ratio.len > 0 ||
	    item->defaults.len != item->default_requests.len)
		*others = true;
	most = MIN(item->defaults.len, (size_t)LIMIT_RESOURCE_NAMES);
	if (pack_amounts_init(amounts, most, pack) < 0)
		return -1;
	wire_for_each(const struct wire_pair, pair, item->defaults) {
		if (!resource_is_extended(pair->key) ||
		    !same_quantity(&item->default_requests, pair->key, pair->value) ||
		    !set_amount(amounts, pair->key, pair->value))
			*others = true;
	}
	return 0;
}

static int pack_limits(const struct wire_list *limits, const struct pack *pack,
		       struct limit_range_facts *facts)
{
	struct pack_amounts amounts = {0};
	bool seen = false;

	wire_for_each(const struct wire_limit_item, item, *limits) {
		if (seen || !str_equal(item->type, STR("Container"))) {
			facts->other_limits = true;
			continue;
		}
		seen = true;
		if (pack_defaults(item, pack, &amounts, &facts->other_limits) < 0)
			return error_wrap(pack->err, "default");
	}
	facts->defaults = amounts.rows;
	facts->n_defaults = amounts.len;
	return 0;
}

int api_pack_limit_range(const struct wire_limit_range *wire, struct arena *arena,
			 struct limit_range_facts *ret_facts, struct error *err)
{
	const struct wire_meta *meta = &wire->meta;
	struct pack pack = {arena, err};
	struct limit_range_facts facts = {
		.namespace = meta->namespace,
		.name = meta->name,
		.uid = meta->uid,
		.resource_version = api_version_number(meta->resource_version),
		.owner_uid = pack_owner_uid(&meta->owners),
	};

	if (pack_check_meta(meta, err) < 0 || pack_limits(&wire->spec.limits, &pack, &facts) < 0 ||
	    pack_foreign_manager(&meta->managed_fields, &pack, &facts.foreign_manager) < 0)
		return pack_locate(err, "LimitRange", meta);
	*ret_facts = facts;
	return 0;
}
