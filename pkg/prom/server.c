/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials, certificates and a pool of connections, alike for Prometheus and Alertmanager. */
#include "prom/server.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"

#define CONNECT_US (5 * USEC_PER_SEC)

/* --- files */

/* Small regular files; white space around their text does not count where it is @trimmed. */
static int read_file(const char *path, bool trimmed, struct buf *text, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char block[4096];
	struct stat info;
	ssize_t n = -1;

	if (fd < 0)
		return error_set_errno(err, errno, "%s", path);
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
		while ((n = read(fd, block, sizeof(block))) > 0)
			buf_add(text, block, (size_t)n);
	mem_wipe(block, sizeof(block));
	close(fd);
	if (n < 0)
		return error_set(err, ERROR_INVALID, "%s: cannot be read as a file", path);
	if (text->overflowed)
		return error_set(err, ERROR_LIMIT, "%s: too large", path);
	while (trimmed && text->len > 0 && strchr(" \t\r\n", text->data[text->len - 1]))
		text->data[--text->len] = '\0';
	return 0;
}

/* --- credentials */

static void add_base64(struct buf *to, struct str from)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < from.len; i += 3) {
		uint32_t bits = 0;

		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 |
			       (i + k < from.len ? (unsigned char)from.data[i + k] : 0u);
		for (size_t k = 0; k < 4; k++)
			buf_add_char(to,
				     i + k > from.len ? '=' : digits[bits >> (18 - 6 * k) & 63]);
	}
}

/* The header's value; nothing where there are no credentials. */
static int authorize(const struct prom_server *server, struct buf *header, struct error *err)
{
	struct buf plain CLEANUP(buf_clear);
	int r = 0;

	buf_init(&plain, LIMIT_TOKEN);
	if (server->token_file) {
		buf_add_cstr(header, "Bearer ");
		return read_file(server->token_file, true, header, err);
	}
	if (!server->username)
		return 0;
	buf_printf(&plain, "%s:", server->username);
	r = read_file(server->password_file, true, &plain, err);
	if (r == 0) {
		buf_add_cstr(header, "Basic ");
		add_base64(header, buf_str(&plain));
	}
	if (plain.len > 0)
		mem_wipe(plain.data, plain.len);
	return r;
}

/* --- requests */

int prom_server_post(struct prom_server *server, const struct prom_post *post,
		     const struct http_handlers *handlers, struct error *err)
{
	struct buf authorization CLEANUP(buf_clear);
	struct http_header headers[] = {
		{"Accept", "application/json", false},
		{"Content-Type", post->content_type, false},
		{"Authorization", NULL, true},
	};
	int r;

	buf_init(&authorization, 2 * LIMIT_TOKEN);
	r = authorize(server, &authorization, err);
	headers[2].value = authorization.data;
	if (r == 0)
		r = http_send(server->pool,
			      &(struct http_request){
				      .method = "POST",
				      .url = server->url,
				      .headers = headers,
				      .n_headers = authorization.len > 0 ? 3 : 2,
				      .body = post->body,
				      .timeout_us = post->timeout_us,
			      },
			      handlers, NULL, err);
	if (authorization.len > 0)
		mem_wipe(authorization.data, authorization.len);
	return r;
}

/* --- life */

static int read_pem(const char *path, struct buf *pem, struct error *err)
{
	return path ? read_file(path, false, pem, err) : 0;
}

static int new_pool(struct prom_server *server, struct loop *loop, const struct prom_place *place,
		    struct error *err)
{
	const struct prom_access *access = place->access;
	struct buf ca CLEANUP(buf_clear);
	struct buf cert CLEANUP(buf_clear);
	struct buf key CLEANUP(buf_clear);
	int r = -1;

	buf_init(&ca, LIMIT_CERTIFICATE);
	buf_init(&cert, LIMIT_CERTIFICATE);
	buf_init(&key, LIMIT_CERTIFICATE);
	if (read_pem(access->ca_file, &ca, err) == 0 &&
	    read_pem(access->cert_file, &cert, err) == 0 &&
	    read_pem(access->key_file, &key, err) == 0)
		r = http_pool_new(loop,
				  &(struct http_pool_options){
					  .name = place->name,
					  .tls = {.ca_pem = buf_str(&ca),
						  .cert_pem = buf_str(&cert),
						  .key_pem = buf_str(&key)},
					  .connect_timeout_us = CONNECT_US,
				  },
				  &server->pool, err);
	if (key.len > 0)
		mem_wipe(key.data, key.len);
	return r;
}

static char *copy(const char *s)
{
	return s ? mem_strdup(s) : NULL;
}

/* @path behind @base, which may end with slashes. */
static char *join(const char *base, const char *path)
{
	struct str s = str_from(base);
	struct buf url;

	while (s.len > 0 && s.data[s.len - 1] == '/')
		s.len--;
	buf_init(&url, s.len + strlen(path) + 1);
	buf_add_str(&url, s);
	buf_add_cstr(&url, path);
	return buf_take(&url);
}

int prom_server_init(struct prom_server *server, struct loop *loop, const struct prom_place *place,
		     struct error *err)
{
	const struct prom_access *access = place->access;

	*server = (struct prom_server){0};
	if (prom_access_check(access, place->name, err) < 0 ||
	    new_pool(server, loop, place, err) < 0)
		return -1;
	server->url = join(access->url, place->path);
	server->token_file = copy(access->bearer_token_file);
	server->username = copy(access->username);
	server->password_file = copy(access->password_file);
	return 0;
}

void prom_server_clear(struct prom_server *server)
{
	http_pool_free(server->pool);
	mem_free(server->url);
	mem_free(server->token_file);
	mem_free(server->username);
	mem_free(server->password_file);
	*server = (struct prom_server){0};
}
