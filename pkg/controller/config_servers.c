/* SPDX-License-Identifier: Apache-2.0 */
/* Which Prometheus is asked about objectives, which Alertmanager is told, and as whom. */
#include "controller/config_servers.h"

#include "controller/config_numbers.h"

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

/* One of the two; name: what errors call it. */
struct reading {
	const char *name;
	const struct wire_server *wire;
	struct arena *memory;
};

static int no_memory(const struct reading *r, struct error *err)
{
	return error_set(err, ERROR_LIMIT, "%s: takes too much memory", r->name);
}

static int keep(const struct reading *r, struct str text, const char **to, struct error *err)
{
	*to = NULL;
	if (str_empty(text))
		return 0;
	*to = arena_strndup(r->memory, text.data, text.len);
	return *to ? 0 : no_memory(r, err);
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

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (keep(r, texts[i].text, texts[i].to, err) < 0)
			return -1;
	return prom_access_check(access, r->name, err);
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

static int read_jobs(const struct reading *r, const struct wire_list *names,
		     struct config_prometheus *config, struct error *err)
{
	struct str *jobs;

	if (names->len > DEVICE_JOBS_MOST)
		return error_set(err, ERROR_LIMIT, "prometheus.deviceSeriesJobs: more than %d",
				 DEVICE_JOBS_MOST);
	jobs = arena_alloc(r->memory, names->len * sizeof(*jobs));
	if (!jobs)
		return no_memory(r, err);
	for (size_t i = 0; i < names->len; i++) {
		struct str name = ((const struct str *)names->items)[i];
		const char *text = NULL;

		if (str_empty(name))
			return error_set(err, ERROR_INVALID,
					 "prometheus.deviceSeriesJobs: an empty name");
		if (keep(r, name, &text, err) < 0)
			return -1;
		jobs[i] = (struct str){text, name.len};
	}
	config->jobs = jobs;
	config->n_jobs = names->len;
	return 0;
}

int config_read_prometheus(const struct wire_server *wire, struct arena *memory,
			   struct config_prometheus *config, struct error *err)
{
	const struct reading r = {"prometheus", wire, memory};
	const struct config_number numbers[] = {
		{"prometheus.timeoutSeconds", wire, TIMEOUT_INDEX, wire->timeout, 1, 60,
		 &config->timeout_us, USEC_PER_SEC},
		{"prometheus.intervalSeconds", wire, INTERVAL_INDEX, wire->interval, 1, 300,
		 &config->interval_us, USEC_PER_SEC},
	};

	if (read_access(&r, &config->access, err) < 0 ||
	    config_read_numbers(numbers, ARRAY_SIZE(numbers), err) < 0)
		return -1;
	if (read_exporters(&wire->device_series, &config->exporters, err) < 0)
		return -1;
	return read_jobs(&r, &wire->device_jobs, config, err);
}

int config_read_alertmanager(const struct wire_server *wire, struct arena *memory,
			     struct config_alertmanager *config, struct error *err)
{
	const struct reading r = {"alertmanager", wire, memory};
	const struct config_number timeout = {
		"alertmanager.timeoutSeconds", wire,        TIMEOUT_INDEX, wire->timeout, 1, 60,
		&config->timeout_us,           USEC_PER_SEC};

	if (read_access(&r, &config->access, err) < 0)
		return -1;
	return config_read_numbers(&timeout, 1, err);
}
