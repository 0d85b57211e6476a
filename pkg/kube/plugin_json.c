/* SPDX-License-Identifier: Apache-2.0 */
/* The two documents of the plugin protocol: k8s.io/client-go/pkg/apis/clientauthentication/v1. */
#include "base/mem.h"
#include "codec/json.h"
#include "codec/json_out.h"
#include "kube/base64.h"
#include "kube/plugin.h"

struct exec_status {
	uint64_t present;
	struct str token, cert, key;
	int64_t expires_us;
};

struct exec_credential {
	uint64_t present;
	struct str api_version, kind;
	struct exec_status status;
};

enum status_field { STATUS_EXPIRES };

static const struct field status_fields[] = {
	[STATUS_EXPIRES] =
		FIELD(struct exec_status, expires_us, "expirationTimestamp", 0, FIELD_TIME),
	FIELD(struct exec_status, token, "token", 0, FIELD_STRING),
	FIELD(struct exec_status, cert, "clientCertificateData", 0, FIELD_STRING),
	FIELD(struct exec_status, key, "clientKeyData", 0, FIELD_STRING),
};
static const struct schema status_schema =
	SCHEMA("ExecCredentialStatus", struct exec_status, status_fields);

static const struct field credential_fields[] = {
	FIELD(struct exec_credential, api_version, "apiVersion", 0, FIELD_STRING),
	FIELD(struct exec_credential, kind, "kind", 0, FIELD_STRING),
	FIELD_SUB(struct exec_credential, status, "status", 0, FIELD_MESSAGE, &status_schema),
};
static const struct schema credential_schema =
	SCHEMA("ExecCredential", struct exec_credential, credential_fields);

static int add_ca(struct json_out *out, const struct kube_config *config, struct error *err)
{
	CLEANUP(buf_clear) struct buf encoded = {0};
	CLEANUP(mem_free) char *text = NULL;
	struct str pem = str_from(config->ca_pem);

	if (!config->ca_pem && config->ca_file &&
	    kube_read_file(config->ca_file, LIMIT_CERTIFICATE, &text, &pem.len, err) < 0)
		return -1;
	if (text)
		pem.data = text;
	if (str_empty(pem))
		return 0;
	buf_init(&encoded, 2 * (size_t)LIMIT_CERTIFICATE);
	base64_add(&encoded, pem);
	json_out_string(out, "certificate-authority-data", buf_str(&encoded));
	return 0;
}

static int add_cluster(struct json_out *out, const struct kube_config *config, struct error *err)
{
	json_out_object(out, "cluster");
	json_out_cstring(out, "server", config->server);
	if (config->server_name)
		json_out_cstring(out, "tls-server-name", config->server_name);
	if (config->insecure)
		json_out_bool(out, "insecure-skip-tls-verify", true);
	if (add_ca(out, config, err) < 0)
		return -1;
	if (config->proxy_url)
		json_out_cstring(out, "proxy-url", config->proxy_url);
	if (config->exec.cluster_config)
		json_out_raw(out, "config", str_from(config->exec.cluster_config));
	json_out_end(out);
	return 0;
}

int kube_plugin_input(const struct kube_config *config, struct buf *ret_json, struct error *err)
{
	struct json_out out;

	json_out_init(&out, ret_json);
	json_out_object(&out, NULL);
	json_out_cstring(&out, "apiVersion", config->exec.api_version);
	json_out_cstring(&out, "kind", "ExecCredential");
	json_out_object(&out, "spec");
	json_out_bool(&out, "interactive", false);
	if (config->exec.provide_cluster_info && add_cluster(&out, config, err) < 0)
		return -1;
	json_out_end(&out);
	json_out_end(&out);
	if (ret_json->overflowed)
		return error_set(err, ERROR_LIMIT, "the cluster's description is too long");
	return 0;
}

static char *copy(struct str s)
{
	return str_empty(s) ? NULL : mem_strndup(s.data, s.len);
}

static int check(const struct exec_credential *credential, const char *version, struct error *err)
{
	const struct exec_status *status = &credential->status;

	if (!str_equal(credential->kind, STR("ExecCredential")))
		return error_set(err, ERROR_INVALID, "its kind is not ExecCredential");
	if (!str_equal(credential->api_version, str_from(version)))
		return error_set(err, ERROR_INVALID, "its apiVersion is \"%.*s\", not %s",
				 STR_ARGS(credential->api_version), version);
	if (str_empty(status->token) && str_empty(status->cert))
		return error_set(err, ERROR_INVALID, "it has neither token nor certificate");
	if (str_empty(status->cert) != str_empty(status->key))
		return error_set(err, ERROR_INVALID,
				 "of clientCertificateData and clientKeyData one is missing");
	if (status->token.len > LIMIT_TOKEN)
		return error_set(err, ERROR_LIMIT, "a token of more than %d bytes", LIMIT_TOKEN);
	return 0;
}

int kube_plugin_parse(struct str output, const char *version, struct kube_plugin_answer *ret_answer,
		      struct error *err)
{
	CLEANUP(arena_clear) struct arena arena;
	struct exec_credential credential;
	const struct exec_status *status = &credential.status;

	arena_init(&arena, 2 * (size_t)LIMIT_EXEC_OUTPUT);
	if (json_decode(&credential_schema, output, &arena, &credential, err) < 0 ||
	    check(&credential, version, err) < 0)
		return -1;
	*ret_answer = (struct kube_plugin_answer){
		.token = copy(status->token),
		.cert_pem = copy(status->cert),
		.key_pem = copy(status->key),
		.expires_us = wire_has(status, STATUS_EXPIRES) ? status->expires_us : TIME_NEVER,
	};
	return 0;
}

void kube_plugin_answer_clear(struct kube_plugin_answer *answer)
{
	mem_free_secret(answer->token);
	mem_free_secret(answer->cert_pem);
	mem_free_secret(answer->key_pem);
	*answer = (struct kube_plugin_answer){0};
}
