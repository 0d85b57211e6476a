/* SPDX-License-Identifier: Apache-2.0 */
/* What Prometheus answers, and what exporters' figures come of it: in their ranges, and whose. */
#include <stdlib.h>

#include "base/limits.h"
#include "prom/device_series.h"

static void check(const struct device_series_kind *kind, const struct device_figure *figure)
{
	bool of_card = kind->scope == FIGURE_OF_CARD;

	if (figure->value < 0 || figure->age_us < 0 || figure->age_us > FIGURE_STALE_US ||
	    figure->cards < 1 || figure->cards > LIMIT_LAYOUT_GPUS)
		abort();
	if (kind->quantity == FIGURE_SM && figure->value > (int64_t)figure->cards * 100)
		abort();
	if (str_empty(figure->card) == of_card || str_empty(figure->pod) != of_card ||
	    str_empty(figure->namespace) != of_card)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = {(const char *)data, size};
	struct arena arena CLEANUP(arena_clear) = {0};
	struct prom_answer answer;
	struct device_figures figures;

	arena_init(&arena, LIMIT_DECODE_ARENA);
	if (prom_read_answer(text, &arena, &answer, NULL) < 0)
		return 0;
	if (answer.n_samples > LIMIT_PROM_SERIES)
		abort();
	for (enum device_series i = 0; i < DEVICE_SERIES_COUNT; i++) {
		struct device_series_kind kind = device_series_kind(i);

		if (prom_device_series_read(i, &answer, &arena, &figures, NULL) < 0)
			return 0;
		if (figures.n > answer.n_samples)
			abort();
		for (size_t k = 0; k < figures.n; k++)
			check(&kind, &figures.list[k]);
	}
	return 0;
}
