/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates, servers, pools and replies of the client's tests. */
#include "unit/http/fixture.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ARGS 24
#define HERE     "tests/unit/http/"

static char folder[] = "/tmp/gpuqos-http-XXXXXX";

/* A child that dies with the test. @out becomes its standard output unless negative, and with
 * @quiet its error too. */
static pid_t spawn(const char *const *argv, int out, bool quiet)
{
	char *copy[MAX_ARGS + 1] = {NULL};
	pid_t pid;

	for (size_t i = 0; argv[i]; i++) {
		assert_true(i < MAX_ARGS);
		copy[i] = mem_strdup(argv[i]);
	}
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (out >= 0)
			dup2(out, STDOUT_FILENO);
		if (quiet)
			dup2(out, STDERR_FILENO);
		execvp(copy[0], copy);
		_exit(127);
	}
	for (size_t i = 0; copy[i]; i++)
		mem_free(copy[i]);
	return pid;
}

static void run(const char *const *argv)
{
	int status = -1;

	assert_true(waitpid(spawn(argv, -1, false), &status, 0) > 0);
	assert_int_equal(status, 0);
}

int group_setup(void **state UNUSED)
{
	http_library_init();
	if (!mkdtemp(folder))
		return -1;
	run((const char *const[]){HERE "certificates", folder, NULL});
	return 0;
}

int group_teardown(void **state UNUSED)
{
	run((const char *const[]){"rm", "-rf", folder, NULL});
	return 0;
}

/* A few in turn, so that several fit into one call. */
const char *file_path(const char *name)
{
	static char paths[8][256];
	static size_t next;
	char *path = paths[next++ % ARRAY_SIZE(paths)];

	assert_true(snprintf(path, sizeof(paths[0]), "%s/%s", folder, name) > 0);
	return path;
}

struct str file_text(const char *name)
{
	static char texts[8][8192];
	static size_t next;
	char *text = texts[next++ % ARRAY_SIZE(texts)];
	FILE *file = fopen(file_path(name), "re");
	size_t len;

	assert_non_null(file);
	len = fread(text, 1, sizeof(texts[0]), file);
	fclose(file);
	return (struct str){text, len};
}

struct server start_http1(bool tls, const char *client_ca)
{
	static const char script[] = HERE "server.py";
	const char *argv[] = {"/usr/bin/python3",
			      script,
			      tls ? file_path("server.pem") : NULL,
			      file_path("server.key"),
			      client_ca ? file_path(client_ca) : NULL,
			      NULL};
	struct server server = {0};
	char line[16] = "";
	int out[2];
	size_t len = 0;

	assert_int_equal(pipe(out), 0);
	server.pid = spawn(argv, out[1], false);
	close(out[1]);
	while (len + 1 < sizeof(line) && read(out[0], line + len, 1) == 1 && line[len] != '\n')
		len++;
	close(out[0]);
	server.port = (uint16_t)strtoul(line, NULL, 10);
	assert_int_not_equal(server.port, 0);
	return server;
}

static int local_socket(uint16_t port, struct sockaddr_in *ret_address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	memset(ret_address, 0, sizeof(*ret_address));
	ret_address->sin_family = AF_INET;
	ret_address->sin_port = htons(port);
	ret_address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return fd;
}

static uint16_t free_port(void)
{
	struct sockaddr_in address;
	socklen_t len = sizeof(address);
	int fd = local_socket(0, &address);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	close(fd);
	return ntohs(address.sin_port);
}

/* nghttpd does not say when it is ready. */
static void wait_listening(struct server server)
{
	struct sockaddr_in address;
	bool ready = false;

	for (int tries = 0; tries < 6000 && !ready; tries++) {
		int fd = local_socket(server.port, &address);

		if (waitpid(server.pid, NULL, WNOHANG) != 0)
			fail_msg(
				"nghttpd ended at once; is nghttp2-server installed (hack/deps test)?");
		ready = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
		if (!ready)
			poll(NULL, 0, 5);
		close(fd);
	}
	assert_true(ready);
}

struct server start_http2(void)
{
	struct server server = {.port = free_port()};
	char port[8];
	const char *argv[] = {"stdbuf",
			      "-oL",
			      "nghttpd",
			      "-v",
			      "-a",
			      "127.0.0.1",
			      "-m",
			      "100",
			      "-d",
			      folder,
			      port,
			      file_path("server.key"),
			      file_path("server.pem"),
			      NULL};
	int log = open(file_path("nghttpd.log"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(log >= 0);
	assert_true(snprintf(port, sizeof(port), "%u", server.port) > 0);
	server.pid = spawn(argv, log, true);
	close(log);
	wait_listening(server);
	return server;
}

void stop_server(struct server *server)
{
	if (server->pid <= 0)
		return;
	kill(server->pid, SIGKILL);
	waitpid(server->pid, NULL, 0);
	server->pid = 0;
}

struct http_pool_options default_options(void)
{
	return (struct http_pool_options){.name = "test",
					  .tls = {.ca_pem = file_text("ca.pem")},
					  .connect_timeout_us = PATIENCE_US};
}

void world_init(struct world *w, struct server server, const struct http_pool_options *options)
{
	struct error err;

	memset(w, 0, sizeof(*w));
	w->server = server;
	w->loop = loop_new(clock_system());
	if (http_pool_new(w->loop, options, &w->pool, &err) < 0)
		fail_msg("%s", err.message);
}

void world_clear(struct world *w)
{
	http_pool_free(w->pool);
	loop_free(w->loop);
	stop_server(&w->server);
}

const char *url(struct world *w, const char *scheme, const char *path)
{
	assert_true(snprintf(w->url, sizeof(w->url), "%s://127.0.0.1:%u/%s", scheme, w->server.port,
			     path) > 0);
	return w->url;
}

static void keep_response(struct reply *reply, const struct http_response *response)
{
	reply->response = *response;
	assert_true(response->content_type.len < sizeof(reply->type));
	memset(reply->type, 0, sizeof(reply->type));
	if (response->content_type.len > 0)
		memcpy(reply->type, response->content_type.data, response->content_type.len);
}

static int on_headers(void *context, const struct http_response *response, struct error *err UNUSED)
{
	struct reply *reply = context;

	assert_int_equal(reply->done, 0);
	assert_int_equal(reply->bodies, 0);
	reply->headers++;
	keep_response(reply, response);
	return 0;
}

static int on_body(void *context, struct str bytes, struct error *err UNUSED)
{
	struct reply *reply = context;

	assert_int_equal(reply->done, 0);
	assert_int_equal(reply->headers, 1);
	reply->bodies++;
	assert_true(buf_add_str(&reply->body, bytes));
	return 0;
}

static void on_done(void *context, const struct http_response *response, const struct error *err)
{
	struct reply *reply = context;

	reply->done++;
	keep_response(reply, response);
	if (err)
		reply->error = *err;
}

void reply_init(struct reply *reply, struct world *w)
{
	memset(reply, 0, sizeof(*reply));
	reply->world = w;
	buf_init(&reply->body, REPLY_MAX);
}

void reply_clear(struct reply *reply)
{
	buf_clear(&reply->body);
}

struct http_handlers reply_handlers(struct reply *reply)
{
	return (struct http_handlers){on_headers, on_body, on_done, reply};
}

struct http_request get_request(const char *address)
{
	return (struct http_request){.method = "GET", .url = address, .timeout_us = PATIENCE_US};
}

struct http_call *send_to(struct world *w, const struct http_request *request, struct reply *reply)
{
	struct http_handlers handlers = reply_handlers(reply);
	struct http_call *call = NULL;
	struct error err = {0};

	if (http_send(w->pool, request, &handlers, &call, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(reply->done, 0);
	return call;
}

void wait_for(struct world *w, const int *what, int at_least)
{
	int64_t end = loop_now(w->loop) + PATIENCE_US;

	while (*what < at_least && loop_now(w->loop) < end)
		loop_run_once(w->loop, PATIENCE_US);
	assert_true(*what >= at_least);
}

void fetch(struct world *w, const struct http_request *request, struct reply *reply)
{
	reply_init(reply, w);
	send_to(w, request, reply);
	wait_for(w, &reply->done, 1);
	assert_int_equal(reply->done, 1);
}

void fetch_url(struct world *w, const char *address, struct reply *reply)
{
	struct http_request request = get_request(address);

	fetch(w, &request, reply);
}

int64_t requests_seen(struct world *w)
{
	struct reply reply;
	int64_t count = -1;

	fetch_url(w, url(w, "http", "seen"), &reply);
	assert_true(str_to_int64(buf_str(&reply.body), 0, INT64_MAX, &count));
	reply_clear(&reply);
	return count;
}
