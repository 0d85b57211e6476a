/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resource names: how they are written, and those of the vendors. Of these there is one table,
 * matched from the top: an exact name, or the start of one.
 */
#include "model/resource.h"

#include <stddef.h>
#include <string.h>

#include "base/macros.h"
#include "model/amount.h"

struct pattern {
	struct str text;
	bool prefix;
	enum resource_family family;
};

#define EXACT(text, family)                                        \
	{                                                          \
		{text, sizeof(text) - 1}, false, RESOURCE_##family \
	}
#define PREFIX(text, family)                                      \
	{                                                         \
		{text, sizeof(text) - 1}, true, RESOURCE_##family \
	}

static const struct pattern patterns[] = {
	EXACT("nvidia.com/gpu", CARD),
	EXACT("nvidia.com/gpu.shared", CARD),
	PREFIX("nvidia.com/mig-", MIG),
	EXACT("nvidia.com/gpumem", FRACTION),
	EXACT("nvidia.com/gpumem-percentage", FRACTION),
	EXACT("nvidia.com/gpucores", FRACTION),
	EXACT("amd.com/gpu", CARD),
	EXACT("gpu.intel.com/i915", CARD),
	EXACT("gpu.intel.com/xe", CARD),
	PREFIX("volcano.sh/vgpu-", FRACTION),
	PREFIX("volcano.sh/gpu-", FRACTION),
	PREFIX("koordinator.sh/gpu", FRACTION),
	PREFIX("aliyun.com/gpu-", FRACTION),
	EXACT("kai.scheduler/gpu-memory", FRACTION),
	EXACT("kai.scheduler/gpu-fraction", FRACTION),
};

#define CLASS_PREFIX "deviceclass.resource.kubernetes.io/"

/*
 * "amd.com/cpx_nps4": compute partition and memory partition. A card in one part (spx) is a card.
 */
static enum resource_family amd_partition(struct str name)
{
	const struct str vendor = STR("amd.com/");
	struct str compute, memory;

	if (!str_starts_with(name, vendor))
		return RESOURCE_NOT_GPU;
	if (!str_split(str_skip(name, vendor.len), '_', &compute, &memory) ||
	    !str_starts_with(memory, STR("nps")))
		return RESOURCE_NOT_GPU;
	if (compute.len != 3 || !str_ends_with(compute, STR("px")))
		return RESOURCE_NOT_GPU;
	return compute.data[0] == 's' ? RESOURCE_CARD : RESOURCE_MIG;
}

enum resource_family resource_family(struct str name)
{
	struct str class;

	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		const struct pattern *p = &patterns[i];

		if (p->prefix ? str_starts_with(name, p->text) : str_equal(name, p->text))
			return p->family;
	}
	if (resource_device_class(name, &class))
		return RESOURCE_DEVICE_CLASS;
	return amd_partition(name);
}

int64_t resource_parts_of_card(struct str name)
{
	static const struct {
		struct str name;
		int64_t parts;
	} cut[] = {
		{{"nvidia.com/gpumem-percentage", 28}, 100},
		{{"volcano.sh/vgpu-memory-percentage", 33}, 100},
		{{"koordinator.sh/gpu-memory-ratio", 31}, 100},
		{{"kai.scheduler/gpu-fraction", 26}, 1000},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cut); i++)
		if (str_equal(name, cut[i].name))
			return cut[i].parts;
	return 0;
}

bool resource_device_class(struct str name, struct str *ret_class)
{
	const struct str suffix = STR(RESOURCE_CLASS_SUFFIX);
	const struct str prefix = STR(CLASS_PREFIX);

	if (name.len > suffix.len && str_ends_with(name, suffix))
		*ret_class = (struct str){name.data, name.len - suffix.len};
	else if (name.len > prefix.len && str_starts_with(name, prefix))
		*ret_class = str_skip(name, prefix.len);
	else
		return false;
	return true;
}

static bool is_lower(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_letter(char c)
{
	return is_lower(c) || (c >= 'A' && c <= 'Z');
}

/* Words of @inside, joined by single characters of @joints or, with @loose, by any number of them.
 */
static bool is_name(struct str text, size_t most, bool (*inside)(char), const char *joints,
		    bool loose)
{
	if (str_empty(text) || text.len > most || !inside(text.data[0]) ||
	    !inside(text.data[text.len - 1]))
		return false;
	for (size_t i = 1; i < text.len; i++) {
		char c = text.data[i];

		if (inside(c))
			continue;
		if (c == '\0' || !strchr(joints, c))
			return false;
		if (!loose && (c == '.' || text.data[i - 1] == '.') && !inside(text.data[i - 1]))
			return false;
	}
	return true;
}

/* The longest domain that "requests." still fits before, as a ResourceQuota needs it. */
#define DOMAIN_MOST 244
#define NAME_MOST   63

bool resource_is_extended(struct str resource)
{
	struct str domain, name;

	return str_split(resource, '/', &domain, &name) &&
	       !str_starts_with(domain, STR("requests.")) &&
	       !str_ends_with(domain, STR("kubernetes.io")) &&
	       is_name(domain, DOMAIN_MOST, is_lower, "-.", false) &&
	       is_name(name, NAME_MOST, is_letter, "-_.", true);
}

/* --- keys of a ResourceQuota */

enum resource_key_kind resource_quota_key_kind(struct str name)
{
	/* The second form of a DeviceClass is counted like any other extended resource. */
	const struct str implicit = STR(CLASS_PREFIX);
	struct str class;

	if (str_equal(name, STR(RESOURCE_HAMI_LIMIT)))
		return RESOURCE_KEY_BARE;
	if (str_starts_with(name, STR("kai.scheduler/")))
		return RESOURCE_KEY_NONE;
	if (resource_device_class(name, &class))
		return str_starts_with(name, implicit) ? RESOURCE_KEY_REQUESTS : RESOURCE_KEY_BARE;
	return resource_is_extended(name) ? RESOURCE_KEY_REQUESTS : RESOURCE_KEY_NONE;
}

bool resource_of_quota_key(struct str key, struct str *ret_name)
{
	const struct str requests = STR("requests.");
	enum resource_key_kind kind = RESOURCE_KEY_BARE;
	struct str name = key;

	if (str_starts_with(key, requests)) {
		kind = RESOURCE_KEY_REQUESTS;
		name = str_skip(key, requests.len);
	}
	if (resource_quota_key_kind(name) != kind)
		return false;
	*ret_name = name;
	return true;
}

/* --- what MIG names claim */

/* The decimal number that @s starts with, cut off; -1 where there is none or it is absurd. */
static int64_t take_number(struct str *s)
{
	int64_t value = 0;
	size_t i = 0;

	for (; i < s->len && s->data[i] >= '0' && s->data[i] <= '9'; i++) {
		value = value * 10 + (s->data[i] - '0');
		if (value > 100000)
			return -1;
	}
	if (i == 0)
		return -1;
	*s = str_skip(*s, i);
	return value;
}

/* nvidia.com/mig-<slices>g.<gigabytes>gb, then attributes that do not change the size. */
int64_t resource_memory_by_name(struct str name)
{
	const struct str prefix = STR("nvidia.com/mig-");
	int64_t gigabytes;

	if (!str_starts_with(name, prefix))
		return AMOUNT_UNKNOWN;
	name = str_skip(name, prefix.len);
	if (take_number(&name) < 0 || !str_starts_with(name, STR("g.")))
		return AMOUNT_UNKNOWN;
	name = str_skip(name, 2);
	gigabytes = take_number(&name);
	if (gigabytes <= 0 || !str_starts_with(name, STR("gb")))
		return AMOUNT_UNKNOWN;
	return gigabytes * GIB;
}
