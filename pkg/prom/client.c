/* SPDX-License-Identifier: Apache-2.0 */
/* A POST, since queries are longer than what servers take in a URL. */
#include "prom/client.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "prom/server.h"

#define MEMORY (32 * 1024 * 1024) /* of one answer, read */

struct prom {
	struct prom_server server;
	int64_t timeout_us;
	prom_fn done; /* NULL: nothing is under way */
	void *context;
	struct buf body;
	struct arena arena;
};

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

	return prom_server_post(
		&prom->server,
		&(struct prom_post){"application/x-www-form-urlencoded", form, prom->timeout_us},
		&handlers, err);
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

int prom_new(struct loop *loop, const struct prom_options *options, struct prom **ret_prom,
	     struct error *err)
{
	CLEANUP(prom_free) struct prom *prom = mem_alloc(sizeof(*prom));

	prom->timeout_us = options->timeout_us;
	buf_init(&prom->body, LIMIT_PROM_BODY);
	arena_init(&prom->arena, MEMORY);
	if (prom_server_init(&prom->server, loop,
			     &(struct prom_place){"prometheus", "/api/v1/query", &options->access},
			     err) < 0)
		return -1;
	*ret_prom = TAKE(prom);
	return 0;
}

void prom_free(struct prom *prom)
{
	if (!prom)
		return;
	prom->done = NULL;
	prom_server_clear(&prom->server);
	buf_clear(&prom->body);
	arena_clear(&prom->arena);
	mem_free(prom);
}
