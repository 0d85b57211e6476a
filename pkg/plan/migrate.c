/* SPDX-License-Identifier: Apache-2.0 */
/* An ordered list of reasons to stay; then the best node that fits. */
#include "plan/migrate.h"

#include "base/checked.h"
#include "base/clock.h"
#include "base/macros.h"
#include "cluster/looks.h"
#include "cluster/placing/reserve.h"
#include "cluster/read.h"

struct question {
	const struct migrate_view *view;
	uint32_t pod;
	const struct receipt_pod *self;
	struct cluster_victim victim;
	struct cluster_terms terms; /* from is_unproven() on */
	struct migrate_found *found;
};

/* --- reasons to stay */

static bool is_going(struct question *q)
{
	return q->victim.finished || q->victim.terminating ||
	       limits_names_victim(q->view->limits, q->self->uid);
}

static bool has_no_owner(struct question *q)
{
	return str_empty(q->self->owner);
}

static bool is_daemon(struct question *q)
{
	return q->victim.daemon;
}

static bool is_mirror(struct question *q)
{
	return q->victim.mirror;
}

static bool is_final(struct question *q)
{
	return q->victim.final;
}

static bool is_in_gang(struct question *q)
{
	return q->victim.gang != TABLE_NONE;
}

/* Creation times are whole seconds: of one made within the second of a receipt it is not known
 * whether it came after. */
static bool is_after(int64_t created_us, const struct receipt *receipt)
{
	return created_us >= receipt->at_us - receipt->at_us % USEC_PER_SEC;
}

static bool is_of_this(const struct question *q, const struct receipt *receipt)
{
	const struct receipt_pod *moved = &receipt->beneficiary;

	if (receipt->cause != RECEIPT_MISMATCH || receipt->outcome == RECEIPT_REFUSED)
		return false;
	if (str_equal(moved->uid, q->self->uid))
		return receipt->outcome != RECEIPT_PLANNED ||
		       q->view->protection->mode == PROTECTION_DRY_RUN;
	return receipt->outcome != RECEIPT_PLANNED && str_equal(moved->owner, q->self->owner) &&
	       str_equal(moved->namespace, q->self->namespace) &&
	       is_after(cluster_pod_name(q->view->tools->cluster, q->pod).created_us, receipt);
}

static bool was_moved(struct question *q)
{
	for (size_t i = 0; i < q->view->limits->n_own; i++) {
		const struct receipt *receipt = &q->view->limits->own[i];
		int64_t until_us = saturating_add(receipt->at_us, RECEIPT_LOOKS_BACK_US);

		if (until_us <= q->view->now_real_us || !is_of_this(q, receipt))
			continue;
		q->found->again_us = until_us;
		return true;
	}
	return false;
}

static bool is_young(struct question *q)
{
	int64_t least_us = q->victim.preemptible.min_run_us;
	int64_t until_us;

	if (q->view->protection->mode != PROTECTION_OFF)
		least_us = MAX(least_us, q->view->protection->min_run_us);
	until_us = saturating_add(q->victim.started_us, least_us);
	if (q->victim.running && until_us <= q->view->now_real_us)
		return false;
	if (q->victim.running)
		q->found->again_us = until_us;
	return true;
}

static bool is_backed_off(struct question *q)
{
	int64_t until_us = limits_owner_until(q->view->limits, q->self->namespace, q->self->owner);

	if (until_us == 0)
		return false;
	q->found->again_us = until_us;
	return true;
}

static bool is_kept_by_budget(struct question *q)
{
	return q->victim.budget == BUDGET_FORBIDS;
}

static bool is_kept_by_several(struct question *q)
{
	return q->victim.budget == BUDGET_SEVERAL;
}

static bool was_refused(struct question *q)
{
	q->found->refused = q->victim.refused;
	return q->victim.refused;
}

static bool is_limited(struct question *q)
{
	limits_decide(q->view->limits, q->view->protection, q->self, &q->found->limits);
	q->found->again_us = q->found->limits.again_us;
	return q->found->limits.left == 0;
}

static bool is_unproven(struct question *q)
{
	bool known = cluster_terms_of(q->view->tools->cluster, q->pod, q->view->tools->arena,
				      &q->terms) &&
		     cluster_terms_known(&q->terms);

	if (known)
		return false;
	q->found->doubt = q->terms.doubt;
	return true;
}

/* --- where to */

static bool is_better(const struct cluster *cluster, const struct migrate_found *best,
		      uint32_t node, int64_t score)
{
	if (best->node == TABLE_NONE || score != best->score)
		return best->node == TABLE_NONE || score > best->score;
	return str_compare(cluster_node_name(cluster, node),
			   cluster_node_name(cluster, best->node)) < 0;
}

static void look_at(struct place *place, struct cluster_terms *terms, uint32_t node,
		    struct migrate_found *found)
{
	struct place_answer answer = place_fit(place, node);
	enum host_verdict host;
	int64_t score;

	found->nodes++;
	if (answer.verdict != PLACE_FITS) {
		found->unfit[answer.verdict]++;
		return;
	}
	host = host_fit(place->tools.cluster, &place->ask, terms, node);
	if (host != HOST_FITS) {
		found->unhosted[host]++;
		return;
	}
	score = place_score(place, node).total;
	if (!is_better(place->tools.cluster, found, node, score))
		return;
	found->node = node;
	found->score = score;
	found->cards = place_cards(place, node);
}

static bool has_no_node(struct question *q)
{
	const struct cluster *cluster = q->view->tools->cluster;
	const struct cluster_trial trial = {&q->pod, 1};
	struct place_tools tools = *q->view->tools;
	struct cluster_ask ask;
	struct place place;

	tools.trial = &trial;
	cluster_ask_of_pod(cluster, q->pod, &ask);
	place_begin(&place, &tools, &ask);
	for (uint32_t node = cluster_node_next(cluster, 0); node != TABLE_NONE;
	     node = cluster_node_next(cluster, node + 1))
		if (cluster_node_exists(cluster, node) && cluster_node_offers(cluster, node) &&
		    !cluster_node_not_ready(cluster, node))
			look_at(&place, &q->terms, node, q->found);
	return q->found->node == TABLE_NONE;
}

void migrate_decide(const struct migrate_view *view, uint32_t pod, const struct receipt_pod *self,
		    struct migrate_found *ret_found)
{
	static const struct {
		enum migrate_verdict verdict;
		bool (*stays)(struct question *question);
	} reasons[] = {
		{MIGRATE_GOING, is_going},
		{MIGRATE_NO_OWNER, has_no_owner},
		{MIGRATE_DAEMON, is_daemon},
		{MIGRATE_MIRROR, is_mirror},
		{MIGRATE_FINAL, is_final},
		{MIGRATE_GANG, is_in_gang},
		{MIGRATE_MOVED, was_moved},
		{MIGRATE_YOUNG, is_young},
		{MIGRATE_BACKED_OFF, is_backed_off},
		{MIGRATE_BUDGET, is_kept_by_budget},
		{MIGRATE_BUDGETS, is_kept_by_several},
		{MIGRATE_REFUSED, was_refused},
		{MIGRATE_LIMITED, is_limited},
		{MIGRATE_UNPROVEN, is_unproven},
		{MIGRATE_NO_NODE, has_no_node},
	};
	struct migrate_found found = {.again_us = TIME_NEVER, .node = TABLE_NONE};
	struct question question = {.view = view, .pod = pod, .self = self, .found = &found};

	cluster_victim(view->tools->cluster, pod, view->now_us, view->now_real_us,
		       &question.victim);
	for (size_t i = 0; i < ARRAY_SIZE(reasons) && found.verdict == MIGRATE_MOVE; i++)
		if (reasons[i].stays(&question))
			found.verdict = reasons[i].verdict;
	*ret_found = found;
}

/* --- in words */

static void describe_nodes(const struct migrate_found *found, struct buf *buf)
{
	const char *before = ": ";

	if (found->nodes == 0)
		buf_add_cstr(buf, ": none that offers GPUs is ready");
	for (int i = 0; i < PLACE_VERDICT_COUNT; i++) {
		if (found->unfit[i] == 0)
			continue;
		buf_printf(buf, "%s%s on %u", before, place_reason((enum place_verdict)i),
			   found->unfit[i]);
		before = ", ";
	}
	host_describe(found->unhosted, before, buf);
}

void migrate_describe(const struct migrate_found *found, struct buf *buf)
{
	static const char *const texts[] = {
#define X(name, text) [MIGRATE_##name] = text,
		MIGRATE_VERDICTS(X)
#undef X
	};

	buf_add_cstr(buf, texts[found->verdict]);
	if (found->verdict == MIGRATE_NO_NODE)
		describe_nodes(found, buf);
	else if (found->verdict == MIGRATE_LIMITED)
		buf_printf(buf, ": %s", limit_verdict_text(found->limits.verdict));
	else if (found->verdict == MIGRATE_UNPROVEN)
		host_describe_doubt(&found->doubt, buf);
	else if (found->verdict == MIGRATE_REFUSED)
		buf_printf(buf, ": %s", found->refused);
}
