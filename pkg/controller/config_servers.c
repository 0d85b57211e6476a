/* SPDX-License-Identifier: Apache-2.0 */
/* Which Prometheus is asked about objectives, which Alertmanager is told, and as whom. */
#include "controller/config_servers.h"

#include "base/clock.h"
#include "base/macros.h"
#include "base/utf8.h"
#include "model/device_series.h"

#define SERVER_FIELDS                                                                             \
	FIELD(struct wire_server, url, "url", 0, FIELD_STRING),                                   \
		FIELD(struct wire_server, timeout, "timeoutSeconds", 0, FIELD_INT64),             \
		FIELD(struct wire_server, bearer_token_file, "bearerTokenFile", 0, FIELD_STRING), \
		FIELD(struct wire_server, username, "username", 0, FIELD_STRING),                 \
		FIELD(struct wire_server, password_file, "passwordFile", 0, FIELD_STRING),        \
		FIELD(struct wire_server, ca_file, "caFile", 0, FIELD_STRING),                    \
		FIELD(struct wire_server, cert_file, "certFile", 0, FIELD_STRING),                \
		FIELD(struct wire_server, key_file, "keyFile", 0, FIELD_STRING)

static const struct field prometheus_fields[] = {
	SERVER_FIELDS,
	FIELD(struct wire_server, interval, "intervalSeconds", 0, FIELD_INT64),
	FIELD(struct wire_server, device_series, "deviceSeries", 0, FIELD_STRINGS),
	FIELD(struct wire_server, device_jobs, "deviceSeriesJobs", 0, FIELD_STRINGS),
};
const struct schema wire_prometheus_schema =
	SCHEMA("prometheus", struct wire_server, prometheus_fields);

static const struct field alertmanager_fields[] = {SERVER_FIELDS};
const struct schema wire_alertmanager_schema =
	SCHEMA("alertmanager", struct wire_server, alertmanager_fields);

#define TIMEOUT_INDEX  1
#define INTERVAL_INDEX 8

#define DEVICE_JOBS_MOST 16

/* One of the two: what errors call it. */
struct reading {
	const char *name;
	const struct wire_server *wire;
	struct arena *memory;
};

static int read_seconds(const struct reading *r, const char *field, int64_t seconds, int64_t *to_us,
			struct error *err)
{
	int64_t most = str_equal(str_from(field), STR("intervalSeconds")) ? 300 : 60;

	if (seconds < 1 || seconds > most)
		return error_set(err, ERROR_INVALID, "%s.%s: %lld is not in 1 to %lld", r->name,
				 field, (long long)seconds, (long long)most);
	*to_us = seconds * USEC_PER_SEC;
	return 0;
}

static int check(const struct reading *r, struct error *err)
{
	const struct wire_server *wire = r->wire;

	if (!str_starts_with(wire->url, STR("http://")) &&
	    !str_starts_with(wire->url, STR("https://")))
		return error_set(err, ERROR_INVALID, "%s.url: must begin with http:// or https://",
				 r->name);
	if (str_empty(wire->username) != str_empty(wire->password_file))
		return error_set(err, ERROR_INVALID, "%s: username and passwordFile go together",
				 r->name);
	if (!str_empty(wire->username) && !str_empty(wire->bearer_token_file))
		return error_set(err, ERROR_INVALID, "%s: either bearerTokenFile or username",
				 r->name);
	if (str_empty(wire->cert_file) != str_empty(wire->key_file))
		return error_set(err, ERROR_INVALID, "%s: certFile and keyFile go together",
				 r->name);
	return 0;
}

static int keep(const struct reading *r, struct str text, const char **to, struct error *err)
{
	*to = NULL;
	if (str_empty(text))
		return 0;
	*to = arena_strndup(r->memory, text.data, text.len);
	return *to ? 0 : error_set(err, ERROR_LIMIT, "%s: no memory", r->name);
}

static int read_access(const struct reading *r, struct prom_access *access, struct error *err)
{
	const struct wire_server *wire = r->wire;
	const struct {
		struct str text;
		const char **to;
	} texts[] = {
		{wire->url, &access->url},
		{wire->bearer_token_file, &access->bearer_token_file},
		{wire->username, &access->username},
		{wire->password_file, &access->password_file},
		{wire->ca_file, &access->ca_file},
		{wire->cert_file, &access->cert_file},
		{wire->key_file, &access->key_file},
	};

	if (check(r, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (keep(r, texts[i].text, texts[i].to, err) < 0)
			return -1;
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

static int read_jobs(const struct wire_list *names, struct arena *memory,
		     struct config_prometheus *config, struct error *err)
{
	struct str *jobs = NULL;

	if (names->len > DEVICE_JOBS_MOST)
		return error_set(err, ERROR_LIMIT, "prometheus.deviceSeriesJobs: more than %d",
				 DEVICE_JOBS_MOST);
	if (names->len > 0)
		jobs = arena_alloc(memory, names->len * sizeof(*jobs));
	for (size_t i = 0; i < names->len && jobs; i++) {
		struct str name = ((const struct str *)names->items)[i];
		const char *text = arena_strndup(memory, name.data, name.len);

		if (str_empty(name))
			return error_set(err, ERROR_INVALID,
					 "prometheus.deviceSeriesJobs: an empty name");
		if (!text)
			return error_set(err, ERROR_LIMIT, "prometheus: no memory");
		jobs[i] = (struct str){text, name.len};
	}
	if (names->len > 0 && !jobs)
		return error_set(err, ERROR_LIMIT, "prometheus: no memory");
	config->jobs = jobs;
	config->n_jobs = names->len;
	return 0;
}

int config_read_prometheus(const struct wire_server *wire, struct arena *memory,
			   struct config_prometheus *config, struct error *err)
{
	const struct reading r = {"prometheus", wire, memory};

	if (read_access(&r, &config->access, err) < 0)
		return -1;
	if (wire_has(wire, TIMEOUT_INDEX) &&
	    read_seconds(&r, "timeoutSeconds", wire->timeout, &config->timeout_us, err) < 0)
		return -1;
	if (wire_has(wire, INTERVAL_INDEX) &&
	    read_seconds(&r, "intervalSeconds", wire->interval, &config->interval_us, err) < 0)
		return -1;
	if (read_exporters(&wire->device_series, &config->exporters, err) < 0)
		return -1;
	return read_jobs(&wire->device_jobs, memory, config, err);
}

int config_read_alertmanager(const struct wire_server *wire, struct arena *memory,
			     struct config_alertmanager *config, struct error *err)
{
	const struct reading r = {"alertmanager", wire, memory};

	if (read_access(&r, &config->access, err) < 0)
		return -1;
	if (wire_has(wire, TIMEOUT_INDEX) &&
	    read_seconds(&r, "timeoutSeconds", wire->timeout, &config->timeout_us, err) < 0)
		return -1;
	return 0;
}
