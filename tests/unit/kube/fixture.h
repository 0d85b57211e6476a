/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_KUBE_FIXTURE_H
#define GPUQOS_TESTS_KUBE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "kube/client.h"

/* What the tests of kube share: a folder with files, and an API server that says what it is told.
 */

/* A new folder for the files of this test program, removed at the end. */
int folder_setup(void **state);
int folder_teardown(void **state);
/* The path of a file in it, borrowed until the eighth next call. */
const char *path_of(const char *name);
void write_file(const char *name, const char *text);
void write_script(const char *name, const char *text); /* executable */
/* pair NAME: NAME.pem and NAME.key, a certificate and its key. */
void make_pair(const char *name);
/* To be released with mem_free(). */
char *read_text(const char *name);
void copy_file(const char *from, const char *to);
/* Its lines as they stand in a JSON string. */
void add_escaped(struct buf *json, const char *name);

/*
 * HTTP/1.1 on 127.0.0.1, in the loop of the client: an answer is given as it stands for the
 * beginning of a request line, and requests are kept as they came.
 */
#define FAKE_REQUESTS 64

struct fake_answer {
	const char *request; /* "GET /api/v1/nodes"; the first that begins so counts */
	/* With status line; NULL: never answered. "Connection: close" in it is obeyed. */
	const char *reply;
};

struct fake_server;

struct fake_server *fake_server_new(struct loop *loop, const struct fake_answer *answers, size_t n);
void fake_server_free(struct fake_server *server);
const char *fake_server_url(const struct fake_server *server);
size_t fake_server_count(const struct fake_server *server);
const char *fake_server_request(const struct fake_server *server, size_t index);

/* Runs the loop until @condition is true; fails the test after 30 s of real time. */
#define WAIT_UNTIL(loop, condition)                                                     \
	do {                                                                            \
		int64_t wait_end = clock_monotonic(clock_system()) + 30 * USEC_PER_SEC; \
		while (!(condition)) {                                                  \
			assert_true(clock_monotonic(clock_system()) < wait_end);        \
			loop_run_once(loop, 10 * USEC_PER_MSEC);                        \
		}                                                                       \
	} while (0)

#define REPLY_JSON(status, body) \
	"HTTP/1.1 " status "\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" body

#endif
