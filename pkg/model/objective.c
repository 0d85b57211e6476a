/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of objectives, and values as people read them. */
#include "model/objective.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MILLION 1000000

bool objective_spec_equal(const struct objective_spec *a, const struct objective_spec *b)
{
	return str_equal(a->name, b->name) && a->preset == b->preset &&
	       a->percentile == b->percentile && str_equal(a->query, b->query) &&
	       a->threshold == b->threshold && a->direction == b->direction &&
	       a->for_us == b->for_us;
}

bool objective_spec_plausible(const struct objective_spec *spec)
{
	return spec->threshold <= objective_preset_most_s(spec->preset) * MILLION;
}

int64_t objective_round(int64_t millionths)
{
	uint64_t magnitude, unit = 1;

	if (millionths == OBJECTIVE_NO_VALUE)
		return millionths;
	magnitude = millionths < 0 ? (uint64_t)-millionths : (uint64_t)millionths;
	while (magnitude / unit >= 1000)
		unit *= 10;
	/* Towards zero, which cannot overflow; half a unit first, where there is room for it. */
	if (magnitude <= (uint64_t)INT64_MAX - unit / 2)
		magnitude += unit / 2;
	magnitude -= magnitude % unit;
	return millionths < 0 ? -(int64_t)magnitude : (int64_t)magnitude;
}

struct objective_text objective_value_text(int64_t millionths)
{
	struct objective_text text;
	uint64_t magnitude;
	size_t len;

	if (millionths == OBJECTIVE_NO_VALUE) {
		snprintf(text.text, sizeof(text.text), "unknown");
		return text;
	}
	magnitude = millionths < 0 ? (uint64_t)-millionths : (uint64_t)millionths;
	snprintf(text.text, sizeof(text.text), "%s%" PRIu64 ".%06" PRIu64,
		 millionths < 0 ? "-" : "", magnitude / MILLION, magnitude % MILLION);
	len = strlen(text.text);
	while (text.text[len - 1] == '0')
		text.text[--len] = '\0';
	if (text.text[len - 1] == '.')
		text.text[len - 1] = '\0';
	return text;
}

const char *objective_direction_text(enum objective_direction direction)
{
	static const char *const texts[] = {
#define X(name, text) text,
		OBJECTIVE_DIRECTIONS(X)
#undef X
	};

	return texts[direction];
}

const char *objective_state_text(enum objective_state state)
{
	static const char *const texts[] = {
#define X(name, text) text,
		OBJECTIVE_STATES(X)
#undef X
	};

	return texts[state];
}

const char *objective_reason_text(enum objective_reason reason)
{
	static const char *const texts[] = {
#define X(name, text, sentence) text,
		OBJECTIVE_REASONS(X)
#undef X
	};

	return texts[reason];
}

const char *objective_reason_sentence(enum objective_reason reason)
{
	static const char *const sentences[] = {
#define X(name, text, sentence) sentence,
		OBJECTIVE_REASONS(X)
#undef X
	};

	return sentences[reason];
}
