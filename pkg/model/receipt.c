/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of model/receipt.h and model/protection.h. */
#include "model/receipt.h"

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
