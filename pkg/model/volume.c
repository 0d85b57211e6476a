/* SPDX-License-Identifier: Apache-2.0 */
/* Words about volumes, and the zones that their labels name. */
#include "model/volume.h"

#include <string.h>

#include "base/macros.h"

const char *volume_doubt_text(enum volume_doubt doubt)
{
	static const char *const texts[] = {
#define X(name, text) [VOLUME_DOUBT_##name] = (text),
		VOLUME_DOUBTS(X)
#undef X
	};

	return texts[doubt];
}

#define LABEL(text)                      \
	{                                \
		(text), sizeof(text) - 1 \
	}

const struct str volume_zone_labels[VOLUME_ZONE_LABELS] = {
	LABEL("failure-domain.beta.kubernetes.io/zone"),
	LABEL("failure-domain.beta.kubernetes.io/region"),
	LABEL("topology.kubernetes.io/zone"),
	LABEL("topology.kubernetes.io/region"),
};

bool volume_zone_label(struct str key, struct str *ret_ga)
{
	const size_t names = VOLUME_ZONE_LABELS / 2;

	for (size_t i = 0; i < VOLUME_ZONE_LABELS; i++)
		if (str_equal(key, volume_zone_labels[i])) {
			*ret_ga = volume_zone_labels[names + i % names];
			return true;
		}
	return false;
}

/* Takes the first name off, without the blanks around it. */
static struct str take_zone(struct str *rest, bool *ret_last)
{
	struct str zone = *rest;

	*ret_last = true;
	for (size_t i = 0; i + 1 < rest->len; i++)
		if (rest->data[i] == '_' && rest->data[i + 1] == '_') {
			zone.len = i;
			*rest = (struct str){rest->data + i + 2, rest->len - i - 2};
			*ret_last = false;
			break;
		}
	while (zone.len > 0 && *zone.data == ' ')
		zone = (struct str){zone.data + 1, zone.len - 1};
	while (zone.len > 0 && zone.data[zone.len - 1] == ' ')
		zone.len--;
	return zone;
}

/* k8s.io/cloud-provider/volume/helpers, LabelZonesToSet: with an empty name among them it is not a
 * list of zones at all, and VolumeZone passes it over. */
bool volume_zones_have(struct str zones, struct str zone)
{
	bool last = false, found = false;

	while (!last) {
		struct str one = take_zone(&zones, &last);

		if (str_empty(one))
			return true;
		found |= str_equal(one, zone);
	}
	return found;
}
