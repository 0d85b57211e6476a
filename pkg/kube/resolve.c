/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kubeconfig files mean together: the context, its cluster and its user, each looked up by
 * name through the files in order, copied into one flat struct with paths made absolute. Messages
 * gain the key here, the cluster or user one level up, file and context at the top.
 */
#include <assert.h>
#include <string.h>

#include "kube/kubeconfig.h"

#include "base/mem.h"

#define EXEC_EXTENSION "client.authentication.k8s.io/exec"

/* A definition and the file that it came from. */
struct found {
	const void *item;
	const struct kubeconfig_file *file;
};

static struct str directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return STR(".");
	return slash == path ? STR("/") : (struct str){path, (size_t)(slash - path)};
}

static bool is_printable(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.data[i];

		if (c < 0x20 || c == 0x7f)
			return false;
	}
	return true;
}

/* One line of text: it ends up in a header, a path or an argument. Empty is NULL. */
static int set_line(char **field, const char *key, struct str value, struct error *err)
{
	if (!is_printable(value))
		return error_set(err, ERROR_INVALID, "%s: control characters", key);
	*field = str_empty(value) ? NULL : mem_strndup(value.data, value.len);
	return 0;
}

/* Text that may have lines, as PEM has. */
static int set_text(char **field, const char *key, struct str value, struct error *err)
{
	if (value.len > LIMIT_CERTIFICATE)
		return error_set(err, ERROR_LIMIT, "%s: more than %d bytes", key,
				 LIMIT_CERTIFICATE);
	if (!str_empty(value) && memchr(value.data, '\0', value.len))
		return error_set(err, ERROR_INVALID, "%s: has a zero byte", key);
	*field = str_empty(value) ? NULL : mem_strndup(value.data, value.len);
	return 0;
}

static char *join(const struct kubeconfig_file *file, struct str path)
{
	struct buf joined;

	buf_init(&joined, path.len + strlen(file->path) + 2);
	if (path.data[0] != '/') {
		buf_add_str(&joined, directory_of(file->path));
		buf_add_char(&joined, '/');
	}
	buf_add_str(&joined, path);
	return buf_take(&joined);
}

static int set_path(char **field, const char *key, const struct kubeconfig_file *file,
		    struct str path, struct error *err)
{
	if (str_empty(path))
		return 0;
	if (!is_printable(path))
		return error_set(err, ERROR_INVALID, "%s: control characters", key);
	*field = join(file, path);
	return 0;
}

static int find(const struct kubeconfig_file *file, const struct wire_list *list, size_t size,
		struct str name, struct found *ret_found)
{
	for (size_t i = 0; i < list->len; i++) {
		const void *item = (const char *)list->items + i * size;

		if (str_equal(((const struct kubeconfig_named *)item)->name, name)) {
			*ret_found = (struct found){item, file};
			return 1;
		}
	}
	return 0;
}

/* "https://host:port/prefix"; the prefix is of proxies in front of several API servers. */
static int check_server(struct str server, struct error *err)
{
	struct str rest;

	if (str_starts_with(server, STR("https://")))
		rest = (struct str){server.data + 8, server.len - 8};
	else if (str_starts_with(server, STR("http://")))
		rest = (struct str){server.data + 7, server.len - 7};
	else
		return error_set(err, ERROR_INVALID,
				 "server: \"%.*s\" does not begin with https:// or http://",
				 STR_ARGS(server));
	if (str_empty(rest) || rest.data[0] == '/' || rest.data[0] == ':')
		return error_set(err, ERROR_INVALID, "server: \"%.*s\" has no host",
				 STR_ARGS(server));
	for (size_t i = 0; i < rest.len; i++)
		if (strchr(" ?#@\\\"<>", rest.data[i]))
			return error_set(err, ERROR_INVALID,
					 "server: \"%.*s\" has a character that no server has",
					 STR_ARGS(server));
	return 0;
}

static int check_proxy(struct str url, struct error *err)
{
	static const char *const schemes[] = {"http://", "https://", "socks5://"};

	if (str_empty(url))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (str_starts_with(url, str_from(schemes[i])) && url.len > strlen(schemes[i]))
			return 0;
	return error_set(err, ERROR_INVALID,
			 "proxy-url: does not begin with http://, https:// or socks5://");
}

static int take_cluster(struct kube_config *config, const struct kubeconfig_file *file,
			const struct kubeconfig_cluster *cluster, struct error *err)
{
	struct str server = cluster->server;

	while (!str_empty(server) && server.data[server.len - 1] == '/')
		server.len--;
	if (str_empty(cluster->server))
		return error_set(err, ERROR_INVALID, "server: missing");
	if (set_line(&config->server, "server", server, err) < 0 || check_server(server, err) < 0 ||
	    check_proxy(cluster->proxy_url, err) < 0 ||
	    set_line(&config->server_name, "tls-server-name", cluster->server_name, err) < 0 ||
	    set_line(&config->proxy_url, "proxy-url", cluster->proxy_url, err) < 0 ||
	    set_path(&config->ca_file, "certificate-authority", file, cluster->ca_file, err) < 0 ||
	    set_text(&config->ca_pem, "certificate-authority-data", cluster->ca_data, err) < 0)
		return -1;
	config->insecure = cluster->insecure;
	if (config->insecure && (config->ca_file || config->ca_pem))
		return error_set(err, ERROR_INVALID,
				 "insecure-skip-tls-verify: true beside a certificate-authority");
	return 0;
}

static int check_exec(const struct kubeconfig_exec *exec, struct error *err)
{
	bool is_v1 = str_equal(exec->api_version, STR("client.authentication.k8s.io/v1"));
	struct str mode = exec->interactive_mode;

	if (!is_v1 && !str_equal(exec->api_version, STR("client.authentication.k8s.io/v1beta1")))
		return error_set(err, ERROR_INVALID,
				 "exec.apiVersion: \"%.*s\" is not supported; "
				 "client.authentication.k8s.io/v1 and v1beta1 are",
				 STR_ARGS(exec->api_version));
	if (str_empty(exec->command))
		return error_set(err, ERROR_INVALID, "exec.command: missing");
	if (str_equal(mode, STR("Always")))
		return error_set(err, ERROR_INVALID,
				 "exec.interactiveMode: Always: the plugin wants a terminal, and "
				 "this program gives it none");
	if (str_empty(mode) && is_v1)
		return error_set(err, ERROR_INVALID, "exec.interactiveMode: missing");
	if (!str_empty(mode) && !str_equal(mode, STR("Never")) &&
	    !str_equal(mode, STR("IfAvailable")))
		return error_set(err, ERROR_INVALID,
				 "exec.interactiveMode: \"%.*s\" is none of Never, IfAvailable, "
				 "Always",
				 STR_ARGS(mode));
	return 0;
}

static int take_strings(char ***array, size_t *n, const char *key, const struct wire_list *list,
			struct error *err)
{
	*array = mem_alloc_array(list->len, sizeof(char *));
	wire_for_each(const struct str, s, *list) {
		if (!str_empty(*s) && memchr(s->data, '\0', s->len))
			return error_set(err, ERROR_INVALID, "%s: has a zero byte", key);
		(*array)[(*n)++] = mem_strndup(s->data ? s->data : "", s->len);
	}
	return 0;
}

static int take_env(struct kube_exec *exec, const struct wire_list *list, struct error *err)
{
	exec->env = mem_alloc_array(list->len, sizeof(*exec->env));
	wire_for_each(const struct kubeconfig_env, env, *list) {
		struct kube_env *to = &exec->env[exec->n_env++];

		if (str_empty(env->name) || memchr(env->name.data, '=', env->name.len))
			return error_set(err, ERROR_INVALID, "exec.env: a name is not valid");
		if (set_line(&to->name, "exec.env", env->name, err) < 0 ||
		    set_text(&to->value, "exec.env", env->value, err) < 0)
			return -1;
	}
	return 0;
}

static int take_exec(struct kube_config *config, const struct kubeconfig_file *file,
		     const struct kubeconfig_exec *exec, struct error *err)
{
	struct kube_exec *to = &config->exec;
	bool has_slash =
		!str_empty(exec->command) && memchr(exec->command.data, '/', exec->command.len);

	if (check_exec(exec, err) < 0 ||
	    (has_slash ? set_path(&to->command, "exec.command", file, exec->command, err)
		       : set_line(&to->command, "exec.command", exec->command, err)) < 0 ||
	    take_strings(&to->args, &to->n_args, "exec.args", &exec->args, err) < 0 ||
	    take_env(to, &exec->env, err) < 0 ||
	    set_line(&to->api_version, "exec.apiVersion", exec->api_version, err) < 0 ||
	    set_text(&to->install_hint, "exec.installHint", exec->install_hint, err) < 0)
		return -1;
	to->provide_cluster_info = exec->provide_cluster_info;
	return 0;
}

static int check_user(const struct kubeconfig_user *user, struct error *err)
{
	bool has_token = !str_empty(user->token) || !str_empty(user->token_file);
	bool impersonates = !str_empty(user->as_uid) || user->as_groups.len;

	if (kubeconfig_user_has_auth_provider(user))
		return error_set(err, ERROR_INVALID,
				 "auth-provider: was removed from Kubernetes; use exec");
	if (kubeconfig_user_has_extra(user))
		return error_set(err, ERROR_INVALID, "as-user-extra: not supported");
	if (has_token && !str_empty(user->username))
		return error_set(err, ERROR_INVALID, "token and username: only one is possible");
	if ((!str_empty(user->cert_file) || !str_empty(user->cert_data)) !=
	    (!str_empty(user->key_file) || !str_empty(user->key_data)))
		return error_set(err, ERROR_INVALID,
				 "client-certificate and client-key: one is missing");
	if (impersonates && str_empty(user->as))
		return error_set(err, ERROR_INVALID, "as-uid or as-groups without as");
	return 0;
}

static int take_impersonation(struct kube_config *config, const struct kubeconfig_user *user,
			      struct error *err)
{
	if (set_line(&config->as, "as", user->as, err) < 0 ||
	    set_line(&config->as_uid, "as-uid", user->as_uid, err) < 0 ||
	    take_strings(&config->as_groups, &config->n_as_groups, "as-groups", &user->as_groups,
			 err) < 0)
		return -1;
	for (size_t i = 0; i < config->n_as_groups; i++)
		if (!is_printable(str_from(config->as_groups[i])))
			return error_set(err, ERROR_INVALID, "as-groups: control characters");
	return 0;
}

static int take_user(struct kube_config *config, const struct kubeconfig_file *file,
		     const struct kubeconfig_user *user, struct error *err)
{
	if (check_user(user, err) < 0 ||
	    set_path(&config->cert_file, "client-certificate", file, user->cert_file, err) < 0 ||
	    set_text(&config->cert_pem, "client-certificate-data", user->cert_data, err) < 0 ||
	    set_path(&config->key_file, "client-key", file, user->key_file, err) < 0 ||
	    set_text(&config->key_pem, "client-key-data", user->key_data, err) < 0 ||
	    set_line(&config->token, "token", user->token, err) < 0 ||
	    set_path(&config->token_file, "tokenFile", file, user->token_file, err) < 0 ||
	    set_line(&config->username, "username", user->username, err) < 0 ||
	    set_text(&config->password, "password", user->password, err) < 0 ||
	    take_impersonation(config, user, err) < 0)
		return -1;
	if (kubeconfig_user_has_exec(user))
		return take_exec(config, file, &user->exec, err);
	return 0;
}

static void take_exec_extension(struct kube_config *config,
				const struct kubeconfig_cluster *cluster)
{
	wire_for_each(const struct kubeconfig_extension, e, cluster->extensions) {
		if (!str_equal(e->name, STR(EXEC_EXTENSION)) || str_empty(e->value))
			continue;
		mem_free(config->exec.cluster_config);
		config->exec.cluster_config = mem_strndup(e->value.data, e->value.len);
	}
}

/* The name and the file of the context that is meant. */
static int choose_context(const struct kubeconfig_file *files, size_t n_files, const char *wanted,
			  struct found *ret_context, struct error *err)
{
	struct str name = str_from(wanted);

	for (size_t i = 0; i < n_files && str_empty(name); i++)
		name = files[i].document.current_context;
	if (str_empty(name))
		return error_set(err, ERROR_INVALID, "current-context: missing");
	for (size_t i = 0; i < n_files; i++)
		if (find(&files[i], &files[i].document.contexts,
			 sizeof(struct kubeconfig_named_context), name, ret_context))
			return 0;
	return error_set(err, ERROR_INVALID, "context \"%.*s\" is not defined", STR_ARGS(name));
}

static int resolve_cluster(struct kube_config *config, const struct kubeconfig_file *files,
			   size_t n_files, struct str name, struct error *err)
{
	const struct kubeconfig_named_cluster *named;
	struct found found = {0};

	if (str_empty(name))
		return error_set(err, ERROR_INVALID, "cluster: missing");
	for (size_t i = 0; i < n_files && !found.item; i++)
		find(&files[i], &files[i].document.clusters, sizeof(*named), name, &found);
	named = found.item;
	if (!named)
		return error_set(err, ERROR_INVALID, "cluster \"%.*s\" is not defined",
				 STR_ARGS(name));
	assert(found.file);
	if (take_cluster(config, found.file, &named->cluster, err) < 0)
		return error_wrap(err, "%s: cluster \"%.*s\"", found.file->path, STR_ARGS(name));
	take_exec_extension(config, &named->cluster);
	return 0;
}

/* A context without a user is anonymous. */
static int resolve_user(struct kube_config *config, const struct kubeconfig_file *files,
			size_t n_files, struct str name, struct error *err)
{
	const struct kubeconfig_named_user *named;
	struct found found = {0};

	if (str_empty(name))
		return 0;
	for (size_t i = 0; i < n_files && !found.item; i++)
		find(&files[i], &files[i].document.users, sizeof(*named), name, &found);
	named = found.item;
	if (!named)
		return error_set(err, ERROR_INVALID, "user \"%.*s\" is not defined",
				 STR_ARGS(name));
	assert(found.file);
	if (take_user(config, found.file, &named->user, err) < 0)
		return error_wrap(err, "%s: user \"%.*s\"", found.file->path, STR_ARGS(name));
	return 0;
}

static char *paths_text(const struct kubeconfig_file *files, size_t n_files)
{
	struct buf text;

	buf_init(&text, LIMIT_ERROR_MESSAGE / 2);
	for (size_t i = 0; i < n_files; i++)
		buf_printf(&text, "%s%s", i ? ":" : "", files[i].path);
	return buf_take(&text);
}

static char *origin_text(const char *paths, struct str context)
{
	struct buf text;

	buf_init(&text, strlen(paths) + context.len + 32);
	buf_printf(&text, "%s, context \"%.*s\"", paths, STR_ARGS(context));
	return buf_take(&text);
}

int kubeconfig_resolve(const struct kubeconfig_file *files, size_t n_files, const char *context,
		       struct kube_config **ret_config, struct error *err)
{
	CLEANUP(kube_config_free) struct kube_config *config = mem_alloc(sizeof(*config));
	CLEANUP(mem_free) char *paths = paths_text(files, n_files);
	const struct kubeconfig_named_context *named;
	struct found found = {0};

	if (choose_context(files, n_files, context, &found, err) < 0)
		return error_wrap(err, "%s", paths);
	named = found.item;
	assert(named);
	config->origin = origin_text(paths, named->name);
	if (resolve_cluster(config, files, n_files, named->context.cluster, err) < 0 ||
	    resolve_user(config, files, n_files, named->context.user, err) < 0 ||
	    set_line(&config->namespace, "namespace", named->context.namespace, err) < 0)
		return error_wrap(err, "%s", config->origin);
	if (!config->namespace)
		config->namespace = mem_strdup("default");
	*ret_config = TAKE(config);
	return 0;
}
