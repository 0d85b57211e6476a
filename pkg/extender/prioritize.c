/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes are better. kube-scheduler takes whole numbers from 0 to 10, and adds what its own
 * plugins say: the best gets 10, and so does who is exactly as good; the others get a share of 9,
 * so that no rounding makes an equal of it.
 */
#include "api/pack.h"
#include "base/macros.h"
#include "cluster/read.h"
#include "extender/internal.h"

#define SCORE_BEST 10

/* Of each name. */
struct ranking {
	uint32_t *nodes;
	int64_t *totals;
	uint8_t *scores;
};

static uint8_t share(int64_t total, int64_t least, int64_t most)
{
	if (total == most || most == least)
		return SCORE_BEST;
	return (uint8_t)((total - least) * (SCORE_BEST - 1) / (most - least));
}

static void prioritize(struct extender *extender, const struct question *question,
		       const struct ranking *ranking)
{
	const struct extender_args *args = &question->args;
	int64_t *totals = ranking->totals;
	struct soft_set taken;
	int64_t least = INT64_MAX, most = INT64_MIN;
	size_t best = 0;

	soft_set_make(extender, question->uid, &taken);
	names_find(extender, args->names, args->n_names, ranking->nodes);
	for (size_t i = 0; i < args->n_names; i++) {
		place_ahead(&extender->place, &ranking->nodes[i], args->n_names - i);
		totals[i] = rank_total(extender, &taken, ranking->nodes[i]);
		least = MIN(least, totals[i]);
		if (totals[i] > most)
			best = i;
		most = MAX(most, totals[i]);
	}
	for (size_t i = 0; i < args->n_names; i++)
		ranking->scores[i] = share(totals[i], least, most);
	if (args->n_names > 0)
		soft_take(extender, question->uid, ranking->nodes[best]);
}

int verb_prioritize(struct extender *extender, struct str body, struct buf *answer,
		    struct error *err)
{
	struct question question;
	struct ranking ranking;
	size_t n;

	if (question_read(extender, body, &question, err) < 0)
		return -1;
	if (!question.gpus) {
		extender_write_scores(answer, NULL, NULL, 0);
		return 0;
	}
	n = question.args.n_names;
	ranking.nodes = arena_alloc(&extender->arena, (n + 1) * sizeof(*ranking.nodes));
	ranking.totals = arena_alloc(&extender->arena, (n + 1) * sizeof(*ranking.totals));
	ranking.scores = arena_alloc(&extender->arena, n + 1);
	if (!ranking.nodes || !ranking.totals || !ranking.scores)
		return error_set(err, ERROR_LIMIT, "too many nodes in one call");
	prioritize(extender, &question, &ranking);
	extender_write_scores(answer, question.args.names, ranking.scores, n);
	return 0;
}

static bool takes_gpus(struct extender *extender, const struct pod_facts *pod)
{
	struct cluster_ask *ask = &extender->place.ask;

	if (pod->n_claims > 0)
		cluster_ask_of(extender->options.cluster, pod, ask);
	return pod_asks_for_gpus(pod) ||
	       (pod->n_claims > 0 && (ask->n_claims > 0 || ask->claim_unseen));
}

/* Nobody is to go for a pod with GPUs; of other pods kube-scheduler's choice stands. */
int verb_preempt(struct extender *extender, struct str body, struct buf *answer, struct error *err)
{
	struct extender_preempt_args args;
	struct pod_facts pod;

	arena_reset(&extender->arena);
	if (extender_read_preempt(body, &extender->arena, &args, err) < 0 ||
	    api_pack_pod(&args.pod, extender->options.table, &extender->arena, &pod, err) < 0)
		return -1;
	extender_write_preempt(answer, takes_gpus(extender, &pod) ? STR("{}") : args.victims_text);
	return 0;
}
