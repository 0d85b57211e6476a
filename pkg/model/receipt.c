/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of model/receipt.h and model/protection.h, and which times of a receipt are believed. */
#include "model/receipt.h"

#include "base/checked.h"
#include "base/macros.h"
#include "model/protection.h"

const char *receipt_cause_text(enum receipt_cause cause)
{
	static const char *const texts[] = {
#define X(name, text) [RECEIPT_##name] = text,
		RECEIPT_CAUSES(X)
#undef X
	};

	return texts[cause];
}

const char *receipt_outcome_text(enum receipt_outcome outcome)
{
	static const char *const texts[] = {
#define X(name, text) [RECEIPT_##name] = text,
		RECEIPT_OUTCOMES(X)
#undef X
	};

	return texts[outcome];
}

const char *protection_mode_text(enum protection_mode mode)
{
	static const char *const texts[] = {
#define X(name, text) [PROTECTION_##name] = text,
		PROTECTION_MODES(X)
#undef X
	};

	return texts[mode];
}

/* --- times */

bool receipt_is_ahead(int64_t at_us, int64_t now_real_us)
{
	return at_us > saturating_add(now_real_us, RECEIPT_AHEAD_US);
}

int64_t receipt_held_until(const struct receipt *receipt)
{
	return MIN(receipt->held_until_us, saturating_add(receipt->at_us, RECEIPT_OPEN_MOST_US));
}

struct receipt receipt_bounded(const struct receipt *receipt, int64_t now_real_us)
{
	struct receipt bounded = *receipt;

	bounded.held_until_us = receipt_held_until(receipt);
	if (receipt_is_ahead(receipt->settled_us, now_real_us))
		bounded.settled_us = receipt->at_us;
	return bounded;
}
