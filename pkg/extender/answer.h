/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_EXTENDER_ANSWER_H
#define GPUQOS_EXTENDER_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/*
 * What the extender answers, with the keys of k8s.io/kube-scheduler/extender/v1. Each function adds
 * one JSON value to @buf; what did not fit shows as buf->overflowed. Text from outside is escaped,
 * and a byte that is no UTF-8 becomes U+FFFD. kube-scheduler takes an answer for an error when its
 * status is not 200, or its Error is not empty: prioritize and preempt have only the first way.
 */

/* Why nodes do not pass. The same few for thousands of nodes: each is escaped once. */
struct extender_reason {
	struct str text;
	bool unresolvable; /* no eviction would help: the node is not tried for preemption */
};

#define EXTENDER_LEFT_OUT UINT16_MAX /* a verdict */

/* What filter found for each of @n_names names. All borrowed. */
struct extender_filter {
	const struct str *names;
	/* 0: passes; i: does not, for reasons[i - 1]; EXTENDER_LEFT_OUT: others will do, and
	 * nothing is said of it. */
	const uint16_t *verdicts;
	size_t n_names;
	const struct extender_reason *reasons;
	size_t n_reasons;
};

/* ExtenderFilterResult. Names keep their order. Every verdict is EXTENDER_LEFT_OUT or at most
 * n_reasons: asserted. */
void extender_write_filter(struct buf *buf, const struct extender_filter *filter);
/* All pass, unread: @names_text is extender_args.names_text. */
void extender_write_filter_text(struct buf *buf, struct str names_text);
/* Nothing passes, for a reason that is no node's. @message is not empty. */
void extender_write_filter_error(struct buf *buf, struct str message);

/* HostPriorityList. @scores are 0 to 10 (asserted). No names are "[]", which leaves all at 0. */
void extender_write_scores(struct buf *buf, const struct str *names, const uint8_t *scores,
			   size_t n);

/* ExtenderBindingResult. An empty @error is success. */
void extender_write_bind(struct buf *buf, struct str error);

/* ExtenderPreemptionResult. @victims_text: extender_preempt_args.victims_text, or "{}" for nobody.
 */
void extender_write_preempt(struct buf *buf, struct str victims_text);

#endif
