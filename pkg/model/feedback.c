/* SPDX-License-Identifier: Apache-2.0 */
/* Texts and comparisons of model/feedback.h. */
#include "model/feedback.h"

#include <stdio.h>

static const struct {
	const char *text, *words;
	unsigned family;
} signals_of[FEEDBACK_SIGNAL_COUNT] = {
#define X(name, text, words, family) [FEEDBACK_##name] = {text, words, family},
	FEEDBACK_SIGNALS(X)
#undef X
};

const char *feedback_signal_text(enum feedback_signal signal)
{
	return signals_of[signal].text;
}

int feedback_families(uint32_t signals)
{
	uint32_t families = 0;
	int n = 0;

	for (unsigned i = 0; i < FEEDBACK_SIGNAL_COUNT; i++)
		if (signals & FEEDBACK_BIT(i))
			families |= 1U << signals_of[i].family;
	for (; families; families &= families - 1)
		n++;
	return n;
}

uint32_t isolation_asks(const struct isolation_spec *spec)
{
	uint32_t asked = FEEDBACK_BIT(FEEDBACK_SIGNAL_COUNT) - 1;

	if (spec->memory_overshoot == AMOUNT_NONE)
		asked &= ~FEEDBACK_BIT(FEEDBACK_MEMORY);
	if (spec->utilisation == AMOUNT_NONE)
		asked &= ~FEEDBACK_BIT(FEEDBACK_UTILISATION);
	if (spec->pcie == AMOUNT_NONE)
		asked &= ~FEEDBACK_BIT(FEEDBACK_PCIE);
	return asked;
}

const char *feedback_mode_text(enum feedback_mode mode)
{
	static const char *const texts[] = {
#define X(name, text) [FEEDBACK_##name] = text,
		FEEDBACK_MODES(X)
#undef X
	};

	return texts[mode];
}

const char *throttle_step_text(enum throttle_step step)
{
	static const char *const texts[] = {
#define X(name, text) [THROTTLE_##name] = text,
		THROTTLE_STEPS(X)
#undef X
	};

	return texts[step];
}

int64_t throttle_part(int64_t amount, int64_t percent)
{
	return amount / 100 * percent + amount % 100 * percent / 100;
}

bool throttle_equal(const struct throttle *a, const struct throttle *b)
{
	return a->step == b->step && a->percent == b->percent && a->signals == b->signals &&
	       a->since_us == b->since_us && a->until_us == b->until_us && a->futile == b->futile;
}

/* All of them together fit. */
void throttle_cause(uint32_t signals, char text[THROTTLE_CAUSE_SIZE])
{
	const char *before = "";
	size_t len = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < FEEDBACK_SIGNAL_COUNT; i++) {
		uint32_t rest;
		int n;

		if (!(signals & FEEDBACK_BIT(i)))
			continue;
		n = snprintf(text + len, THROTTLE_CAUSE_SIZE - len, "%s%s", before,
			     signals_of[i].words);
		if (n < 0 || (size_t)n >= THROTTLE_CAUSE_SIZE - len)
			return;
		len += (size_t)n;
		rest = signals >> (i + 1);
		before = rest & (rest - 1) ? ", " : " and ";
	}
}
