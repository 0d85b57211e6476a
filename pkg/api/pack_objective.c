/* SPDX-License-Identifier: Apache-2.0 */
/* spec.objectives[] and status.objectives[] of a TenantQoS. */
#include "api/pack_objective.h"

#include <ctype.h>
#include <stdlib.h>

#include "api/quantity.h"
#include "base/clock.h"

struct reading {
	struct spec_check *check;
	const struct wire_objective *wire;
	struct objective_spec spec;
};

static int check_name(struct reading *r)
{
	struct str name = r->wire->name;

	if (!str_empty(name) && name.len <= LIMIT_OBJECTIVE_NAME)
		return 0;
	return spec_complain(r->check,
			     "spec.objectives has a name of %zu characters; it has 1 to %d",
			     name.len, LIMIT_OBJECTIVE_NAME);
}

static int check_source(struct reading *r)
{
	static const char *const presets[] = {
#define X(name, text, mean, most) text,
		OBJECTIVE_PRESETS(X)
#undef X
			NULL,
	};
	const struct wire_objective *wire = r->wire;
	size_t choice = 0;

	if (str_empty(wire->preset) == str_empty(wire->query))
		return spec_complain(r->check,
				     "spec.objectives: %.*s must have exactly one of "
				     "preset and query",
				     STR_ARGS(wire->name));
	if (wire->query.len > LIMIT_QUERY)
		return spec_complain(r->check,
				     "spec.objectives: the query of %.*s has more than %d "
				     "characters",
				     STR_ARGS(wire->name), LIMIT_QUERY);
	r->spec.query = wire->query;
	if (str_empty(wire->preset))
		return 0;
	if (spec_choice(r->check, "objectives.preset", wire->preset, presets, &choice) < 0)
		return -1;
	r->spec.preset = (enum objective_preset)(PRESET_NONE + 1 + (int)choice);
	return 0;
}

static int check_percentile(struct reading *r)
{
	bool has = wire_has(r->wire, WIRE_OBJECTIVE_PERCENTILE);
	int64_t percentile = has ? r->wire->percentile : OBJECTIVE_PERCENTILE;
	bool none = r->spec.preset == PRESET_NONE || objective_preset_is_mean(r->spec.preset);

	if (none && !has)
		return 0;
	if (none)
		return spec_complain(r->check,
				     "spec.objectives: %.*s has a percentile, and is no "
				     "preset that has percentiles",
				     STR_ARGS(r->spec.name));
	if (percentile != 50 && percentile != 90 && percentile != 95 && percentile != 99)
		return spec_complain(r->check,
				     "spec.objectives: the percentile of %.*s must be "
				     "50, 90, 95 or 99",
				     STR_ARGS(r->spec.name));
	r->spec.percentile = (int)percentile;
	return 0;
}

/* "200ms", "0.2s", "500us": without its last letter a quantity of seconds. */
static bool seconds_parse(struct str text, int64_t *ret_us)
{
	size_t digits = 0;

	if (text.len < 2 || text.data[text.len - 1] != 's')
		return false;
	text.len--;
	while (digits < text.len &&
	       (isdigit((unsigned char)text.data[digits]) || text.data[digits] == '.'))
		digits++;
	if (digits < text.len && text.data[digits] != 'm' && text.data[digits] != 'u')
		return false;
	return text.len - digits <= 1 && quantity_parse_millionths(text, ret_us);
}

static int check_threshold(struct reading *r)
{
	struct str text = r->wire->threshold;
	bool preset = r->spec.preset != PRESET_NONE;

	if ((quantity_parse_millionths(text, &r->spec.threshold) ||
	     (preset && seconds_parse(text, &r->spec.threshold))) &&
	    r->spec.threshold > 0 && r->spec.threshold / 1000000 <= OBJECTIVE_THRESHOLD_MOST)
		return 0;
	return spec_complain(r->check,
			     "spec.objectives: the threshold \"%.*s\" of %.*s must be a "
			     "number above 0, such as %s",
			     STR_ARGS(spec_shown(text)), STR_ARGS(r->spec.name),
			     preset ? "200ms or 0.2" : "200m or 0.2");
}

static int check_direction(struct reading *r)
{
#define X(name, text) text,
	static const char *const directions[] = {OBJECTIVE_DIRECTIONS(X) NULL};
#undef X
	size_t choice = OBJECTIVE_BELOW;

	if (spec_choice(r->check, "objectives.direction", r->wire->direction, directions, &choice) <
	    0)
		return -1;
	r->spec.direction = (enum objective_direction)choice;
	return 0;
}

/* "30s", "5m", "1h" */
static bool duration_parse(struct str text, int64_t *ret_us)
{
	int64_t unit, n;

	if (text.len < 2)
		return false;
	switch (text.data[text.len - 1]) {
	case 's':
		unit = USEC_PER_SEC;
		break;
	case 'm':
		unit = USEC_PER_MIN;
		break;
	case 'h':
		unit = 60 * USEC_PER_MIN;
		break;
	default:
		return false;
	}
	if (!str_to_int64((struct str){text.data, text.len - 1}, 1,
			  OBJECTIVE_FOR_MOST_US / USEC_PER_SEC, &n))
		return false;
	*ret_us = n * unit;
	return *ret_us >= OBJECTIVE_FOR_LEAST_US && *ret_us <= OBJECTIVE_FOR_MOST_US;
}

static int check_for(struct reading *r)
{
	struct str text = r->wire->for_text;

	r->spec.for_us = OBJECTIVE_FOR_US;
	if (str_empty(text) || duration_parse(text, &r->spec.for_us))
		return 0;
	return spec_complain(r->check,
			     "spec.objectives: for \"%.*s\" of %.*s must be between 5s "
			     "and 1h, such as 30s or 5m",
			     STR_ARGS(spec_shown(text)), STR_ARGS(r->spec.name));
}

static int read_objective(struct reading *r)
{
	static int (*const checks[])(struct reading *) = {
		check_name,      check_source,    check_percentile,
		check_threshold, check_direction, check_for,
	};

	r->spec.name = r->wire->name;
	for (size_t i = 0; i < ARRAY_SIZE(checks) && !r->check->invalid; i++)
		if (checks[i](r) < 0)
			return -1;
	return 0;
}

static int check_twice(struct spec_check *check, const struct objective_spec *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_equal(list[i].name, list[n].name))
			return spec_complain(check, "spec.objectives has %.*s twice",
					     STR_ARGS(list[n].name));
	return 0;
}

static int read_list(struct spec_check *check, const struct wire_list *list,
		     struct objective_spec *objectives)
{
	size_t n = 0;

	wire_for_each(const struct wire_objective, wire, *list) {
		struct reading r = {.check = check, .wire = wire};

		if (read_objective(&r) < 0)
			return -1;
		objectives[n] = r.spec;
		if (!check->invalid && check_twice(check, objectives, n) < 0)
			return -1;
		if (check->invalid)
			return 0;
		n++;
	}
	return 0;
}

static int read_pending(struct spec_check *check, const struct wire_tenant_spec *wire,
			struct tenant_spec *spec)
{
	const struct spec_option option = {
		"pendingSeconds",         wire_has(wire, WIRE_TENANT_PENDING),
		wire->pending_seconds,    1,
		OBJECTIVE_PENDING_MOST_S, USEC_PER_SEC,
		&spec->pending_us};

	spec->pending_us = AMOUNT_NONE;
	return spec_options(check, &option, 1);
}

int pack_objectives(struct spec_check *check, const struct wire_tenant_spec *wire,
		    struct tenant_spec *spec)
{
	size_t n = wire->objectives.len;
	struct objective_spec *objectives;

	if (read_pending(check, wire, spec) < 0)
		return -1;
	if (check->invalid || n == 0)
		return 0;
	if (n > LIMIT_OBJECTIVES)
		return spec_complain(check, "spec.objectives has more than %d objectives",
				     LIMIT_OBJECTIVES);
	objectives = arena_alloc(check->pack.arena, n * sizeof(*objectives));
	if (!objectives)
		return pack_no_memory(&check->pack);
	if (read_list(check, &wire->objectives, objectives) < 0)
		return -1;
	spec->objectives = objectives;
	spec->n_objectives = check->invalid ? 0 : n;
	return 0;
}

/* --- status */

static bool state_of(struct str text, enum objective_state *ret_state)
{
	for (int i = 0; i < OBJECTIVE_STATE_COUNT; i++) {
		*ret_state = (enum objective_state)i;
		if (str_equal(text, str_from(objective_state_text(*ret_state))))
			return true;
	}
	return false;
}

static bool reason_of(struct str text, enum objective_reason *ret_reason)
{
	for (int i = 0; i < OBJECTIVE_REASON_COUNT; i++) {
		*ret_reason = (enum objective_reason)i;
		if (str_equal(text, str_from(objective_reason_text(*ret_reason))))
			return true;
	}
	return false;
}

bool pack_objective_statuses(const struct wire_list *wire, struct arena *arena,
			     struct tenant_status *status)
{
	struct objective_status *objectives = NULL;
	size_t n = 0;

	if (wire->len > LIMIT_OBJECTIVES)
		return false;
	if (wire->len > 0)
		objectives = arena_alloc(arena, wire->len * sizeof(*objectives));
	wire_for_each(const struct wire_objective_status, one, *wire) {
		struct objective_status read = {one->name, OBJECTIVE_UNKNOWN,
						OBJECTIVE_REASON_ABSENT, OBJECTIVE_NO_VALUE,
						one->since_us};

		if (!objectives || str_empty(one->name) || one->name.len > LIMIT_OBJECTIVE_NAME ||
		    !state_of(one->state, &read.state) || !reason_of(one->reason, &read.reason))
			return false;
		if (wire_has(one, WIRE_OBJECTIVE_VALUE) &&
		    !quantity_parse_millionths(one->value, &read.value))
			return false;
		objectives[n++] = read;
	}
	status->objectives = objectives;
	status->n_objectives = n;
	return true;
}
