/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that are left out have the defaults of model/feedback.h, also where there is no spec. */
#include "api/pack_feedback.h"

#include "base/clock.h"

/* --- spec */

int pack_isolation(struct spec_check *check, const struct wire_isolation *wire,
		   struct isolation_spec *ret_spec)
{
	struct isolation_spec spec = ISOLATION_SPEC_DEFAULT;
	const struct spec_option options[] = {
		{"isolation.gpuUtilizationPercent", wire_has(wire, WIRE_ISOLATION_UTILISATION),
		 wire->utilisation, 1, 100, 1, &spec.utilisation},
		{"isolation.memoryOvershootPercent",
		 wire_has(wire, WIRE_ISOLATION_MEMORY_OVERSHOOT), wire->memory_overshoot, 0,
		 ISOLATION_MEMORY_OVERSHOOT_MOST, 1, &spec.memory_overshoot},
	};

	if (spec_options(check, options, ARRAY_SIZE(options)) < 0)
		return -1;
	if (!check->invalid && wire_has(wire, WIRE_ISOLATION_PCIE) &&
	    spec_memory(check, "isolation.pcieBytesPerSecond", wire->pcie, &spec.pcie) < 0)
		return -1;
	if (check->invalid)
		return 0;
	if (spec.pcie != AMOUNT_NONE && spec.pcie < ISOLATION_PCIE_LEAST)
		return spec_complain(check,
				     "spec.isolation.pcieBytesPerSecond %.*s is less than 1M a "
				     "second; write it with a unit, such as 8G",
				     STR_ARGS(spec_shown(wire->pcie)));
	*ret_spec = spec;
	return 0;
}

int pack_feedback(struct spec_check *check, const struct wire_feedback *wire,
		  struct feedback_spec *ret_spec)
{
#define X(name, text) text,
	static const char *const modes[] = {FEEDBACK_MODES(X) NULL};
#undef X
	struct feedback_spec spec = FEEDBACK_SPEC_DEFAULT;
	bool overridden = wire_has(wire, WIRE_FEEDBACK_OVERRIDE);
	const struct spec_option options[] = {
		{"feedback.decrease", wire_has(wire, WIRE_FEEDBACK_DECREASE), wire->decrease,
		 FEEDBACK_DECREASE_LEAST, FEEDBACK_DECREASE_MOST, 1, &spec.decrease},
		{"feedback.recoverPerMinute", wire_has(wire, WIRE_FEEDBACK_RECOVER), wire->recover,
		 1, THROTTLE_WHOLE, 1, &spec.recover},
		{"feedback.floorPercent", wire_has(wire, WIRE_FEEDBACK_FLOOR), wire->floor, 1,
		 THROTTLE_WHOLE, 1, &spec.floor},
		{"feedback.override.percent", overridden, wire->override.percent, 0, THROTTLE_WHOLE,
		 1, &spec.override},
	};
	size_t mode = FEEDBACK_OFF;

	if (spec_options(check, options, ARRAY_SIZE(options)) < 0)
		return -1;
	if (!check->invalid && overridden && !wire_has(&wire->override, WIRE_OVERRIDE_PERCENT))
		return spec_complain(check, "spec.feedback.override.percent is missing");
	if (check->invalid || spec_choice(check, "feedback.mode", wire->mode, modes, &mode) < 0)
		return check->invalid ? 0 : -1;
	spec.mode = (enum feedback_mode)mode;
	spec.evict_offender = wire->evict_offender;
	spec.reclaim_idle = wire->reclaim_idle;
	spec.override_until_us = wire->override.until_us;
	*ret_spec = spec;
	return 0;
}

/* --- status */

static bool read_step(struct str text, enum throttle_step *ret_step)
{
	for (int i = 0; i < THROTTLE_STEP_COUNT; i++)
		if (str_equal(text, str_from(throttle_step_text((enum throttle_step)i)))) {
			*ret_step = (enum throttle_step)i;
			return true;
		}
	return false;
}

/* One that this version does not know is passed over. */
static uint32_t read_signals(const struct wire_list *list)
{
	uint32_t signals = 0;

	wire_for_each(const struct str, text, *list) {
		for (unsigned i = 0; i < FEEDBACK_SIGNAL_COUNT; i++)
			if (str_equal(*text,
				      str_from(feedback_signal_text((enum feedback_signal)i))))
				signals |= FEEDBACK_BIT(i);
	}
	return signals;
}

struct throttle pack_throttle(const struct wire_throttle *wire)
{
	struct throttle throttle = {
		.percent = wire->percent,
		.signals = read_signals(&wire->signals),
		.since_us = wire->since_us,
		.until_us = wire->until_us,
		.futile = wire->futile,
	};

	if (!read_step(wire->step, &throttle.step) || throttle.step == THROTTLE_NONE ||
	    throttle.percent < 0 || throttle.percent > THROTTLE_WHOLE || throttle.since_us < 0 ||
	    throttle.until_us < 0 || throttle.futile < 0 || throttle.futile > THROTTLE_TRIES_MOST)
		return THROTTLE_NOTHING;
	return throttle;
}
