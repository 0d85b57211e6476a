/* SPDX-License-Identifier: Apache-2.0 */
/* A POST, since queries are longer than what servers take in a URL. */
#include "prom/client.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "http/client.h"
#include "prom/url.h"

#define CONNECT_US (5 * USEC_PER_SEC)
#define MEMORY     (32 * 1024 * 1024) /* of one answer, read */

struct prom {
	struct loop *loop;
	struct http_pool *pool;
	char *url, *token_file, *username, *password_file;
	int64_t timeout_us;
	prom_fn done; /* NULL: nothing is under way */
	void *context;
	struct buf body;
	struct arena arena;
};

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
static int authorize(const struct prom *prom, struct buf *header, struct error *err)
{
	struct buf plain CLEANUP(buf_clear);
	int r = 0;

	buf_init(&plain, LIMIT_TOKEN);
	if (prom->token_file) {
		buf_add_cstr(header, "Bearer ");
		return read_file(prom->token_file, true, header, err);
	}
	if (!prom->username)
		return 0;
	buf_printf(&plain, "%s:", prom->username);
	r = read_file(prom->password_file, true, &plain, err);
	if (r == 0) {
		buf_add_cstr(header, "Basic ");
		add_base64(header, buf_str(&plain));
	}
	if (plain.len > 0)
		mem_wipe(plain.data, plain.len);
	return r;
}

/* --- the answer */

static int check_answer(const struct prom *prom, const struct http_response *response,
			struct error *err)
{
	bool json = str_equal(response->content_type, STR("application/json"));

	if (prom->body.overflowed)
		return error_set(err, ERROR_LIMIT, "an answer of more than %d bytes",
				 LIMIT_PROM_BODY);
	if (response->status == 401 || response->status == 403)
		return error_set(err, ERROR_FORBIDDEN, "HTTP %d: check the credentials",
				 response->status);
	if (!json && response->status / 100 == 2)
		return error_set(err, ERROR_INVALID, "the answer is %.*s: is this a Prometheus?",
				 STR_ARGS(response->content_type));
	if (!json)
		return error_set(err, ERROR_UNAVAILABLE, "HTTP %d", response->status);
	return 0;
}

static void finish(struct prom *prom, const struct prom_answer *answer, const struct error *err)
{
	prom_fn done = prom->done;

	prom->done = NULL;
	done(prom->context, answer, err);
}

static void on_done(void *context, const struct http_response *response, const struct error *err)
{
	struct prom *prom = context;
	struct prom_answer answer;
	struct error ours;

	if (!prom->done)
		return;
	arena_reset(&prom->arena);
	if (err)
		finish(prom, NULL, err);
	else if (check_answer(prom, response, &ours) < 0 ||
		 prom_read_answer(buf_str(&prom->body), &prom->arena, &answer, &ours) < 0)
		finish(prom, NULL, &ours);
	else
		finish(prom, &answer, NULL);
}

static int on_body(void *context, struct str bytes, struct error *err)
{
	struct prom *prom = context;

	if (!buf_add_str(&prom->body, bytes))
		return error_set(err, ERROR_LIMIT, "an answer of more than %d bytes",
				 LIMIT_PROM_BODY);
	return 0;
}

/* --- the question */

static void add_encoded(struct buf *form, struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.data[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || strchr("-._~", c);

		if (plain && c != '\0')
			buf_add_char(form, c);
		else
			buf_printf(form, "%%%02X", (unsigned int)(unsigned char)c);
	}
}

static int send_query(struct prom *prom, struct str form, struct error *err)
{
	const struct http_handlers handlers = {
		.on_body = on_body, .on_done = on_done, .context = prom};
	struct buf authorization CLEANUP(buf_clear);
	struct http_header headers[] = {
		{"Accept", "application/json", false},
		{"Content-Type", "application/x-www-form-urlencoded", false},
		{"Authorization", NULL, true},
	};
	int r;

	buf_init(&authorization, 2 * LIMIT_TOKEN);
	r = authorize(prom, &authorization, err);
	headers[2].value = authorization.data;
	if (r == 0)
		r = http_send(prom->pool,
			      &(struct http_request){
				      .method = "POST",
				      .url = prom->url,
				      .headers = headers,
				      .n_headers = authorization.len > 0 ? 3 : 2,
				      .body = form,
				      .timeout_us = prom->timeout_us,
			      },
			      &handlers, NULL, err);
	if (authorization.len > 0)
		mem_wipe(authorization.data, authorization.len);
	return r;
}

int prom_query(struct prom *prom, struct str query, prom_fn done, void *context, struct error *err)
{
	struct buf form CLEANUP(buf_clear);

	if (prom->done)
		return error_set(err, ERROR_CONFLICT, "another query is under way");
	buf_init(&form, 3 * LIMIT_PROM_QUERY + 256);
	buf_printf(&form, "timeout=%lldms&query=", (long long)(prom->timeout_us / USEC_PER_MSEC));
	add_encoded(&form, query);
	if (form.overflowed)
		return error_set(err, ERROR_LIMIT, "a query of more than %d bytes",
				 LIMIT_PROM_QUERY);
	buf_reset(&prom->body);
	if (send_query(prom, buf_str(&form), err) < 0)
		return -1;
	prom->done = done;
	prom->context = context;
	return 0;
}

bool prom_is_busy(const struct prom *prom)
{
	return prom->done != NULL;
}

/* --- life */

static int new_pool(struct prom *prom, const struct prom_options *options, struct error *err)
{
	struct buf ca CLEANUP(buf_clear);

	buf_init(&ca, LIMIT_CERTIFICATE);
	if (options->ca_file && read_file(options->ca_file, false, &ca, err) < 0)
		return -1;
	return http_pool_new(prom->loop,
			     &(struct http_pool_options){
				     .name = "prometheus",
				     .tls = {.ca_pem = buf_str(&ca)},
				     .connect_timeout_us = CONNECT_US,
			     },
			     &prom->pool, err);
}

static char *copy(const char *s)
{
	return s ? mem_strdup(s) : NULL;
}

int prom_new(struct loop *loop, const struct prom_options *options, struct prom **ret_prom,
	     struct error *err)
{
	CLEANUP(prom_free) struct prom *prom = NULL;

	if (options->bearer_token_file && options->username)
		return error_set(err, ERROR_INVALID, "a bearer token and basic authentication");
	if (!options->username != !options->password_file)
		return error_set(err, ERROR_INVALID, "a user name and a password go together");
	prom = mem_alloc(sizeof(*prom));
	prom->loop = loop;
	prom->timeout_us = options->timeout_us;
	prom->url = prom_url(options->url, "/api/v1/query");
	prom->token_file = copy(options->bearer_token_file);
	prom->username = copy(options->username);
	prom->password_file = copy(options->password_file);
	buf_init(&prom->body, LIMIT_PROM_BODY);
	arena_init(&prom->arena, MEMORY);
	if (new_pool(prom, options, err) < 0)
		return -1;
	*ret_prom = TAKE(prom);
	return 0;
}

void prom_free(struct prom *prom)
{
	if (!prom)
		return;
	prom->done = NULL;
	http_pool_free(prom->pool);
	buf_clear(&prom->body);
	arena_clear(&prom->arena);
	mem_free(prom->url);
	mem_free(prom->token_file);
	mem_free(prom->username);
	mem_free(prom->password_file);
	mem_free(prom);
}
