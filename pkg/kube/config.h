/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_KUBE_CONFIG_H
#define GPUQOS_KUBE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/macros.h"

/*
 * Where the API server is and who we are: read from a kubeconfig or from a pod's environment into
 * one flat struct. Formats: k8s.io/client-go/tools/clientcmd/api/v1 and
 * plugin/pkg/client/auth/exec. Files that are named here are read later, and again when they rotate
 * (kube/credentials.h); what is inlined as *-data is kept decoded.
 */
struct kube_env {
	char *name, *value;
};

struct kube_exec {
	char *command; /* NULL: no plugin. A relative one with a slash is already joined with the
			  kubeconfig's directory */
	char **args;
	size_t n_args;
	struct kube_env *env;
	size_t n_env;
	char *api_version;  /* "client.authentication.k8s.io/v1" or "/v1beta1" */
	char *install_hint; /* may be NULL */
	bool provide_cluster_info;
	char *cluster_config; /* JSON of the cluster's extension client.authentication.k8s.io/exec,
				 may be NULL */
};

struct kube_config {
	char *origin;      /* for messages: the file(s) and context, or "in-cluster" */
	char *server;      /* "https://10.0.0.1:6443", without a trailing slash */
	char *server_name; /* tls-server-name, may be NULL */
	char *proxy_url;   /* may be NULL */
	char *namespace;   /* of the context, or the pod's; "default" when nobody says */
	bool insecure;

	char *ca_pem, *ca_file;     /* data wins over file; both NULL: the system's */
	char *cert_pem, *cert_file; /* client certificate */
	char *key_pem, *key_file;   /* wiped when freed */
	char *token, *token_file;   /* file wins over token */
	char *username, *password;
	struct kube_exec exec;

	char *as, *as_uid; /* impersonation, may be NULL */
	char **as_groups;
	size_t n_as_groups;
};

struct kube_config_options {
	const char *path; /* --kubeconfig: one file; NULL: $KUBECONFIG (a list), else ~/.kube/config
			   */
	const char *context;               /* NULL: current-context */
	const char *env_kubeconfig, *home; /* values of $KUBECONFIG and $HOME, NULL when unset:
					      passed in, so that tests need no environment */
	/* In-cluster is tried when no path is given and no file of the list exists. */
	const char *service_host, *service_port; /* $KUBERNETES_SERVICE_HOST, _PORT */
	const char *service_account_dir; /* NULL: /var/run/secrets/kubernetes.io/serviceaccount */
};

/* From this process's environment. Borrowed strings, static or environment. */
void kube_config_options_from_env(struct kube_config_options *ret_options);

/*
 * Errors name the file and the key: INVALID (syntax, missing context, a server that is no URL,
 * auth-provider, interactive exec), NOT_FOUND (no configuration anywhere: says what was tried),
 * SYSTEM (unreadable file), LIMIT.
 */
int kube_config_load(const struct kube_config_options *options, struct kube_config **ret_config,
		     struct error *err);
void kube_config_free(struct kube_config *config);

/* The whole of a file of at most @max bytes, terminated, to be released with mem_free(). */
int kube_read_file(const char *path, size_t max, char **ret_text, size_t *ret_len,
		   struct error *err);

DEFINE_CLEANUP(struct kube_config *, kube_config_free)

#endif
