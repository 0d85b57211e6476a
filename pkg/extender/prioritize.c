/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes are better. kube-scheduler takes whole numbers from 0 to 10, and adds what its own
 * plugins say: the best node alone gets 10, the others a share of 9, so that no rounding makes an
 * equal of it.
 */
#include "api/pack.h"
#include "base/macros.h"
#include "cluster/read.h"
#include "extender/internal.h"
#include "quota/charge.h"

#define SCORE_BEST 10

static int64_t total_of(struct extender *extender, const struct question *question, struct str name)
{
	uint32_t node = cluster_node_find(extender->options.cluster, name);
	int64_t total;

	if (node == TABLE_NONE)
		return -PLACE_TERM_MOST;
	total = place_score(&extender->place, node).total;
	return soft_is_taken(extender, question->uid, node) ? total - PLACE_TERM_MOST : total;
}

static uint8_t share(int64_t total, int64_t least, int64_t most)
{
	if (total == most)
		return SCORE_BEST;
	return (uint8_t)((total - least) * (SCORE_BEST - 1) / (most - least));
}

static void prioritize(struct extender *extender, const struct question *question, int64_t *totals,
		       uint8_t *scores)
{
	const struct extender_args *args = &question->args;
	int64_t least = INT64_MAX, most = INT64_MIN;
	size_t best = 0;

	for (size_t i = 0; i < args->n_names; i++) {
		totals[i] = total_of(extender, question, args->names[i]);
		least = MIN(least, totals[i]);
		if (totals[i] > most)
			best = i;
		most = MAX(most, totals[i]);
	}
	for (size_t i = 0; i < args->n_names; i++)
		scores[i] = share(totals[i], least, most);
	if (args->n_names > 0)
		soft_take(extender, question->uid,
			  cluster_node_find(extender->options.cluster, args->names[best]));
}

int verb_prioritize(struct extender *extender, struct str body, struct buf *answer,
		    struct error *err)
{
	struct question question;
	int64_t *totals;
	uint8_t *scores;

	if (question_read(extender, body, &question, err) < 0)
		return -1;
	if (!question.gpus) {
		extender_write_scores(answer, NULL, NULL, 0);
		return 0;
	}
	totals = arena_alloc(&extender->arena, (question.args.n_names + 1) * sizeof(*totals));
	scores = arena_alloc(&extender->arena, question.args.n_names + 1);
	if (!totals || !scores)
		return error_set(err, ERROR_LIMIT, "too many nodes in one call");
	prioritize(extender, &question, totals, scores);
	extender_write_scores(answer, question.args.names, scores, question.args.n_names);
	return 0;
}

/* Nobody is to go for a pod with GPUs; of other pods kube-scheduler's choice stands. */
int verb_preempt(struct extender *extender, struct str body, struct buf *answer, struct error *err)
{
	struct extender_preempt_args args;
	struct pod_facts pod;
	struct device_ask row;

	arena_reset(&extender->arena);
	if (extender_read_preempt(body, &extender->arena, &args, err) < 0 ||
	    api_pack_pod(&args.pod, extender->options.table, &extender->arena, &pod, err) < 0)
		return -1;
	extender_write_preempt(answer, quota_pod_request(&pod, &row, 1) > 0 ? STR("{}")
									    : args.victims_text);
	return 0;
}
