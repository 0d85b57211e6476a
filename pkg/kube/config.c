/* SPDX-License-Identifier: Apache-2.0 */
/* Where a configuration is looked for: a given file, $KUBECONFIG, ~/.kube/config, then the pod. */
#include "kube/config.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "kube/kubeconfig.h"

#define SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/* The files of one configuration, in order. */
struct files {
	struct kubeconfig_file items[LIMIT_KUBECONFIG_FILES];
	size_t n;
};

static void files_clear(struct files *files)
{
	for (size_t i = 0; i < files->n; i++)
		kubeconfig_file_clear(&files->items[i]);
	files->n = 0;
}
DEFINE_CLEAR(struct files, files_clear)

void kube_config_options_from_env(struct kube_config_options *ret_options)
{
	*ret_options = (struct kube_config_options){
		.env_kubeconfig = getenv("KUBECONFIG"),
		.home = getenv("HOME"),
		.service_host = getenv("KUBERNETES_SERVICE_HOST"),
		.service_port = getenv("KUBERNETES_SERVICE_PORT"),
	};
}

static int add_file(struct files *files, const char *path, struct error *err)
{
	char *text;
	size_t len;
	int r;

	if (files->n == LIMIT_KUBECONFIG_FILES)
		return error_set(err, ERROR_LIMIT, "KUBECONFIG: more than %d files",
				 LIMIT_KUBECONFIG_FILES);
	if (kube_read_file(path, LIMIT_YAML_DOCUMENT, &text, &len, err) < 0)
		return -1;
	r = kubeconfig_parse(path, (struct str){text, len}, &files->items[files->n], err);
	mem_wipe(text, len);
	mem_free(text);
	if (r == 0)
		files->n++;
	return r;
}

static int add_list(struct files *files, const char *list, struct error *err)
{
	struct str head, tail = str_from(list);

	while (!str_empty(tail)) {
		CLEANUP(mem_free) char *path = NULL;

		str_split(tail, ':', &head, &tail);
		if (str_empty(head))
			continue;
		path = mem_strndup(head.data, head.len);
		if (access(path, F_OK) == 0 && add_file(files, path, err) < 0)
			return -1;
	}
	return 0;
}

/* Longer than any path or server can be is cut, and then not found. */
PRINTF_LIKE(1, 2) static char *print_text(const char *format, ...)
{
	struct buf text;
	va_list args;

	buf_init(&text, LIMIT_HTTP_URL);
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	return buf_take(&text);
}

/* $KUBECONFIG, or what counts where it is not set. Owned by the caller. */
static char *default_list(const struct kube_config_options *options)
{
	if (options->env_kubeconfig && options->env_kubeconfig[0])
		return mem_strdup(options->env_kubeconfig);
	if (!options->home || !options->home[0])
		return mem_strdup("");
	return print_text("%s/.kube/config", options->home);
}

/* The pod's own namespace; "default" where the file is missing or unreadable. */
static char *pod_namespace(const char *dir)
{
	CLEANUP(mem_free) char *path = print_text("%s/namespace", dir);
	CLEANUP(mem_free) char *text = NULL;
	size_t len = 0;

	if (kube_read_file(path, LIMIT_NAME + 1, &text, &len, NULL) < 0)
		return mem_strdup("default");
	while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
		len--;
	return len ? mem_strndup(text, len) : mem_strdup("default");
}

static bool is_in_cluster(const struct kube_config_options *options)
{
	return options->service_host && options->service_host[0] && options->service_port &&
	       options->service_port[0];
}

static struct kube_config *in_cluster(const struct kube_config_options *options)
{
	const char *dir = options->service_account_dir;
	struct kube_config *config = mem_alloc(sizeof(*config));
	bool is_v6 = strchr(options->service_host, ':') != NULL;

	if (!dir)
		dir = SERVICE_ACCOUNT_DIR;
	config->origin = mem_strdup("in-cluster");
	config->server = print_text(is_v6 ? "https://[%s]:%s" : "https://%s:%s",
				    options->service_host, options->service_port);
	config->token_file = print_text("%s/token", dir);
	config->ca_file = print_text("%s/ca.crt", dir);
	config->namespace = pod_namespace(dir);
	return config;
}

static int nothing_found(const char *list, struct error *err)
{
	return error_set(err, ERROR_NOT_FOUND,
			 "no configuration for the API server: tried %s%s and the pod's own "
			 "(KUBERNETES_SERVICE_HOST is not set); see --kubeconfig",
			 list[0] ? list : "no file (neither KUBECONFIG nor HOME is set)",
			 list[0] ? " (not there)" : "");
}

int kube_config_load(const struct kube_config_options *options, struct kube_config **ret_config,
		     struct error *err)
{
	CLEANUP(files_clear) struct files files = {0};
	CLEANUP(mem_free) char *list = NULL;

	if (options->path) {
		if (add_file(&files, options->path, err) < 0)
			return -1;
		return kubeconfig_resolve(files.items, files.n, options->context, ret_config, err);
	}
	list = default_list(options);
	if (add_list(&files, list, err) < 0)
		return -1;
	if (files.n)
		return kubeconfig_resolve(files.items, files.n, options->context, ret_config, err);
	if (!is_in_cluster(options))
		return nothing_found(list, err);
	*ret_config = in_cluster(options);
	return 0;
}

static void exec_clear(struct kube_exec *exec)
{
	for (size_t i = 0; i < exec->n_args; i++)
		mem_free(exec->args[i]);
	for (size_t i = 0; i < exec->n_env; i++) {
		mem_free(exec->env[i].name);
		mem_free_secret(exec->env[i].value);
	}
	mem_free(exec->args);
	mem_free(exec->env);
	mem_free(exec->command);
	mem_free(exec->api_version);
	mem_free(exec->install_hint);
	mem_free(exec->cluster_config);
}

void kube_config_free(struct kube_config *config)
{
	if (!config)
		return;
	mem_free(config->origin);
	mem_free(config->server);
	mem_free(config->server_name);
	mem_free_secret(config->proxy_url);
	mem_free(config->namespace);
	mem_free(config->ca_pem);
	mem_free(config->ca_file);
	mem_free(config->cert_pem);
	mem_free(config->cert_file);
	mem_free_secret(config->key_pem);
	mem_free(config->key_file);
	mem_free_secret(config->token);
	mem_free(config->token_file);
	mem_free(config->username);
	mem_free_secret(config->password);
	exec_clear(&config->exec);
	mem_free(config->as);
	mem_free(config->as_uid);
	for (size_t i = 0; i < config->n_as_groups; i++)
		mem_free(config->as_groups[i]);
	mem_free(config->as_groups);
	mem_free(config);
}
