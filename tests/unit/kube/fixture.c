/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* nftw() */

#include "fixture.h"

#include <errno.h>
#include <ftw.h>
#include <netinet/in.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONNECTIONS  64
#define REQUEST_MOST (256 * 1024)

static char folder[64];

int folder_setup(void **state)
{
	(void)state;
	http_library_init();
	memcpy(folder, "/tmp/gpuqos-kube-XXXXXX", 24);
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *info UNUSED, int kind UNUSED,
		      struct FTW *where UNUSED)
{
	return remove(path);
}

int folder_teardown(void **state)
{
	(void)state;
	return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *path_of(const char *name)
{
	static char paths[8][256];
	static size_t next;
	char *path = paths[next++ % ARRAY_SIZE(paths)];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

void write_file(const char *name, const char *text)
{
	FILE *file = fopen(path_of(name), "we");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
	assert_int_equal(fclose(file), 0);
}

void write_script(const char *name, const char *text)
{
	write_file(name, text);
	assert_int_equal(chmod(path_of(name), 0700), 0);
}

void make_pair(const char *name)
{
	char *args[] = {mem_strdup("tests/unit/kube/pair"), mem_strdup(path_of(name)), NULL};
	int status = -1;
	pid_t pid;

	assert_int_equal(posix_spawn(&pid, args[0], NULL, NULL, args, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	mem_free(args[0]);
	mem_free(args[1]);
}

char *read_text(const char *name)
{
	struct error err = {0};
	char *text = NULL;
	size_t len;

	if (kube_read_file(path_of(name), REQUEST_MOST, &text, &len, &err))
		fail_msg("%s", err.message);
	return text;
}

void copy_file(const char *from, const char *to)
{
	char *text = read_text(from);

	write_file(to, text);
	mem_free(text);
}

void add_escaped(struct buf *json, const char *name)
{
	char *text = read_text(name);

	for (const char *c = text; *c; c++)
		if (*c == '\n')
			buf_add_cstr(json, "\\n");
		else
			buf_add_char(json, *c);
	mem_free(text);
}

/* --- the server */

struct connection {
	struct fake_server *server;
	struct loop_fd *watch;
	int fd;
	struct buf request;
};

struct fake_server {
	struct loop *loop;
	const struct fake_answer *answers;
	size_t n_answers;
	int fd;
	struct loop_fd *watch;
	char url[64];
	struct connection connections[CONNECTIONS];
	size_t n_connections;
	char *requests[FAKE_REQUESTS];
	size_t n_requests;
};

static void close_connection(struct connection *connection)
{
	loop_fd_free(connection->watch);
	connection->watch = NULL;
	if (connection->fd >= 0)
		close(connection->fd);
	connection->fd = -1;
	buf_clear(&connection->request);
}

static bool is_whole(const struct buf *request)
{
	const char *end = request->data ? strstr(request->data, "\r\n\r\n") : NULL;
	const char *length = end ? strstr(request->data, "Content-Length: ") : NULL;
	size_t body = length && length < end ? strtoul(length + 16, NULL, 10) : 0;

	return end && request->len >= (size_t)(end + 4 - request->data) + body;
}

/* Which answer is due; those that end the connection are written and closed. */
static void answer(struct connection *connection)
{
	struct fake_server *server = connection->server;
	const char *request = connection->request.data;

	assert_true(server->n_requests < FAKE_REQUESTS);
	server->requests[server->n_requests++] = mem_strdup(request);
	for (size_t i = 0; i < server->n_answers; i++) {
		const struct fake_answer *a = &server->answers[i];

		if (strncmp(request, a->request, strlen(a->request)) != 0)
			continue;
		if (!a->reply)
			return;
		assert_int_equal(write(connection->fd, a->reply, strlen(a->reply)),
				 strlen(a->reply));
		if (strstr(a->reply, "Connection: close"))
			close_connection(connection);
		return;
	}
	fail_msg("unexpected request: %s", request);
}

static void on_bytes(void *context, int fd, unsigned int events UNUSED)
{
	struct connection *connection = context;
	char bytes[4096];
	ssize_t n = read(fd, bytes, sizeof(bytes));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		close_connection(connection);
		return;
	}
	buf_add(&connection->request, bytes, (size_t)n);
	if (is_whole(&connection->request))
		answer(connection);
}

static void on_accept(void *context, int fd, unsigned int events UNUSED)
{
	struct fake_server *server = context;
	struct connection *connection = &server->connections[server->n_connections];

	assert_true(server->n_connections < CONNECTIONS);
	connection->fd = accept(fd, NULL, NULL);
	if (connection->fd < 0)
		return;
	server->n_connections++;
	connection->server = server;
	buf_init(&connection->request, REQUEST_MOST);
	connection->watch =
		loop_fd_new(server->loop, "fake connection", connection->fd, on_bytes, connection);
	loop_fd_update(connection->watch, LOOP_READ);
}

struct fake_server *fake_server_new(struct loop *loop, const struct fake_answer *answers, size_t n)
{
	struct fake_server *server = mem_alloc(sizeof(*server));
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t len = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server->loop = loop;
	server->answers = answers;
	server->n_answers = n;
	server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(server->fd >= 0);
	assert_int_equal(bind(server->fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(server->fd, 16), 0);
	assert_int_equal(getsockname(server->fd, (struct sockaddr *)&address, &len), 0);
	snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%d", ntohs(address.sin_port));
	server->watch = loop_fd_new(loop, "fake server", server->fd, on_accept, server);
	loop_fd_update(server->watch, LOOP_READ);
	return server;
}

void fake_server_free(struct fake_server *server)
{
	for (size_t i = 0; i < server->n_connections; i++)
		close_connection(&server->connections[i]);
	for (size_t i = 0; i < server->n_requests; i++)
		mem_free(server->requests[i]);
	loop_fd_free(server->watch);
	close(server->fd);
	mem_free(server);
}

const char *fake_server_url(const struct fake_server *server)
{
	return server->url;
}

size_t fake_server_count(const struct fake_server *server)
{
	return server->n_requests;
}

const char *fake_server_request(const struct fake_server *server, size_t index)
{
	assert_true(index < server->n_requests);
	return server->requests[index];
}
