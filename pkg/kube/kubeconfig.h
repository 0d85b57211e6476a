/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_KUBE_KUBECONFIG_H
#define GPUQOS_KUBE_KUBECONFIG_H

#include "base/arena.h"
#include "base/buf.h"
#include "codec/schema.h"
#include "kube/config.h"

/*
 * Kubeconfig files as they are written, and what they mean together. Inside kube only. Several
 * files are one configuration: of what carries the same name the first definition counts, whole.
 */
struct kubeconfig_extension {
	uint64_t present;
	struct str name, value; /* value: JSON text */
};

struct kubeconfig_cluster {
	uint64_t present;
	struct str server, server_name, ca_file, ca_data, proxy_url;
	bool insecure;
	struct wire_list extensions; /* struct kubeconfig_extension */
};

struct kubeconfig_context {
	uint64_t present;
	struct str cluster, user, namespace;
};

struct kubeconfig_env {
	uint64_t present;
	struct str name, value;
};

struct kubeconfig_exec {
	uint64_t present;
	struct str api_version, command, install_hint, interactive_mode;
	struct wire_list args; /* struct str */
	struct wire_list env;  /* struct kubeconfig_env */
	bool provide_cluster_info;
};

struct kubeconfig_user {
	uint64_t present;
	struct str cert_file, cert_data, key_file, key_data, token, token_file;
	struct str username, password, as, as_uid, as_extra, auth_provider;
	struct wire_list as_groups; /* struct str */
	struct kubeconfig_exec exec;
};

/* Elements of the three lists begin with these two. */
struct kubeconfig_named {
	uint64_t present;
	struct str name;
};

struct kubeconfig_named_cluster {
	uint64_t present;
	struct str name;
	struct kubeconfig_cluster cluster;
};

struct kubeconfig_named_context {
	uint64_t present;
	struct str name;
	struct kubeconfig_context context;
};

struct kubeconfig_named_user {
	uint64_t present;
	struct str name;
	struct kubeconfig_user user;
};

struct kubeconfig_document {
	uint64_t present;
	struct str current_context;
	struct wire_list clusters, contexts, users; /* of the named structs above */
};

bool kubeconfig_user_has_exec(const struct kubeconfig_user *user);
bool kubeconfig_user_has_auth_provider(const struct kubeconfig_user *user);
bool kubeconfig_user_has_extra(const struct kubeconfig_user *user);

struct kubeconfig_file {
	char *path;
	struct buf json; /* the strings below point into it; wiped when cleared */
	struct arena arena;
	struct kubeconfig_document document;
};

/* @text is a YAML or JSON document; an empty one is an empty configuration. @path is for messages
 * and for what is relative to it. Errors: INVALID, LIMIT, with the path. */
int kubeconfig_parse(const char *path, struct str text, struct kubeconfig_file *ret_file,
		     struct error *err);
void kubeconfig_file_clear(struct kubeconfig_file *file);

/* @context NULL: the first current-context that is not empty. */
int kubeconfig_resolve(const struct kubeconfig_file *files, size_t n_files, const char *context,
		       struct kube_config **ret_config, struct error *err);

DEFINE_CLEAR(struct kubeconfig_file, kubeconfig_file_clear)

#endif
