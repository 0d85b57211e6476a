/* SPDX-License-Identifier: Apache-2.0 */
/* One table of flags; --config is applied first, so that what stands on the command line wins. */
#include "flags.h"

#include <getopt.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/config.h"

const char flags_help[] =
	"Usage: gpuqos-controller [FLAGS]\n"
	"\n"
	"Turns GpuMemoryQuota objects into what the API server enforces. Without flags it uses the service account of its pod.\n"
	"\n"
	"  --kubeconfig FILE                   how to reach the cluster (default: $KUBECONFIG, ~/.kube/config, the pod's own account)\n"
	"  --context NAME                      of the kubeconfig (default: its current-context)\n"
	"  --leader-elect                      lead only while holding a Lease: for more than one replica\n"
	"  --leader-elect-namespace NAME       where the Lease is (default: the pod's namespace, else the context's)\n"
	"  --leader-elect-lease-duration TIME  how long the Lease holds unrenewed (default 15s)\n"
	"  --leader-elect-renew-deadline TIME  stop leading without a renewal for so long (default 10s)\n"
	"  --leader-elect-retry-period TIME    between tries (default 2s)\n"
	"  --metrics-bind-address ADDRESS      of /metrics (default :8080; 0 turns it off)\n"
	"  --health-probe-bind-address ADDRESS of /healthz and /readyz (default :8081; 0 turns it off)\n"
	"  --config FILE                       a ControllerConfig document; flags win over it\n"
	"  --log-format text|json              (default text)\n"
	"  -v LEVEL                            0 warnings, 1 info (default), 2 debug\n"
	"  --version, --help\n"
	"\n"
	"TIME is a number with ms, s or m, such as 1500ms or 15s.\n";

enum option_id {
	OPT_KUBECONFIG = 256,
	OPT_CONTEXT,
	OPT_LEADER_ELECT,
	OPT_LEASE_NAMESPACE,
	OPT_LEASE_DURATION,
	OPT_RENEW_DEADLINE,
	OPT_RETRY_PERIOD,
	OPT_METRICS,
	OPT_HEALTH,
	OPT_CONFIG,
	OPT_LOG_FORMAT,
	OPT_VERSION,
	OPT_HELP,
};

static const struct option options[] = {
	{"kubeconfig", required_argument, NULL, OPT_KUBECONFIG},
	{"context", required_argument, NULL, OPT_CONTEXT},
	{"leader-elect", optional_argument, NULL, OPT_LEADER_ELECT},
	{"leader-elect-namespace", required_argument, NULL, OPT_LEASE_NAMESPACE},
	{"leader-elect-lease-duration", required_argument, NULL, OPT_LEASE_DURATION},
	{"leader-elect-renew-deadline", required_argument, NULL, OPT_RENEW_DEADLINE},
	{"leader-elect-retry-period", required_argument, NULL, OPT_RETRY_PERIOD},
	{"metrics-bind-address", required_argument, NULL, OPT_METRICS},
	{"health-probe-bind-address", required_argument, NULL, OPT_HEALTH},
	{"config", required_argument, NULL, OPT_CONFIG},
	{"log-format", required_argument, NULL, OPT_LOG_FORMAT},
	{"version", no_argument, NULL, OPT_VERSION},
	{"help", no_argument, NULL, OPT_HELP},
	{NULL, 0, NULL, 0},
};

static int parse_time(const char *flag, const char *text, int64_t *ret_us, struct error *err)
{
	static const struct {
		const char *suffix;
		int64_t us;
	} units[] = {{"ms", USEC_PER_MSEC}, {"s", USEC_PER_SEC}, {"m", USEC_PER_MIN}};
	struct str whole = str_from(text);
	int64_t number;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		struct str suffix = str_from(units[i].suffix);

		if (str_ends_with(whole, suffix) &&
		    str_to_int64((struct str){text, whole.len - suffix.len}, 1, 86400, &number)) {
			*ret_us = number * units[i].us;
			return 0;
		}
	}
	return error_set(err, ERROR_INVALID, "--%s: \"%s\" is no time such as 1500ms, 15s or 2m",
			 flag, text);
}

static int parse_bool(const char *flag, const char *text, bool *ret_value, struct error *err)
{
	if (text && strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return error_set(err, ERROR_INVALID, "--%s: \"%s\" is neither true nor false", flag,
				 text);
	*ret_value = !text || strcmp(text, "true") == 0;
	return 0;
}

static int parse_level(const char *text, enum log_level *ret_level, struct error *err)
{
	int64_t level;

	if (!str_to_int64(str_from(text), 0, 10, &level))
		return error_set(err, ERROR_INVALID, "-v: \"%s\" is no level: 0, 1 or 2", text);
	*ret_level = level == 0 ? LOG_WARNING : level == 1 ? LOG_INFO : LOG_DEBUG;
	return 0;
}

static int parse_format(const char *text, enum log_format *ret_format, struct error *err)
{
	if (strcmp(text, "json") != 0 && strcmp(text, "text") != 0)
		return error_set(err, ERROR_INVALID,
				 "--log-format: \"%s\" is neither text nor json", text);
	*ret_format = strcmp(text, "json") == 0 ? LOG_JSON : LOG_TEXT;
	return 0;
}

static int read_config(const char *path, struct controller_config *config, struct error *err)
{
	char *text = NULL;
	size_t len;

	if (kube_read_file(path, LIMIT_YAML_DOCUMENT, &text, &len, err) < 0)
		return error_wrap(err, "--config");
	int r = controller_config_parse((struct str){text, len}, config, err);

	mem_free(text);
	return r < 0 ? error_wrap(err, "--config %s", path) : 0;
}

static int apply_timing(int id, const char *value, struct controller_config *config,
			struct error *err)
{
	switch (id) {
	case OPT_LEASE_DURATION:
		return parse_time("leader-elect-lease-duration", value, &config->lease_duration_us,
				  err);
	case OPT_RENEW_DEADLINE:
		return parse_time("leader-elect-renew-deadline", value, &config->renew_deadline_us,
				  err);
	default:
		return parse_time("leader-elect-retry-period", value, &config->retry_period_us,
				  err);
	}
}

static int apply(int id, const char *value, struct flags *flags, enum flags_outcome *outcome,
		 struct error *err)
{
	switch (id) {
	case OPT_KUBECONFIG:
		flags->kubeconfig = value;
		return 0;
	case OPT_CONTEXT:
		flags->context = value;
		return 0;
	case OPT_LEADER_ELECT:
		return parse_bool("leader-elect", value, &flags->leader_elect, err);
	case OPT_LEASE_NAMESPACE:
		flags->lease_namespace = value;
		return 0;
	case OPT_LEASE_DURATION:
	case OPT_RENEW_DEADLINE:
	case OPT_RETRY_PERIOD:
		return apply_timing(id, value, &flags->config, err);
	case OPT_METRICS:
		flags->metrics_address = value;
		return 0;
	case OPT_HEALTH:
		flags->health_address = value;
		return 0;
	case OPT_CONFIG:
		return 0; /* read before everything else */
	case OPT_LOG_FORMAT:
		return parse_format(value, &flags->format, err);
	case OPT_VERSION:
		*outcome = FLAGS_SHOW_VERSION;
		return 0;
	case OPT_HELP:
		*outcome = FLAGS_SHOW_HELP;
		return 0;
	case 'v':
		return parse_level(value, &flags->level, err);
	default:
		return error_set(err, ERROR_INVALID,
				 "unknown or incomplete flag; --help lists them");
	}
}

static int find_config(int argc, char **argv, struct controller_config *config, struct error *err)
{
	int id;

	optind = 0;
	while ((id = getopt_long(argc, argv, "v:", options, NULL)) != -1)
		if (id == OPT_CONFIG && read_config(optarg, config, err) < 0)
			return -1;
	return 0;
}

int flags_parse(int argc, char **argv, struct flags *ret_flags, enum flags_outcome *ret_outcome,
		struct error *err)
{
	struct flags flags = {.metrics_address = ":8080",
			      .health_address = ":8081",
			      .level = LOG_INFO,
			      .format = LOG_TEXT};
	enum flags_outcome outcome = FLAGS_RUN;
	int id;

	opterr = 0;
	controller_config_init(&flags.config);
	if (find_config(argc, argv, &flags.config, err) < 0)
		return -1;
	optind = 0;
	while ((id = getopt_long(argc, argv, "v:", options, NULL)) != -1)
		if (apply(id, optarg, &flags, &outcome, err) < 0)
			return id == '?' && optind > 0 ? error_wrap(err, "%s", argv[optind - 1])
						       : -1;
	if (optind < argc)
		return error_set(err, ERROR_INVALID, "%s: no argument is expected", argv[optind]);
	*ret_flags = flags;
	*ret_outcome = outcome;
	return 0;
}
