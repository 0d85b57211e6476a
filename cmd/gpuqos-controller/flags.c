/* SPDX-License-Identifier: Apache-2.0 */
/* The table of flags. --config is applied first, so that what stands on the command line wins. */
#include "flags.h"

#include "base/flag.h"
#include "base/mem.h"
#include "kube/config.h"

/* What the command line comes to. */
struct parsed {
	struct flags flags;
	enum flag_outcome outcome;
};

static int set_config(void *field, const char *path, struct error *err)
{
	char *text = NULL;
	size_t len;

	if (kube_read_file(path, LIMIT_YAML_DOCUMENT, &text, &len, err) < 0)
		return -1;
	int r = controller_config_parse((struct str){text, len}, field, err);

	mem_free(text);
	return r < 0 ? error_wrap(err, "%s", path) : 0;
}

static const struct flag rows[] = {
#define FLAG(name, value, set, field, help) FLAG_VALUE(name, value, set, struct parsed, field, help)
#define SWITCH(name, set, field, help)      FLAG_SWITCH(name, set, struct parsed, field, help)
	PROCESS_FLAGS(struct parsed, flags.process),
	{"leader-elect", NULL, optional_argument, flag_set_bool,
	 offsetof(struct parsed, flags.leader_elect), false,
	 "lead only while holding a Lease: for more than one replica"},
	FLAG("leader-elect-namespace", "NAME", flag_set_text, flags.lease_namespace,
	     "where the Lease is (default: the pod's namespace, else the context's)"),
	FLAG("leader-elect-lease-duration", "TIME", flag_set_time, flags.config.lease_duration_us,
	     "how long the Lease holds unrenewed (default 15s)"),
	FLAG("leader-elect-renew-deadline", "TIME", flag_set_time, flags.config.renew_deadline_us,
	     "stop leading without a renewal for so long (default 10s)"),
	FLAG("leader-elect-retry-period", "TIME", flag_set_time, flags.config.retry_period_us,
	     "between tries (default 2s)"),
	FLAG("extender-address", "ADDRESS", flag_set_text, flags.extender.address,
	     "serve kube-scheduler's extender there over HTTPS (default: it is not served)"),
	FLAG("extender-tls-cert-file", "FILE", flag_set_text, flags.extender.cert_file,
	     "the extender's certificate, in PEM"),
	FLAG("extender-tls-private-key-file", "FILE", flag_set_text, flags.extender.key_file,
	     "and its key"),
	FLAG("extender-client-ca-file", "FILE", flag_set_text, flags.extender.client_ca_file,
	     "who has no certificate that this CA signed is not answered"),
	{"config", "FILE", required_argument, set_config, offsetof(struct parsed, flags.config),
	 true, "a ControllerConfig document; flags win over it"},
	SWITCH("version", flag_set_version, outcome, "say which this is"),
	SWITCH("help", flag_set_help, outcome, "say this"),
};

static const struct flag_table table = {rows, ARRAY_SIZE(rows)};

static int check_extender(const struct extender_flags *extender, struct error *err)
{
	if (!extender->address ||
	    (extender->cert_file && extender->key_file && extender->client_ca_file))
		return 0;
	return error_set(err, ERROR_INVALID,
			 "--extender-address needs --extender-tls-cert-file, "
			 "--extender-tls-private-key-file and --extender-client-ca-file");
}

int flags_parse(int argc, char **argv, struct flags *ret_flags, enum flag_outcome *ret_outcome,
		struct error *err)
{
	struct parsed parsed = {.flags.process = PROCESS_SETTINGS_DEFAULT, .outcome = FLAG_RUN};

	controller_config_init(&parsed.flags.config);
	if (flag_parse(&table, argc, argv, &parsed, err) < 0) {
		controller_config_clear(&parsed.flags.config);
		return -1;
	}
	if (check_extender(&parsed.flags.extender, err) < 0) {
		controller_config_clear(&parsed.flags.config);
		return -1;
	}
	*ret_flags = parsed.flags;
	*ret_outcome = parsed.outcome;
	return 0;
}

void flags_print_help(FILE *file)
{
	fputs("Usage: gpuqos-controller [FLAGS]\n"
	      "\n"
	      "Enforces GpuMemoryQuota and TenantQoS, places GPU pods, makes room for them. Without flags it uses the service account of its pod.\n"
	      "\n",
	      file);
	flag_print(&table, file);
	fputs("\nTIME is a number with ms, s or m, such as 1500ms or 15s.\n", file);
}
