/* SPDX-License-Identifier: Apache-2.0 */
/* Which Prometheus is asked about objectives, how often, and by which credentials. */
#include "controller/config_prometheus.h"

#include "base/clock.h"
#include "base/macros.h"
#include "base/utf8.h"
#include "model/device_series.h"

static const struct field prometheus_fields[] = {
	FIELD(struct wire_prometheus, url, "url", 0, FIELD_STRING),
	FIELD(struct wire_prometheus, interval, "intervalSeconds", 0, FIELD_INT64),
	FIELD(struct wire_prometheus, timeout, "timeoutSeconds", 0, FIELD_INT64),
	FIELD(struct wire_prometheus, bearer_token_file, "bearerTokenFile", 0, FIELD_STRING),
	FIELD(struct wire_prometheus, username, "username", 0, FIELD_STRING),
	FIELD(struct wire_prometheus, password_file, "passwordFile", 0, FIELD_STRING),
	FIELD(struct wire_prometheus, ca_file, "caFile", 0, FIELD_STRING),
	FIELD(struct wire_prometheus, device_series, "deviceSeries", 0, FIELD_STRINGS),
};
const struct schema wire_prometheus_schema =
	SCHEMA("prometheus", struct wire_prometheus, prometheus_fields);

#define INTERVAL_INDEX 1
#define TIMEOUT_INDEX  2

static int read_seconds(const char *name, int64_t seconds, int64_t most, int64_t *to_us,
			struct error *err)
{
	if (seconds < 1 || seconds > most)
		return error_set(err, ERROR_INVALID, "prometheus.%s: %lld is not in 1 to %lld",
				 name, (long long)seconds, (long long)most);
	*to_us = seconds * USEC_PER_SEC;
	return 0;
}

static int keep(struct arena *memory, struct str text, const char **to, struct error *err)
{
	*to = NULL;
	if (str_empty(text))
		return 0;
	*to = arena_strndup(memory, text.data, text.len);
	return *to ? 0 : error_set(err, ERROR_LIMIT, "prometheus: no memory");
}

static int check(const struct wire_prometheus *wire, struct error *err)
{
	if (!str_starts_with(wire->url, STR("http://")) &&
	    !str_starts_with(wire->url, STR("https://")))
		return error_set(err, ERROR_INVALID,
				 "prometheus.url: must begin with http:// or https://");
	if (str_empty(wire->username) != str_empty(wire->password_file))
		return error_set(err, ERROR_INVALID,
				 "prometheus: username and passwordFile go together");
	if (!str_empty(wire->username) && !str_empty(wire->bearer_token_file))
		return error_set(err, ERROR_INVALID,
				 "prometheus: either bearerTokenFile or username");
	return 0;
}

static int read_exporters(const struct wire_list *names, uint32_t *ret_exporters, struct error *err)
{
	uint32_t exporters = 0;

	for (size_t i = 0; i < names->len; i++) {
		struct str name = ((const struct str *)names->items)[i];
		unsigned int e = 0;

		while (e < EXPORTER_COUNT &&
		       !str_equal(name, str_from(exporter_text((enum exporter)e))))
			e++;
		if (e == EXPORTER_COUNT)
			return error_set(err, ERROR_INVALID,
					 "prometheus.deviceSeries: \"%.*s\" is none of DCGM, HAMi, "
					 "AMD",
					 STR_ARGS(utf8_prefix(name, 32)));
		exporters |= UINT32_C(1) << e;
	}
	*ret_exporters = exporters;
	return 0;
}

int config_read_prometheus(const struct wire_prometheus *wire, struct arena *memory,
			   struct config_prometheus *config, struct error *err)
{
	const struct {
		struct str text;
		const char **to;
	} texts[] = {
		{wire->url, &config->url},
		{wire->bearer_token_file, &config->bearer_token_file},
		{wire->username, &config->username},
		{wire->password_file, &config->password_file},
		{wire->ca_file, &config->ca_file},
	};

	if (check(wire, err) < 0)
		return -1;
	if (wire_has(wire, INTERVAL_INDEX) &&
	    read_seconds("intervalSeconds", wire->interval, 300, &config->interval_us, err) < 0)
		return -1;
	if (wire_has(wire, TIMEOUT_INDEX) &&
	    read_seconds("timeoutSeconds", wire->timeout, 60, &config->timeout_us, err) < 0)
		return -1;
	if (read_exporters(&wire->device_series, &config->exporters, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (keep(memory, texts[i].text, texts[i].to, err) < 0)
			return -1;
	return 0;
}
