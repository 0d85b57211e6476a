/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_PUBLISH_H
#define GPUQOS_AGENT_PUBLISH_H

#include "base/buf.h"
#include "base/error.h"
#include "ctl/backoff.h"
#include "model/layout.h"

/*
 * When the Node is read, and when its annotation is written: a state machine without I/O. Its owner
 * asks for the next step whenever no request is under way, does it, and tells what came of it.
 *
 * The annotation is written where it differs from what is wanted, whoever made it differ, and never
 * twice within the write interval, failures included. It is read before it is first written, since
 * another run of the agent may have written the same; then from time to time, and after each
 * failure. Generations count on from what the Node has, as far as that can be read and is no larger
 * than PUBLISH_GENERATION_MAX, and from our own. Times are monotonic µs.
 */
struct publish_options {
	int64_t spread_us; /* all agents of a cluster may start at once: the first read waits for up
			      to as long */
	int64_t write_interval_us, read_interval_us; /* > 0; the second with up to 20 % more */
	uint64_t seed;
};

/* What a counter that anybody can write is believed to have reached; after it comes 1 again. */
#define PUBLISH_GENERATION_MAX (UINT64_C(1) << 53)

struct publish {
	struct publish_options options;
	struct random random;
	struct backoff backoff;
	const struct layout *wanted; /* borrowed; NULL: not known yet */
	struct buf seen;             /* the annotation as the Node had it last */
	bool has_seen, differs;
	uint64_t generation;       /* the highest that is ours */
	int64_t read_us, write_us; /* not before */
};

enum publish_action {
	PUBLISH_WAIT,  /* ask again at until_us, or when something was told */
	PUBLISH_READ,  /* get the Node */
	PUBLISH_WRITE, /* apply the layout with `generation` */
};

struct publish_step {
	enum publish_action action;
	uint64_t generation;
	int64_t until_us;
};

void publish_init(struct publish *publish, const struct publish_options *options, int64_t now_us);
void publish_clear(struct publish *publish);

/* What is to be published from now on; its generation is of no account. Borrowed until the next. */
void publish_want(struct publish *publish, const struct layout *layout);
struct publish_step publish_next(struct publish *publish, int64_t now_us);

/* The Node was read, or written, and has this annotation; empty: none. */
void publish_on_read(struct publish *publish, struct str annotation, int64_t now_us);
void publish_on_written(struct publish *publish, struct str annotation, int64_t now_us);
/* Either failed. NOT_FOUND: there is no such Node, and what is said of it is forgotten. */
void publish_on_failed(struct publish *publish, const struct error *err, int64_t now_us);

/* The Node has what is wanted, as far as is known. */
bool publish_done(const struct publish *publish);

DEFINE_CLEAR(struct publish, publish_clear)

#endif
