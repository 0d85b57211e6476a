/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies in, versions out. */
#include "controller/writes.h"

#include "api/pack.h"

/* A watch that shows nothing of our write for so long is believed as it is. */
#define EXPECT_US (30 * USEC_PER_SEC)

int write_give_body(struct work_write *write, struct buf *body, struct error *err)
{
	if (body->overflowed) {
		buf_clear(body);
		return error_set(err, ERROR_LIMIT, "%s %s/%s: the body would be over %d bytes",
				 write->type->kind, write->namespace, write->name,
				 LIMIT_JSON_OUTPUT);
	}
	write->body_len = body->len;
	write->body = buf_take(body);
	buf_clear(body);
	return 0;
}

bool write_is_unanswered(const struct error *err)
{
	if (!err || err->kind == ERROR_FENCED)
		return false;
	return err->kind == ERROR_TIMEOUT || !err->http_status || err->http_status > 500;
}

uint64_t write_answered_version(const struct kube_answer *answer, struct arena *arena)
{
	struct api_bytes object;
	struct str version;

	arena_reset(arena);
	if (api_open_answer(answer->body, answer->protobuf, &object, NULL) < 0 ||
	    api_object_version(object, arena, &version, NULL) < 0)
		return 0;
	return api_version_number(version);
}

uint64_t write_expect(struct caches *caches, const struct work_write *write,
		      const struct kube_answer *answer, struct arena *arena, int64_t now_us)
{
	uint64_t version;

	if (!answer || write->verb == KUBE_DELETE)
		return 0;
	version = write_answered_version(answer, arena);
	caches_expect(caches, write->type,
		      (struct api_identity){str_from(write->namespace), str_from(write->name)},
		      version, now_us + EXPECT_US);
	return version;
}
