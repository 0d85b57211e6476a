/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugin as a process. Its end is told by a pidfd; what it left behind may still hold the
 * pipes, so they are drained then without waiting for their end.
 */
#define _GNU_SOURCE /* pipe2(), posix_spawn_file_actions_addclosefrom_np() */

#include "kube/plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

#define STDERR_KEPT ((size_t)2048) /* of which the end is quoted */
#define READ_SIZE   ((size_t)16 * 1024)
#define INFO_MOST   (2 * (size_t)LIMIT_CERTIFICATE + 2 * (size_t)LIMIT_YAML_DOCUMENT)

struct pipe_end {
	int fd;
	struct loop_fd *watch;
	struct buf text;
	size_t keep; /* 0: all, within the limit; else the last so many bytes */
};

struct kube_plugin {
	struct loop *loop;
	const struct kube_config *config;
	struct kube_plugin_handler handler;
	pid_t pid; /* 0: reaped, or not started */
	int pidfd;
	struct loop_fd *exit_watch;
	struct pipe_end out, err;
	struct loop_timer limit;
	struct error failure; /* why it was killed */
};

/* --- what it writes */

static void kill_group(struct kube_plugin *plugin)
{
	if (plugin->pid > 0)
		kill(-plugin->pid, SIGKILL);
}

static void close_end(struct pipe_end *end)
{
	loop_fd_free(end->watch);
	end->watch = NULL;
	if (end->fd >= 0)
		close(end->fd);
	end->fd = -1;
}

static void keep_text(struct pipe_end *end, const char *bytes, size_t len)
{
	buf_add(&end->text, bytes, len);
	if (end->keep && end->text.len > end->keep)
		buf_consume(&end->text, end->text.len - end->keep);
}

/* Reads what is there, and closes the end when there will be no more or it is too much. */
static void drain(struct pipe_end *end)
{
	char bytes[READ_SIZE];
	ssize_t n;

	do {
		n = read(end->fd, bytes, sizeof(bytes));
		if (n > 0)
			keep_text(end, bytes, (size_t)n);
	} while ((n > 0 && !end->text.overflowed) || (n < 0 && errno == EINTR));
	if (n >= 0 || errno != EAGAIN)
		close_end(end);
	mem_wipe(bytes, sizeof(bytes));
}

static void on_stdout(void *context, int fd UNUSED, unsigned int events UNUSED)
{
	struct kube_plugin *plugin = context;

	drain(&plugin->out);
	if (!plugin->out.text.overflowed || plugin->failure.kind != ERROR_NONE)
		return;
	error_set(&plugin->failure, ERROR_LIMIT, "wrote more than %d bytes", LIMIT_EXEC_OUTPUT);
	kill_group(plugin);
}

/* The end is kept, where the reason stands. */
static void on_stderr(void *context, int fd UNUSED, unsigned int events UNUSED)
{
	struct kube_plugin *plugin = context;

	drain(&plugin->err);
}

/* --- how it ends */

static void quote_stderr(const struct kube_plugin *plugin, struct error *err)
{
	char quote[LIMIT_ERROR_MESSAGE / 2];
	struct str text = buf_str(&plugin->err.text);
	size_t len = 0;

	while (!str_empty(text) && (unsigned char)text.data[text.len - 1] <= ' ')
		text.len--;
	if (text.len > sizeof(quote) - 1) {
		text.data += text.len - (sizeof(quote) - 1);
		text.len = sizeof(quote) - 1;
	}
	for (; len < text.len; len++)
		quote[len] = (unsigned char)text.data[len] < ' ' ? ' ' : text.data[len];
	quote[len] = '\0';
	if (len)
		error_set(err, err->kind, "%s; it said: %s", err->message, quote);
}

static int judge_status(const struct kube_plugin *plugin, int status, struct error *err)
{
	if (plugin->failure.kind != ERROR_NONE) {
		*err = plugin->failure;
		return -1;
	}
	if (WIFSIGNALED(status))
		return error_set(err, ERROR_UNAUTHORIZED, "ended by signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		return error_set(err, ERROR_UNAUTHORIZED, "exit status %d", WEXITSTATUS(status));
	return 0;
}

static int conclude(struct kube_plugin *plugin, int status, struct kube_plugin_answer *ret_answer,
		    struct error *err)
{
	const struct kube_exec *exec = &plugin->config->exec;

	if (judge_status(plugin, status, err) == 0) {
		if (kube_plugin_parse(buf_str(&plugin->out.text), exec->api_version, ret_answer,
				      err) == 0)
			return 0;
		error_wrap(err, "its answer");
	}
	quote_stderr(plugin, err);
	return error_wrap(err, "credential plugin %s", exec->command);
}

static void on_exit_of(void *context, int fd UNUSED, unsigned int events UNUSED)
{
	struct kube_plugin *plugin = context;
	struct kube_plugin_answer answer = {0};
	struct error err = {0};
	int status = 0, r;

	if (waitpid(plugin->pid, &status, WNOHANG) != plugin->pid)
		return;
	plugin->pid = 0;
	if (plugin->out.fd >= 0)
		on_stdout(plugin, plugin->out.fd, LOOP_READ);
	if (plugin->err.fd >= 0)
		on_stderr(plugin, plugin->err.fd, LOOP_READ);
	loop_fd_free(TAKE(plugin->exit_watch));
	loop_timer_clear(&plugin->limit);
	r = conclude(plugin, status, &answer, &err);
	plugin->handler.fn(plugin->handler.context, r < 0 ? NULL : &answer, r < 0 ? &err : NULL);
	kube_plugin_answer_clear(&answer);
}

static void on_limit(void *context)
{
	struct kube_plugin *plugin = context;

	error_set(&plugin->failure, ERROR_TIMEOUT, "killed after %lld s",
		  LIMIT_EXEC_US / USEC_PER_SEC);
	kill_group(plugin);
}

/* --- how it starts */

static bool is_replaced(const struct kube_exec *exec, const char *entry)
{
	size_t len = strcspn(entry, "=");

	if (strncmp(entry, "KUBERNETES_EXEC_INFO=", len + 1) == 0)
		return true;
	for (size_t i = 0; i < exec->n_env; i++)
		if (strlen(exec->env[i].name) == len && strncmp(exec->env[i].name, entry, len) == 0)
			return true;
	return false;
}

static char *env_entry(const char *name, const char *value)
{
	struct buf entry;

	buf_init(&entry, strlen(name) + strlen(value) + 1);
	buf_add_cstr(&entry, name);
	buf_add_char(&entry, '=');
	buf_add_cstr(&entry, value);
	return buf_take(&entry);
}

/* Ours, with the kubeconfig's in place of what has the same name, and what the protocol adds. */
static char **make_env(const struct kube_exec *exec, const char *info)
{
	size_t n = 0, inherited = 0;
	char **env;

	while (environ[inherited])
		inherited++;
	env = mem_alloc_array(inherited + exec->n_env + 2, sizeof(*env));
	for (size_t i = 0; i < inherited; i++)
		if (!is_replaced(exec, environ[i]))
			env[n++] = mem_strdup(environ[i]);
	for (size_t i = 0; i < exec->n_env; i++)
		env[n++] =
			env_entry(exec->env[i].name, exec->env[i].value ? exec->env[i].value : "");
	env[n] = env_entry("KUBERNETES_EXEC_INFO", info);
	return env;
}

static void free_env(char **env)
{
	for (char **entry = env; *entry; entry++)
		mem_free_secret(*entry);
	mem_free(env);
}

static char **make_args(const struct kube_exec *exec)
{
	char **args = mem_alloc_array(exec->n_args + 2, sizeof(*args));

	args[0] = exec->command;
	for (size_t i = 0; i < exec->n_args; i++)
		args[i + 1] = exec->args[i];
	return args;
}

/* A process group of its own, and nothing of us but the two pipes. */
static int spawn(struct kube_plugin *plugin, int out, int err, char **env)
{
	CLEANUP(mem_free) char **args = make_args(&plugin->config->exec);
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, defaults;
	int r;

	sigemptyset(&none);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
	posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
						      POSIX_SPAWN_SETSIGDEF);
	r = posix_spawnp(&plugin->pid, args[0], &actions, &attributes, args, env);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	if (r != 0)
		plugin->pid = 0;
	return r;
}

static int spawn_piped(struct kube_plugin *plugin, char **env, struct error *err)
{
	const struct kube_exec *exec = &plugin->config->exec;
	int out[2], errs[2], r;

	if (pipe2(out, O_CLOEXEC) < 0)
		return error_set_errno(err, errno, "pipe");
	if (pipe2(errs, O_CLOEXEC) < 0) {
		r = errno;
		close(out[0]);
		close(out[1]);
		return error_set_errno(err, r, "pipe");
	}
	plugin->out.fd = out[0];
	plugin->err.fd = errs[0];
	r = spawn(plugin, out[1], errs[1], env);
	close(out[1]);
	close(errs[1]);
	if (r == 0)
		return 0;
	error_set_errno(err, r, "credential plugin %s", exec->command);
	if (r == ENOENT && exec->install_hint)
		error_set(err, ERROR_SYSTEM, "%s; %s", err->message, exec->install_hint);
	return -1;
}

/* Reads of our ends must not block; the plugin's ends are its own. */
static int watch_all(struct kube_plugin *plugin, struct error *err)
{
	struct loop *loop = plugin->loop;

	plugin->pidfd = (int)syscall(SYS_pidfd_open, plugin->pid, 0);
	if (plugin->pidfd < 0)
		return error_set_errno(err, errno, "pidfd_open");
	if (fcntl(plugin->out.fd, F_SETFL, O_NONBLOCK) < 0 ||
	    fcntl(plugin->err.fd, F_SETFL, O_NONBLOCK) < 0)
		return error_set_errno(err, errno, "fcntl");
	plugin->exit_watch = loop_fd_new(loop, "plugin exit", plugin->pidfd, on_exit_of, plugin);
	plugin->out.watch = loop_fd_new(loop, "plugin output", plugin->out.fd, on_stdout, plugin);
	plugin->err.watch = loop_fd_new(loop, "plugin output", plugin->err.fd, on_stderr, plugin);
	loop_fd_update(plugin->exit_watch, LOOP_READ);
	loop_fd_update(plugin->out.watch, LOOP_READ);
	loop_fd_update(plugin->err.watch, LOOP_READ);
	loop_timer_set(&plugin->limit, loop_now(loop) + LIMIT_EXEC_US);
	return 0;
}

static struct kube_plugin *plugin_new(struct loop *loop, const struct kube_config *config)
{
	struct kube_plugin *plugin = mem_alloc(sizeof(*plugin));

	plugin->loop = loop;
	plugin->config = config;
	plugin->pidfd = plugin->out.fd = plugin->err.fd = -1;
	buf_init(&plugin->out.text, LIMIT_EXEC_OUTPUT);
	buf_init(&plugin->err.text, STDERR_KEPT + READ_SIZE);
	plugin->err.keep = STDERR_KEPT;
	loop_timer_init(&plugin->limit, loop, "plugin limit", on_limit, plugin);
	return plugin;
}

int kube_plugin_start(struct loop *loop, const struct kube_config *config,
		      const struct kube_plugin_handler *handler, struct kube_plugin **ret_plugin,
		      struct error *err)
{
	CLEANUP(kube_plugin_free) struct kube_plugin *plugin = plugin_new(loop, config);
	CLEANUP(buf_clear) struct buf info;
	char **env;
	int r;

	plugin->handler = *handler;
	buf_init(&info, INFO_MOST);
	if (kube_plugin_input(config, &info, err) < 0)
		return -1;
	env = make_env(&config->exec, info.data);
	r = spawn_piped(plugin, env, err);
	free_env(env);
	if (r < 0 || watch_all(plugin, err) < 0)
		return -1;
	*ret_plugin = TAKE(plugin);
	return 0;
}

void kube_plugin_free(struct kube_plugin *plugin)
{
	if (!plugin)
		return;
	kill_group(plugin);
	if (plugin->pid > 0)
		waitpid(plugin->pid, NULL, 0); /* at once: it was killed */
	loop_timer_clear(&plugin->limit);
	loop_fd_free(plugin->exit_watch);
	if (plugin->pidfd >= 0)
		close(plugin->pidfd);
	close_end(&plugin->out);
	close_end(&plugin->err);
	if (plugin->out.text.data)
		mem_wipe(plugin->out.text.data, plugin->out.text.capacity);
	buf_clear(&plugin->out.text);
	buf_clear(&plugin->err.text);
	mem_free(plugin);
}
