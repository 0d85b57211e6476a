/* SPDX-License-Identifier: Apache-2.0 */
/* Reading one kubeconfig: the tables of its keys, YAML to JSON to structs. */
#include "kube/kubeconfig.h"

#include "base/mem.h"
#include "codec/json.h"
#include "codec/yaml.h"

#define KEY(type, member, key, kind) FIELD(struct type, member, key, 0, kind)
#define KEY_SUB(type, member, key, kind, table) \
	FIELD_SUB(struct type, member, key, 0, kind, &(table))

static const struct field extension_fields[] = {
	KEY(kubeconfig_extension, name, "name", FIELD_STRING),
	KEY(kubeconfig_extension, value, "extension", FIELD_RAW),
};
static const struct schema extension_schema =
	SCHEMA("extension", struct kubeconfig_extension, extension_fields);

static const struct field cluster_fields[] = {
	KEY(kubeconfig_cluster, server, "server", FIELD_STRING),
	KEY(kubeconfig_cluster, server_name, "tls-server-name", FIELD_STRING),
	KEY(kubeconfig_cluster, ca_file, "certificate-authority", FIELD_STRING),
	KEY(kubeconfig_cluster, ca_data, "certificate-authority-data", FIELD_BYTES),
	KEY(kubeconfig_cluster, proxy_url, "proxy-url", FIELD_STRING),
	KEY(kubeconfig_cluster, insecure, "insecure-skip-tls-verify", FIELD_BOOL),
	KEY_SUB(kubeconfig_cluster, extensions, "extensions", FIELD_MESSAGES, extension_schema),
};
static const struct schema cluster_schema =
	SCHEMA("cluster", struct kubeconfig_cluster, cluster_fields);

static const struct field context_fields[] = {
	KEY(kubeconfig_context, cluster, "cluster", FIELD_STRING),
	KEY(kubeconfig_context, user, "user", FIELD_STRING),
	KEY(kubeconfig_context, namespace, "namespace", FIELD_STRING),
};
static const struct schema context_schema =
	SCHEMA("context", struct kubeconfig_context, context_fields);

static const struct field env_fields[] = {
	KEY(kubeconfig_env, name, "name", FIELD_STRING),
	KEY(kubeconfig_env, value, "value", FIELD_STRING),
};
static const struct schema env_schema = SCHEMA("env", struct kubeconfig_env, env_fields);

static const struct field exec_fields[] = {
	KEY(kubeconfig_exec, api_version, "apiVersion", FIELD_STRING),
	KEY(kubeconfig_exec, command, "command", FIELD_STRING),
	KEY(kubeconfig_exec, args, "args", FIELD_STRINGS),
	KEY_SUB(kubeconfig_exec, env, "env", FIELD_MESSAGES, env_schema),
	KEY(kubeconfig_exec, install_hint, "installHint", FIELD_STRING),
	KEY(kubeconfig_exec, interactive_mode, "interactiveMode", FIELD_STRING),
	KEY(kubeconfig_exec, provide_cluster_info, "provideClusterInfo", FIELD_BOOL),
};
static const struct schema exec_schema = SCHEMA("exec", struct kubeconfig_exec, exec_fields);

enum user_field { USER_EXEC, USER_AUTH_PROVIDER, USER_AS_EXTRA };

static const struct field user_fields[] = {
	[USER_EXEC] = KEY_SUB(kubeconfig_user, exec, "exec", FIELD_MESSAGE, exec_schema),
	[USER_AUTH_PROVIDER] = KEY(kubeconfig_user, auth_provider, "auth-provider", FIELD_RAW),
	[USER_AS_EXTRA] = KEY(kubeconfig_user, as_extra, "as-user-extra", FIELD_RAW),
	KEY(kubeconfig_user, cert_file, "client-certificate", FIELD_STRING),
	KEY(kubeconfig_user, cert_data, "client-certificate-data", FIELD_BYTES),
	KEY(kubeconfig_user, key_file, "client-key", FIELD_STRING),
	KEY(kubeconfig_user, key_data, "client-key-data", FIELD_BYTES),
	KEY(kubeconfig_user, token, "token", FIELD_STRING),
	KEY(kubeconfig_user, token_file, "tokenFile", FIELD_STRING),
	KEY(kubeconfig_user, username, "username", FIELD_STRING),
	KEY(kubeconfig_user, password, "password", FIELD_STRING),
	KEY(kubeconfig_user, as, "as", FIELD_STRING),
	KEY(kubeconfig_user, as_uid, "as-uid", FIELD_STRING),
	KEY(kubeconfig_user, as_groups, "as-groups", FIELD_STRINGS),
};
static const struct schema user_schema = SCHEMA("user", struct kubeconfig_user, user_fields);

static const struct field named_cluster_fields[] = {
	KEY(kubeconfig_named_cluster, name, "name", FIELD_STRING),
	KEY_SUB(kubeconfig_named_cluster, cluster, "cluster", FIELD_MESSAGE, cluster_schema),
};
static const struct schema named_cluster_schema =
	SCHEMA("cluster", struct kubeconfig_named_cluster, named_cluster_fields);

static const struct field named_context_fields[] = {
	KEY(kubeconfig_named_context, name, "name", FIELD_STRING),
	KEY_SUB(kubeconfig_named_context, context, "context", FIELD_MESSAGE, context_schema),
};
static const struct schema named_context_schema =
	SCHEMA("context", struct kubeconfig_named_context, named_context_fields);

static const struct field named_user_fields[] = {
	KEY(kubeconfig_named_user, name, "name", FIELD_STRING),
	KEY_SUB(kubeconfig_named_user, user, "user", FIELD_MESSAGE, user_schema),
};
static const struct schema named_user_schema =
	SCHEMA("user", struct kubeconfig_named_user, named_user_fields);

static const struct field document_fields[] = {
	KEY(kubeconfig_document, current_context, "current-context", FIELD_STRING),
	KEY_SUB(kubeconfig_document, clusters, "clusters", FIELD_MESSAGES, named_cluster_schema),
	KEY_SUB(kubeconfig_document, contexts, "contexts", FIELD_MESSAGES, named_context_schema),
	KEY_SUB(kubeconfig_document, users, "users", FIELD_MESSAGES, named_user_schema),
};
static const struct schema document_schema =
	SCHEMA("kubeconfig", struct kubeconfig_document, document_fields);

bool kubeconfig_user_has_exec(const struct kubeconfig_user *user)
{
	return wire_has(user, USER_EXEC);
}

bool kubeconfig_user_has_auth_provider(const struct kubeconfig_user *user)
{
	return wire_has(user, USER_AUTH_PROVIDER);
}

bool kubeconfig_user_has_extra(const struct kubeconfig_user *user)
{
	return wire_has(user, USER_AS_EXTRA);
}

/* kubectl takes an empty file, and one that only has comments, for an empty configuration. */
static bool says_nothing(struct str text)
{
	bool comment = false;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];

		if (c == '\n' || c == '\r')
			comment = false;
		else if (c == '#')
			comment = true;
		else if (!comment && c != ' ' && c != '\t')
			return false;
	}
	return true;
}

int kubeconfig_parse(const char *path, struct str text, struct kubeconfig_file *ret_file,
		     struct error *err)
{
	struct kubeconfig_file file = {0};

	/* Quoting may make the JSON longer than the YAML, at most six bytes for one. */
	buf_init(&file.json, 6 * (size_t)LIMIT_YAML_DOCUMENT);
	arena_init(&file.arena, LIMIT_DECODE_ARENA);
	if (says_nothing(text)) {
		file.path = mem_strdup(path);
		*ret_file = file;
		return 0;
	}
	if (yaml_to_json(text, &file.json, err) < 0 ||
	    json_decode(&document_schema, buf_str(&file.json), &file.arena, &file.document, err) <
		    0) {
		kubeconfig_file_clear(&file);
		return error_wrap(err, "%s", path);
	}
	file.path = mem_strdup(path);
	*ret_file = file;
	return 0;
}

/* Keys that were decoded from base64 lie in the arena, all other secrets in the JSON text. */
static void wipe_keys(const struct wire_list *users)
{
	wire_for_each(const struct kubeconfig_named_user, named, *users) {
		struct str key = named->user.key_data;

		if (!str_empty(key))
			mem_wipe((void *)(uintptr_t)key.data, key.len);
	}
}

void kubeconfig_file_clear(struct kubeconfig_file *file)
{
	if (!file)
		return;
	wipe_keys(&file->document.users);
	if (file->json.data)
		mem_wipe(file->json.data, file->json.capacity);
	buf_clear(&file->json);
	arena_clear(&file->arena);
	mem_free(file->path);
	*file = (struct kubeconfig_file){0};
}
