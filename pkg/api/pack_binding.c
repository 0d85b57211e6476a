/* SPDX-License-Identifier: Apache-2.0 */
/* Policy bindings as api_body_binding() writes them, and as others change them. */
#include "api/binding.h"
#include "api/pack.h"
#include "api/pack_selector.h"
#include "api/type.h"
#include "base/macros.h"

static bool has_label(const struct wire_meta *meta, struct str key, struct str wanted)
{
	struct str value;

	return wire_map_get(&meta->labels, key, &value) && str_equal(value, wanted);
}

/* One of Deny and Warn, and nothing else. */
static bool read_action(const struct wire_list *actions, bool *ret_denies)
{
	const struct str *action = actions->items;

	if (actions->len != 1)
		return false;
	*ret_denies = str_equal(*action, STR(BINDING_DENIES));
	return *ret_denies || str_equal(*action, STR(BINDING_WARNS));
}

static bool is_plain_param(const struct wire_param_ref *param)
{
	return str_empty(param->namespace) && !wire_has(param, WIRE_PARAM_SELECTOR) &&
	       str_equal(param->not_found, STR(BINDING_NOT_FOUND));
}

/* The API server fills in the policy that we leave out. */
static bool is_plain_match(const struct wire_binding_match *match)
{
	return match->rules.len == 0 && match->excluded.len == 0 &&
	       (str_empty(match->policy) || str_equal(match->policy, STR("Equivalent")));
}

static int read_selector(const struct wire_selector *wire, const struct pack *pack,
			 struct label_selector *selector, bool *other)
{
	enum pack_selector_verdict verdict;

	if (pack_selector(wire, pack, selector, &verdict) < 0)
		return -1;
	if (verdict != SELECTOR_GOOD)
		*other = true;
	return 0;
}

int api_pack_binding(const struct wire_binding *wire, struct arena *arena,
		     struct binding_facts *ret_facts, struct error *err)
{
	const struct wire_meta *meta = &wire->meta;
	const struct wire_binding_spec *spec = &wire->spec;
	const struct pack pack = {arena, err};
	struct binding_facts facts = {
		.name = meta->name,
		.uid = meta->uid,
		.resource_version = api_version_number(meta->resource_version),
		.owner_uid = pack_owner_uid(&meta->owners),
		.spec.policy = spec->policy,
		.spec.param = spec->param.name,
	};

	facts.other = !read_action(&spec->actions, &facts.spec.denies) ||
		      !is_plain_param(&spec->param) || !is_plain_match(&spec->match) ||
		      !has_label(meta, STR(API_LABEL_TENANT), spec->param.name) ||
		      !has_label(meta, STR(BINDING_LABEL_NAME), STR(BINDING_LABEL_VALUE));
	if (pack_check_meta(meta, err) < 0 ||
	    read_selector(&spec->match.namespaces, &pack, &facts.spec.namespaces, &facts.other) <
		    0 ||
	    read_selector(&spec->match.objects, &pack, &facts.spec.objects, &facts.other) < 0)
		return pack_locate(err, "ValidatingAdmissionPolicyBinding", meta);
	*ret_facts = facts;
	return 0;
}
