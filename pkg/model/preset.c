/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of each preset. */
#include "model/preset.h"

const char *objective_preset_text(enum objective_preset preset)
{
	static const char *const texts[] = {"",
#define X(name, text, mean, most) text,
					    OBJECTIVE_PRESETS(X)
#undef X
	};

	return texts[preset];
}

bool objective_preset_is_mean(enum objective_preset preset)
{
	static const bool means[] = {false,
#define X(name, text, mean, most) mean,
				     OBJECTIVE_PRESETS(X)
#undef X
	};

	return means[preset];
}

int64_t objective_preset_most_s(enum objective_preset preset)
{
	static const int64_t most[] = {INT64_MAX / 1000000,
#define X(name, text, mean, most) most,
				       OBJECTIVE_PRESETS(X)
#undef X
	};

	return most[preset];
}
