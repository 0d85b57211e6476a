/* SPDX-License-Identifier: Apache-2.0 */
/* Reads --config through a field table, then checks ranges by a table of their own. */
#include "controller/config.h"

#include "controller/config_numbers.h"
#include "controller/config_resources.h"
#include "controller/config_servers.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "codec/json.h"
#include "codec/yaml.h"

#define CONFIG_VERSION "config.gpuqos.io/v1alpha1"
#define CONFIG_KIND    "ControllerConfig"

/* Places in config_fields, which are bits of `present`. */
enum { ELECTION = 2, RECOUNT_PERIOD, USAGE_INTERVAL, PROMETHEUS = 6, ALERTMANAGER = 8 };

struct wire_election {
	uint64_t present;
	struct str resource_name;
	int64_t lease_duration, renew_deadline, retry_period;
};

struct wire_weights {
	uint64_t present;
	int64_t alignment, nvlink, pcie, fragmentation;
};

struct wire_scheduling {
	uint64_t present;
	struct wire_weights weights;
	int64_t candidates, margin;
};

struct wire_pace {
	uint64_t present;
	int64_t grace, alert, step, floor, rest, idle, recover;
};

struct wire_config {
	uint64_t present;
	struct str api_version, kind;
	struct wire_election election;
	int64_t recount_period, usage_interval;
	struct wire_scheduling scheduling;
	struct wire_server prometheus;
	struct wire_list resources; /* struct wire_resource */
	struct wire_server alertmanager;
	struct wire_pace pace;
};

static const struct field election_fields[] = {
	FIELD(struct wire_election, resource_name, "resourceName", 0, FIELD_STRING),
	FIELD(struct wire_election, lease_duration, "leaseDurationSeconds", 0, FIELD_INT64),
	FIELD(struct wire_election, renew_deadline, "renewDeadlineSeconds", 0, FIELD_INT64),
	FIELD(struct wire_election, retry_period, "retryPeriodSeconds", 0, FIELD_INT64),
};
static const struct schema election_schema =
	SCHEMA("leaderElection", struct wire_election, election_fields);

static const struct field weights_fields[] = {
	FIELD(struct wire_weights, alignment, "alignment", 0, FIELD_INT64),
	FIELD(struct wire_weights, nvlink, "nvlink", 0, FIELD_INT64),
	FIELD(struct wire_weights, pcie, "pcie", 0, FIELD_INT64),
	FIELD(struct wire_weights, fragmentation, "fragmentation", 0, FIELD_INT64),
};
static const struct schema weights_schema = SCHEMA("weights", struct wire_weights, weights_fields);

static const struct field scheduling_fields[] = {
	FIELD_SUB(struct wire_scheduling, weights, "weights", 0, FIELD_MESSAGE, &weights_schema),
	FIELD(struct wire_scheduling, candidates, "candidates", 0, FIELD_INT64),
	FIELD(struct wire_scheduling, margin, "margin", 0, FIELD_INT64),
};
static const struct schema scheduling_schema =
	SCHEMA("scheduling", struct wire_scheduling, scheduling_fields);

static const struct field pace_fields[] = {
	FIELD(struct wire_pace, grace, "graceSeconds", 0, FIELD_INT64),
	FIELD(struct wire_pace, alert, "alertSeconds", 0, FIELD_INT64),
	FIELD(struct wire_pace, step, "stepSeconds", 0, FIELD_INT64),
	FIELD(struct wire_pace, floor, "floorSeconds", 0, FIELD_INT64),
	FIELD(struct wire_pace, rest, "restSeconds", 0, FIELD_INT64),
	FIELD(struct wire_pace, idle, "idleSeconds", 0, FIELD_INT64),
	FIELD(struct wire_pace, recover, "recoverSeconds", 0, FIELD_INT64),
};
static const struct schema pace_schema = SCHEMA("feedback", struct wire_pace, pace_fields);

static const struct field config_fields[] = {
	FIELD(struct wire_config, api_version, "apiVersion", 0, FIELD_STRING),
	FIELD(struct wire_config, kind, "kind", 0, FIELD_STRING),
	[ELECTION] = FIELD_SUB(struct wire_config, election, "leaderElection", 0, FIELD_MESSAGE,
			       &election_schema),
	[RECOUNT_PERIOD] =
		FIELD(struct wire_config, recount_period, "recountPeriodSeconds", 0, FIELD_INT64),
	[USAGE_INTERVAL] = FIELD(struct wire_config, usage_interval, "usageStatusIntervalSeconds",
				 0, FIELD_INT64),
	FIELD_SUB(struct wire_config, scheduling, "scheduling", 0, FIELD_MESSAGE,
		  &scheduling_schema),
	[PROMETHEUS] = FIELD_SUB(struct wire_config, prometheus, "prometheus", 0, FIELD_MESSAGE,
				 &wire_prometheus_schema),
	FIELD_SUB(struct wire_config, resources, "resources", 0, FIELD_MESSAGES,
		  &wire_resource_schema),
	[ALERTMANAGER] = FIELD_SUB(struct wire_config, alertmanager, "alertmanager", 0,
				   FIELD_MESSAGE, &wire_alertmanager_schema),
	FIELD_SUB(struct wire_config, pace, "feedback", 0, FIELD_MESSAGE, &pace_schema),
};
static const struct schema config_schema = SCHEMA(CONFIG_KIND, struct wire_config, config_fields);

void controller_config_init(struct controller_config *config)
{
	*config = (struct controller_config){
		.lease_name = "gpuqos-controller",
		.lease_duration_us = 15 * USEC_PER_SEC,
		.renew_deadline_us = 10 * USEC_PER_SEC,
		.retry_period_us = 2 * USEC_PER_SEC,
		.recount_period_us = 300 * USEC_PER_SEC,
		.usage_interval_us = USEC_PER_SEC,
		.weights = PLACEMENT_WEIGHTS_DEFAULT,
		.candidates = PLACEMENT_CANDIDATES_DEFAULT,
		.margin = PLACEMENT_MARGIN_DEFAULT,
		.prometheus = {.interval_us = 15 * USEC_PER_SEC, .timeout_us = 5 * USEC_PER_SEC},
		.alertmanager = {.timeout_us = 5 * USEC_PER_SEC},
		.pace = FEEDBACK_PACE_DEFAULT,
	};
}

void controller_config_clear(struct controller_config *config)
{
	arena_clear(&config->memory);
	config->resources = (struct source_table){NULL, 0};
	config->prometheus = (struct config_prometheus){0};
	config->alertmanager = (struct config_alertmanager){0};
}

static int read_name(const struct wire_election *wire, struct controller_config *config,
		     struct error *err)
{
	struct str name = wire->resource_name;

	if (!wire_has(wire, 0))
		return 0;
	if (name.len == 0 || name.len >= sizeof(config->lease_name))
		return error_set(err, ERROR_INVALID,
				 "leaderElection.resourceName: must have 1 to %zu characters",
				 sizeof(config->lease_name) - 1);
	memcpy(config->lease_name, name.data, name.len);
	config->lease_name[name.len] = '\0';
	return 0;
}

static int read_weights(const struct wire_weights *wire, struct placement_weights *weights,
			struct error *err)
{
	const struct config_number all[] = {
#define WEIGHT(index, name)                                                 \
	{"scheduling.weights." #name, wire,           index, wire->name, 0, \
	 PLACEMENT_WEIGHT_MOST,       &weights->name, 1}
		WEIGHT(0, alignment),
		WEIGHT(1, nvlink),
		WEIGHT(2, pcie),
		WEIGHT(3, fragmentation),
#undef WEIGHT
	};

	return config_read_numbers(all, ARRAY_SIZE(all), err);
}

static int read_pace(const struct wire_pace *wire, struct feedback_pace *pace, struct error *err)
{
	const struct config_number all[] = {
#define PACE(index, name, least, most) \
	{"feedback." #name "Seconds",  \
	 wire,                         \
	 index,                        \
	 wire->name,                   \
	 least,                        \
	 most,                         \
	 &pace->name##_us,             \
	 USEC_PER_SEC}
		PACE(0, grace, 5, 3600),   PACE(1, alert, 1, 86400), PACE(2, step, 1, 86400),
		PACE(3, floor, 1, 86400),  PACE(4, rest, 1, 86400),  PACE(5, idle, 30, 604800),
		PACE(6, recover, 1, 3600),
#undef PACE
	};

	return config_read_numbers(all, ARRAY_SIZE(all), err);
}

static int read_wire(const struct wire_config *wire, struct controller_config *config,
		     struct error *err)
{
	const struct wire_election *election = &wire->election;
	const struct config_number all[] = {
		{"leaderElection.leaseDurationSeconds", election, 1, election->lease_duration, 2,
		 3600, &config->lease_duration_us, USEC_PER_SEC},
		{"leaderElection.renewDeadlineSeconds", election, 2, election->renew_deadline, 1,
		 3600, &config->renew_deadline_us, USEC_PER_SEC},
		{"leaderElection.retryPeriodSeconds", election, 3, election->retry_period, 1, 600,
		 &config->retry_period_us, USEC_PER_SEC},
		{"recountPeriodSeconds", wire, RECOUNT_PERIOD, wire->recount_period, 10, 86400,
		 &config->recount_period_us, USEC_PER_SEC},
		{"usageStatusIntervalSeconds", wire, USAGE_INTERVAL, wire->usage_interval, 1, 3600,
		 &config->usage_interval_us, USEC_PER_SEC},
		{"scheduling.candidates", &wire->scheduling, 1, wire->scheduling.candidates, 0,
		 PLACEMENT_CANDIDATES_MOST, &config->candidates, 1},
		{"scheduling.margin", &wire->scheduling, 2, wire->scheduling.margin, 0,
		 PLACEMENT_MARGIN_MOST, &config->margin, 1},
	};

	if (!str_equal(wire->api_version, STR(CONFIG_VERSION)) ||
	    !str_equal(wire->kind, STR(CONFIG_KIND)))
		return error_set(err, ERROR_INVALID, "apiVersion and kind must be %s and %s",
				 CONFIG_VERSION, CONFIG_KIND);
	if (wire_has(wire, ELECTION) && read_name(election, config, err) < 0)
		return -1;
	if (config_read_numbers(all, ARRAY_SIZE(all), err) < 0 ||
	    read_weights(&wire->scheduling.weights, &config->weights, err) < 0 ||
	    read_pace(&wire->pace, &config->pace, err) < 0)
		return -1;
	if (wire_has(wire, ALERTMANAGER) &&
	    config_read_alertmanager(&wire->alertmanager, &config->memory, &config->alertmanager,
				     err) < 0)
		return -1;
	if (wire_has(wire, PROMETHEUS) && config_read_prometheus(&wire->prometheus, &config->memory,
								 &config->prometheus, err) < 0)
		return -1;
	return config_read_resources(&wire->resources, &config->memory, &config->resources, err);
}

int controller_config_parse(struct str text, struct controller_config *config, struct error *err)
{
	struct controller_config parsed = *config;
	struct wire_config wire;
	CLEANUP(arena_clear) struct arena arena = {0};
	CLEANUP(buf_clear) struct buf json = {0};

	parsed.memory = (struct arena){0};
	arena_init(&arena, LIMIT_DECODE_ARENA);
	buf_init(&json, LIMIT_JSON_OUTPUT);
	if (yaml_to_json(text, &json, err) < 0 ||
	    json_decode_strict(&config_schema, buf_str(&json), &arena, &wire, err) < 0 ||
	    read_wire(&wire, &parsed, err) < 0) {
		arena_clear(&parsed.memory);
		return error_wrap(err, "configuration");
	}
	arena_clear(&config->memory);
	*config = parsed;
	return 0;
}
