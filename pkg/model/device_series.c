/* SPDX-License-Identifier: Apache-2.0 */
/* What each of the series is. */
#include "model/device_series.h"

struct device_series_kind device_series_kind(enum device_series series)
{
	static const struct device_series_kind kinds[DEVICE_SERIES_COUNT] = {
		[SERIES_DCGM_MEMORY] = {EXPORTER_DCGM, FIGURE_MEMORY, FIGURE_OF_CARD},
		[SERIES_DCGM_SM] = {EXPORTER_DCGM, FIGURE_SM, FIGURE_OF_CARD},
		[SERIES_DCGM_PCIE] = {EXPORTER_DCGM, FIGURE_PCIE, FIGURE_OF_CARD},
		[SERIES_HAMI_OWN_MEMORY] = {EXPORTER_HAMI, FIGURE_MEMORY, FIGURE_OWN},
		[SERIES_HAMI_OWN_SM] = {EXPORTER_HAMI, FIGURE_SM, FIGURE_OWN},
		[SERIES_HAMI_MEMORY] = {EXPORTER_HAMI, FIGURE_MEMORY, FIGURE_OF_CARD},
		[SERIES_HAMI_SM] = {EXPORTER_HAMI, FIGURE_SM, FIGURE_OF_CARD},
		[SERIES_AMD_MEMORY] = {EXPORTER_AMD, FIGURE_MEMORY, FIGURE_OF_CARDS},
		[SERIES_AMD_SM] = {EXPORTER_AMD, FIGURE_SM, FIGURE_OF_CARDS},
	};

	return kinds[series];
}

const char *exporter_text(enum exporter exporter)
{
	static const char *const texts[] = {
#define X(name, text) [EXPORTER_##name] = text,
		EXPORTERS(X)
#undef X
	};

	return texts[exporter];
}

const char *figure_quantity_text(enum figure_quantity quantity)
{
	static const char *const texts[] = {
		[FIGURE_MEMORY] = "memory", [FIGURE_SM] = "sm", [FIGURE_PCIE] = "pcie"};

	return texts[quantity];
}

const char *figure_scope_text(enum figure_scope scope)
{
	static const char *const texts[] = {
		[FIGURE_OF_CARD] = "card", [FIGURE_OF_CARDS] = "cards", [FIGURE_OWN] = "pod"};

	return texts[scope];
}
