/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes fit, and where none does, why: told once for each pod and set of reasons. */
#include "cluster/read.h"
#include "extender/internal.h"

/* Answers so far: equal ones share a reason. */
struct verdicts {
	struct place_answer answers[EXTENDER_REASONS];
	struct extender_reason reasons[EXTENDER_REASONS];
	uint32_t counts[EXTENDER_REASONS];
	size_t n;
	uint32_t fitting;
	uint16_t *of_names; /* as extender_filter.verdicts */
	struct best best;   /* of those that fit; most 0: all of them pass */
	size_t passing, last_passing;
};

static bool same(struct place_answer a, struct place_answer b)
{
	return a.verdict == b.verdict && a.detail == b.detail;
}

static struct str text_of(struct extender *extender, struct place_answer answer)
{
	struct buf text CLEANUP(buf_clear);
	char *copy;

	buf_init(&text, LIMIT_EVENT_NOTE);
	place_describe(&extender->place, answer, &text);
	copy = arena_strndup(&extender->arena, text.data, text.len);
	return copy ? (struct str){copy, text.len} : STR("it does not fit");
}

/* The number of the reason: from 1. The last one stands for all that are too many. */
static uint16_t reason_of(struct extender *extender, struct verdicts *v, struct place_answer answer)
{
	size_t i = 0;

	while (i < v->n && i < EXTENDER_REASONS - 1 && !same(v->answers[i], answer))
		i++;
	if (i == v->n) {
		bool other = i == EXTENDER_REASONS - 1;

		v->answers[i] = answer;
		v->reasons[i] = (struct extender_reason){other ? STR("other reasons")
							       : text_of(extender, answer),
							 !other && !place_is_resolvable(answer)};
		v->counts[i] = 0;
		v->n++;
	}
	v->counts[i]++;
	return (uint16_t)(i + 1);
}

static uint16_t judge(struct extender *extender, struct verdicts *v, uint32_t node)
{
	struct place_answer answer = {PLACE_NO_NODE, 0};

	if (node != TABLE_NONE)
		answer = place_fit(&extender->place, node);
	if (answer.verdict != PLACE_FITS)
		return reason_of(extender, v, answer);
	v->fitting++;
	return 0;
}

/* --- what people are told */

static void write_refusal(const struct verdicts *v, size_t n_names, struct buf *note)
{
	buf_printf(note, "0 of %zu nodes fit: ", n_names);
	for (size_t i = 0; i < v->n; i++)
		buf_printf(note, "%s%u: %.*s", i == 0 ? "" : "; ", v->counts[i],
			   STR_ARGS(v->reasons[i].text));
}

/* The verdicts that some node had, each a bit. How many nodes had them changes all the time. */
static uint32_t verdicts_met(const struct verdicts *v)
{
	uint32_t met = 0;

	for (size_t i = 0; i < v->n; i++)
		met |= UINT32_C(1) << v->answers[i].verdict;
	return met;
}

_Static_assert(PLACE_VERDICT_COUNT <= 32, "verdicts are bits of a word");

static void tell(struct extender *extender, const struct question *question, uint32_t met,
		 struct str note)
{
	const struct extender_options *options = &extender->options;
	uint64_t hash = hash_u64_pair(&options->hash_key, question->uid, met);
	uint64_t *told = &extender->told[question->uid % EXTENDER_TOLD];

	if (*told == hash)
		return;
	*told = hash;
	recorder_event(options->recorder,
		       &(struct recorder_event){
			       .regarding = {STR("v1"), STR("Pod"), question->pod.namespace,
					     question->pod.name, question->pod.uid},
			       .type = "Warning",
			       .reason = "NoGpuNodeFits",
			       .action = "Place",
			       .note = note,
		       });
}

static void refuse_all(struct extender *extender, const struct question *question,
		       const struct verdicts *v)
{
	struct buf note CLEANUP(buf_clear);
	uint32_t met = verdicts_met(v);

	buf_init(&note, 2 * LIMIT_EVENT_NOTE);
	write_refusal(v, question->args.n_names, &note);
	tell(extender, question, met, buf_str(&note));
	for (unsigned int i = 0; i < PLACE_VERDICT_COUNT; i++)
		if (met >> i & 1)
			metric_add(extender->refusals,
				   (const char *[]){place_reason((enum place_verdict)i)}, 1);
}

/* --- the verb */

static void pass(struct verdicts *v, size_t at)
{
	v->of_names[at] = 0;
	v->passing++;
	v->last_passing = at;
}

static void pass_best(const struct extender *extender, struct verdicts *v)
{
	int64_t least;

	if (v->best.len == 0)
		return;
	least = rank_least(extender, best_total(&v->best));
	for (size_t i = 0; i < v->best.len; i++)
		if (v->best.items[i].total >= least)
			pass(v, v->best.items[i].at);
}

/*
 * All names are judged; of those that fit only the best pass, as rank_least() has it. Of one that
 * passes alone prioritize is not asked.
 */
static void judge_all(struct extender *extender, const struct question *question,
		      const uint32_t *nodes, struct verdicts *v)
{
	size_t n = question->args.n_names;
	struct soft_set taken;

	soft_set_make(extender, question->uid, &taken);
	for (size_t i = 0; i < n; i++) {
		place_ahead(&extender->place, &nodes[i], n - i);
		v->of_names[i] = judge(extender, v, nodes[i]);
		if (v->of_names[i] != 0)
			continue;
		if (v->best.most == 0) {
			pass(v, i);
			continue;
		}
		best_offer(&v->best, rank_total(extender, &taken, nodes[i]), i);
		v->of_names[i] = EXTENDER_LEFT_OUT;
	}
	pass_best(extender, v);
	if (v->passing == 1)
		soft_take(extender, question->uid, nodes[v->last_passing]);
}

/* -1: there is no memory for so many. */
static int make_room(struct extender *extender, const struct question *question, struct verdicts *v,
		     uint32_t **ret_nodes)
{
	size_t n = question->args.n_names, most = extender->options.candidates;

	v->of_names = arena_alloc(&extender->arena, (n + 1) * sizeof(*v->of_names));
	*ret_nodes = arena_alloc(&extender->arena, (n + 1) * sizeof(**ret_nodes));
	if (!v->of_names || !*ret_nodes)
		return -1;
	if (most == 0 || most > n)
		most = n;
	if (n == 0 || question->args.has_wishes ||
	    (most == n && extender->options.margin >= PLACEMENT_MARGIN_MOST))
		return 0;
	return best_init(&v->best, &extender->arena, most);
}

static void filter(struct extender *extender, const struct question *question, struct buf *answer)
{
	size_t n = question->args.n_names;
	struct verdicts v = {.n = 0};
	uint32_t *nodes;

	if (make_room(extender, question, &v, &nodes) < 0) {
		extender_write_filter_error(answer, STR("gpuqos: too many nodes in one call"));
		return;
	}
	names_find(extender, question->args.names, n, nodes);
	judge_all(extender, question, nodes, &v);
	if (v.fitting == 0 && n > 0)
		refuse_all(extender, question, &v);
	extender_write_filter(answer, &(struct extender_filter){
					      .names = question->args.names,
					      .verdicts = v.of_names,
					      .n_names = n,
					      .reasons = v.reasons,
					      .n_reasons = v.n,
				      });
}

/* Only the node that the pod may be bound to already passes; where it does not, all is tried again.
 */
static void filter_bound(struct extender *extender, const struct question *question, uint32_t node,
			 struct buf *answer)
{
	static const uint16_t passes = 0;
	struct str name = cluster_node_name(extender->options.cluster, node);
	struct buf why CLEANUP(buf_clear);
	bool offered = false;

	buf_init(&why, LIMIT_EVENT_NOTE);
	for (size_t i = 0; i < question->args.n_names && !offered; i++)
		offered = str_equal(question->args.names[i], name);
	if (offered && place_fit(&extender->place, node).verdict == PLACE_FITS) {
		extender_write_filter(answer, &(struct extender_filter){
						      .names = &name,
						      .verdicts = &passes,
						      .n_names = 1,
					      });
		return;
	}
	question_describe_bound(extender, node, &why);
	extender_write_filter_error(answer, buf_str(&why));
}

void verb_filter(struct extender *extender, struct str body, struct buf *answer)
{
	struct question question;
	uint32_t bound_for = TABLE_NONE;
	struct error err = {0};

	if (question_read(extender, body, &question, &err) < 0) {
		extender_write_filter_error(answer, str_from(err.message));
		return;
	}
	if (question.gpus)
		bound_for = question_bound_for(extender, extender->place.ask.pod);
	if (!question.gpus)
		extender_write_filter_text(answer, question.args.names_text);
	else if (extender->place.ask.claim_unseen)
		extender_write_filter_error(answer, STR(EXTENDER_CLAIM_UNSEEN));
	else if (bound_for != TABLE_NONE)
		filter_bound(extender, &question, bound_for, answer);
	else if (!question.seen && !unseen_add(extender, question.uid))
		extender_write_filter_error(
			answer, STR("gpuqos has not seen this pod yet, nor many others: its watch "
				    "of pods is behind"));
	else
		filter(extender, &question, answer);
}
