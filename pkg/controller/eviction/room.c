/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PendingPod: room for a pod that waits too long. One plan at a time is searched, some nodes of it
 * in each turn of the loop, so that kube-scheduler's questions never wait for it; it ends with its
 * pod, and where another tenant waits for its turn too long.
 */
#include "base/checked.h"
#include "base/mem.h"
#include "cluster/looks.h"
#include "cluster/placing/assume.h"
#include "cluster/read.h"
#include "cluster/tenants/objectives.h"
#include "cluster/tenants/tenants.h"
#include "controller/evict_write.h"
#include "controller/eviction/turn.h"
#include "plan/cause.h"

#define PLAN_MOST_US      (5 * USEC_PER_SEC) /* then another tenant's turn has come */
#define ANOTHER_US        (USEC_PER_SEC / 10)
#define VAIN_US           (10 * USEC_PER_SEC) /* until it is tried again, twice as long each time */
#define VAIN_DOUBLINGS    3
#define VAIN_MOST_US      (VAIN_US << VAIN_DOUBLINGS)
#define VAIN_FORGOTTEN_US (600 * USEC_PER_SEC) /* then it begins anew, with an Event */
/* What may be known in a moment is looked at so often, and waited for so long at most; once that is
 * over it is not waited for again for that pod until so much later. */
#define MOMENT_US          (USEC_PER_SEC / 4)
#define MOMENT_MOST_US     (10 * USEC_PER_SEC)
#define HASTY_FORGOTTEN_US (60 * USEC_PER_SEC)

/* --- the plan that is under way */

void eviction_search_init(struct eviction_search *search)
{
	arena_init(&search->arena, LIMIT_DECODE_ARENA);
	arena_init(&search->kept, LIMIT_DECODE_ARENA);
	arena_init(&search->scratch, LIMIT_DECODE_ARENA);
	search->memory = mem_alloc(sizeof(*search->memory));
}

static void drop(struct eviction_search *search)
{
	plan_free(search->plan);
	search->plan = NULL;
}

void eviction_search_clear(struct eviction_search *search)
{
	drop(search);
	if (search->memory)
		place_memory_clear(search->memory);
	mem_free(search->memory);
	arena_clear(&search->arena);
	arena_clear(&search->kept);
	arena_clear(&search->scratch);
	*search = (struct eviction_search){0};
}

static bool is_ours(const struct eviction_turn *turn)
{
	const struct eviction_search *search = &turn->reconciler->search;

	return search->plan && search->tenant == turn->tenant;
}

static bool still_waits(const struct eviction_turn *turn)
{
	const struct eviction_search *search = &turn->reconciler->search;
	const struct cluster *cluster = turn->reconciler->cluster;

	return cluster_pod_is(cluster, search->pod, search->uid) &&
	       cluster_pod_waits(cluster, search->pod);
}

static bool is_to_go_on(const struct eviction_turn *turn)
{
	return still_waits(turn) && turn->reconciler->search.generation == turn->facts.generation;
}

/* --- those for whom nothing was found */

/* The tenant's objectives that are bad, a bit for each by its index; with @pod as the worst, or
 * whichever with TABLE_NONE. */
static uint32_t bad_objectives(const struct eviction_turn *turn, uint32_t pod)
{
	const struct cluster *cluster = turn->reconciler->cluster;
	uint32_t bad = 0;

	_Static_assert(LIMIT_OBJECTIVES <= 32, "a bit for each");
	for (size_t i = 0; i < cluster_objective_count(cluster, turn->tenant); i++) {
		struct cluster_objective objective = cluster_objective(cluster, turn->tenant, i);

		if (slo_is_bad(objective.verdict) && (pod == TABLE_NONE || objective.pod == pod))
			bad |= UINT32_C(1) << i;
	}
	return bad;
}

static struct eviction_vain new_vain(const struct eviction_turn *turn, uint32_t pod)
{
	return (struct eviction_vain){
		.uid = cluster_pod_uid(turn->reconciler->cluster, pod),
		.tenant = turn->tenant,
		.pod = pod,
		.objectives = bad_objectives(turn, pod),
	};
}

static struct eviction_vain *find_vain(const struct eviction_turn *turn, uint32_t pod)
{
	struct eviction_search *search = &turn->reconciler->search;
	struct uid uid = cluster_pod_uid(turn->reconciler->cluster, pod);

	for (size_t i = 0; i < EVICTION_VAIN_MOST; i++)
		if (search->vain[i].again_us > 0 && search->vain[i].tenant == turn->tenant &&
		    uid_equal(search->vain[i].uid, uid))
			return &search->vain[i];
	return NULL;
}

/* Where all are in use the one that is due first is forgotten: it is tried earlier than need be. */
static struct eviction_vain *make_vain(const struct eviction_turn *turn, uint32_t pod)
{
	struct eviction_search *search = &turn->reconciler->search;
	struct eviction_vain *oldest = &search->vain[0];

	for (size_t i = 0; i < EVICTION_VAIN_MOST && oldest->again_us > 0; i++)
		if (search->vain[i].again_us < oldest->again_us)
			oldest = &search->vain[i];
	*oldest = new_vain(turn, pod);
	return oldest;
}

/* One that is about to be bound is in need until it is: where that fails it waits on. */
static bool waits_too_long(struct eviction_turn *turn, uint32_t pod)
{
	const struct cluster *cluster = turn->reconciler->cluster;
	int64_t pending_us = cluster_pending_us(cluster, turn->tenant);
	bool assumed = cluster_pod_assumed(cluster, pod);
	struct cluster_victim self;

	if ((!assumed && !cluster_pod_waits(cluster, pod)) || pending_us == AMOUNT_NONE)
		return false;
	cluster_victim(cluster, pod, turn->now_us, turn->now_real_us, &self);
	if (self.tenant != turn->tenant || saturating_add(cluster_pod_name(cluster, pod).created_us,
							  pending_us) > turn->now_real_us)
		return false;
	turn->undecided |= assumed;
	return true;
}

/* That of an objective goes on whichever of its pods is the worst by now. */
static bool is_in_need(struct eviction_turn *turn, struct eviction_vain *vain)
{
	if (!cluster_pod_is(turn->reconciler->cluster, vain->pod, vain->uid))
		return false;
	vain->objectives &= bad_objectives(turn, TABLE_NONE);
	if (vain->objectives == 0)
		return waits_too_long(turn, vain->pod);
	vain->objectives |= bad_objectives(turn, vain->pod);
	return true;
}

void eviction_forget_met(struct eviction_turn *turn)
{
	struct eviction_search *search = &turn->reconciler->search;

	for (size_t i = 0; i < EVICTION_VAIN_MOST; i++) {
		struct eviction_vain *vain = &search->vain[i];

		if (vain->again_us > 0 && vain->tenant == turn->tenant && !is_in_need(turn, vain))
			*vain = (struct eviction_vain){0};
	}
}

/* Nobody is to be helped. */
static void forget_all(struct eviction_turn *turn)
{
	struct eviction_search *search = &turn->reconciler->search;

	for (size_t i = 0; i < EVICTION_VAIN_MOST; i++)
		if (search->vain[i].tenant == turn->tenant)
			search->vain[i] = (struct eviction_vain){0};
}

static void tell_in_vain(struct eviction_turn *turn, const struct receipt_pod *self, bool event,
			 struct str why)
{
	struct buf note;

	buf_init(&note, LIMIT_EVENT_NOTE);
	buf_printf(&note, "Nobody is evicted for pod %.*s/%.*s, ", STR_ARGS(self->namespace),
		   STR_ARGS(self->name));
	buf_add_str(&note, why);
	buf_add_cstr(&note, ".");
	if (!turn->in_vain)
		cluster_tell_unhelped(turn->reconciler->cluster, turn->tenant, buf_str(&note));
	turn->in_vain = true;
	if (event)
		recorder_event(turn->reconciler->recorder,
			       &(struct recorder_event){{STR("v1"), str_from(api_pods.kind),
							 self->namespace, self->name, self->uid},
							"Warning",
							"NobodyMayGo",
							EVICT_ACTION,
							buf_str(&note)});
	buf_clear(&note);
}

void eviction_in_vain(struct eviction_turn *turn, uint32_t pod, const struct receipt_pod *self,
		      struct str why)
{
	struct eviction_vain *vain = find_vain(turn, pod);
	bool event;

	if (!vain)
		vain = make_vain(turn, pod);
	else if (saturating_add(vain->again_us, VAIN_FORGOTTEN_US) < turn->now_real_us)
		*vain = new_vain(turn, pod);
	event = !vain->told && !limits_helps(&turn->limits, self);
	tell_in_vain(turn, self, event, why);
	vain->told |= event;
	vain->again_us = saturating_add(turn->now_real_us,
					VAIN_US << MIN(vain->tries, (uint32_t)VAIN_DOUBLINGS));
	vain->tries++;
	eviction_look_again(turn, vain->again_us);
}

/* What is further ahead was said by a clock that has been set back. */
bool eviction_waits_in_vain(struct eviction_turn *turn, uint32_t pod)
{
	const struct eviction_vain *vain = find_vain(turn, pod);

	if (!vain || vain->again_us <= turn->now_real_us ||
	    vain->again_us > saturating_add(turn->now_real_us, VAIN_MOST_US))
		return false;
	turn->in_vain = true;
	eviction_look_again(turn, vain->again_us);
	return true;
}

/* --- what is known in a moment */

static bool is_hasty(const struct eviction_turn *turn, uint32_t pod)
{
	const struct eviction_vain *vain = find_vain(turn, pod);

	return vain && vain->hasty_us > 0 && vain->hasty_us <= turn->now_real_us &&
	       turn->now_real_us < vain->hasty_us + HASTY_FORGOTTEN_US;
}

/* None is under way, by a clock that may have been set back. */
static bool is_new_wait(const struct eviction_vain *vain, int64_t now_real_us)
{
	return vain->hasty_us + HASTY_FORGOTTEN_US <= now_real_us ||
	       vain->hasty_us > now_real_us + MOMENT_MOST_US;
}

/* Others have their turn meanwhile. */
static void wait_a_moment(struct eviction_turn *turn, const struct receipt_pod *self)
{
	struct eviction_search *search = &turn->reconciler->search;
	struct eviction_vain *vain = find_vain(turn, search->pod);
	struct buf why;

	if (!vain)
		vain = make_vain(turn, search->pod);
	if (is_new_wait(vain, turn->now_real_us))
		vain->hasty_us = saturating_add(turn->now_real_us, MOMENT_MOST_US);
	vain->again_us = turn->now_real_us + MOMENT_US;
	eviction_look_again(turn, vain->again_us);
	buf_init(&why, LIMIT_EVENT_NOTE);
	buf_add_cstr(&why, "which waits a moment longer: ");
	plan_describe(search->plan, &why);
	turn->in_vain = false; /* what was told before the search is over */
	tell_in_vain(turn, self, false, buf_str(&why));
	buf_clear(&why);
	drop(search);
}

static void give_up(struct eviction_turn *turn, const struct receipt_pod *self, struct str why)
{
	struct buf text;

	buf_init(&text, LIMIT_EVENT_NOTE);
	buf_printf(&text, "which waits: %.*s", STR_ARGS(why));
	turn->in_vain = false; /* what was told before the search is over */
	eviction_in_vain(turn, turn->reconciler->search.pod, self, buf_str(&text));
	buf_clear(&text);
	drop(&turn->reconciler->search);
}

static void give_up_plan(struct eviction_turn *turn, const struct receipt_pod *self)
{
	struct buf why;

	buf_init(&why, LIMIT_EVENT_NOTE);
	plan_describe(turn->reconciler->search.plan, &why);
	give_up(turn, self, buf_str(&why));
	buf_clear(&why);
}

/* --- the receipt */

static const char *why_spared(const struct cluster *cluster, const struct plan_ask *ask,
			      uint32_t pod)
{
	struct cluster_victim victim;
	enum plan_exemption exemption;

	cluster_victim(cluster, pod, ask->now_us, ask->now_real_us, &victim);
	exemption = plan_exempt(ask, pod, &victim);
	return exemption == PLAN_NONE ? "others are enough, and cost less"
				      : plan_exemption_text(exemption);
}

/* Of the node that is chosen; the plan's proof counts those of all. */
static bool spare(struct eviction_turn *turn, const struct plan_found *found, struct receipt *draft)
{
	const struct eviction_choice choice = {
		.node = found->node,
		.victims = found->victims,
		.n_victims = found->n_victims,
		.ask = &turn->reconciler->search.ask,
		.why = why_spared,
	};

	return eviction_spare(turn, &choice, draft);
}

static struct str describe_proof(struct eviction_turn *turn, const struct receipt_pod *self)
{
	struct eviction_search *search = &turn->reconciler->search;
	int64_t waited_us = turn->now_real_us -
			    cluster_pod_name(turn->reconciler->cluster, search->pod).created_us;
	struct buf text;

	buf_init(&text, LIMIT_RECEIPT_TEXT);
	buf_printf(&text, "Pod %.*s has waited %lld seconds for a node, and %lld are allowed: ",
		   STR_ARGS(self->name), (long long)(waited_us / USEC_PER_SEC),
		   (long long)(turn->facts.spec.pending_us / USEC_PER_SEC));
	plan_describe(search->plan, &text);
	buf_add_cstr(&text, ".");
	return eviction_text_take(turn, &text);
}

/* What other receipts took since the search began. */
static bool still_may_go(const struct eviction_turn *turn, const struct receipt *receipt)
{
	struct limits_answer limits;

	limits_decide(&turn->limits, &turn->facts.spec.protection, &receipt->beneficiary, &limits);
	if (limits.left < receipt->n_victims)
		return false;
	for (size_t i = 0; i < receipt->n_victims; i++) {
		const struct receipt_pod *victim = &receipt->victims[i];

		if (limits_names_victim(&turn->limits, victim->uid) ||
		    limits_owner_until(&turn->limits, victim->namespace, victim->owner) >
			    turn->now_real_us)
			return false;
	}
	return true;
}

static void issue(struct eviction_turn *turn, const struct receipt_pod *self,
		  const struct plan_found *found)
{
	struct eviction_search *search = &turn->reconciler->search;
	struct receipt draft = {
		.cause = RECEIPT_PENDING,
		.beneficiary = *self,
		.node = cluster_node_name(turn->reconciler->cluster, found->node),
		.cards = found->cards,
		.proof = describe_proof(turn, self),
		.victims = eviction_name_pods(turn, found->victims, found->n_victims),
		.n_victims = found->n_victims,
	};

	if (!draft.victims || !spare(turn, found, &draft) || !still_may_go(turn, &draft)) {
		give_up(turn, self, STR("the limits changed while it was looked for"));
		return;
	}
	eviction_issue(turn, &draft, search->pod);
	drop(search);
}

/* --- the search */

/* True: all nodes were looked at; false: more are in the loop's next turn. */
static bool look_further(struct eviction_turn *turn)
{
	struct eviction_search *search = &turn->reconciler->search;

	search->ask.now_us = turn->now_us;
	search->ask.now_real_us = turn->now_real_us;
	if (plan_step(search->plan, PLAN_STEP_NODES))
		return true;
	turn->set->look_again_us = turn->now_us;
	return false;
}

bool eviction_searches(struct eviction_turn *turn)
{
	return is_ours(turn) && still_waits(turn) && !look_further(turn);
}

static void go_on(struct eviction_turn *turn)
{
	struct eviction_search *search = &turn->reconciler->search;
	struct receipt_pod self;
	struct plan_found found;

	if (!look_further(turn))
		return;
	if (!eviction_name_pod(turn, search->pod, &self))
		drop(search);
	else if (plan_finish(search->plan, &found))
		issue(turn, &self, &found);
	else if (plan_in_doubt(search->plan))
		wait_a_moment(turn, &self);
	else
		give_up_plan(turn, &self);
}

static bool begin(struct eviction_turn *turn, uint32_t pod, size_t most)
{
	struct eviction_reconciler *reconciler = turn->reconciler;
	struct eviction_search *search = &reconciler->search;
	struct place_tools tools = {
		.cluster = reconciler->cluster,
		.weights = &reconciler->config->weights,
		.memory = search->memory,
		.arena = &search->arena,
	};

	search->ask = eviction_plan_ask(turn, pod, most);
	search->ask.hasty = is_hasty(turn, pod);
	arena_reset(&search->kept);
	if (!cause_left_alone(reconciler->cluster, &turn->limits, &search->kept,
			      &search->ask.left_alone))
		return false;
	search->tenant = turn->tenant;
	search->pod = pod;
	search->uid = cluster_pod_uid(reconciler->cluster, pod);
	search->generation = turn->facts.generation;
	search->until_us = turn->now_us + PLAN_MOST_US;
	search->plan = plan_new(&tools, &search->ask);
	return true;
}

static bool is_served(const struct eviction_turn *turn, const struct receipt_pod *pod)
{
	return cause_is_served(&turn->limits, turn->facts.spec.protection.mode, pod);
}

/* Whether its turn is now: neither served, nor in vain lately, nor beyond the limits. */
static bool is_next(struct eviction_turn *turn, uint32_t pod, size_t *ret_most)
{
	struct limits_answer limits;
	struct receipt_pod self;
	struct buf why;

	if (!eviction_name_pod(turn, pod, &self) || is_served(turn, &self) ||
	    eviction_waits_in_vain(turn, pod))
		return false;
	limits_decide(&turn->limits, &turn->facts.spec.protection, &self, &limits);
	*ret_most = limits.left;
	if (limits.verdict == LIMITED_FREE)
		return true;
	buf_init(&why, LIMIT_EVENT_NOTE);
	buf_printf(&why, "which waits: %s", limit_verdict_text(limits.verdict));
	tell_in_vain(turn, &self, false, buf_str(&why));
	buf_clear(&why);
	eviction_look_again(turn, MIN(limits.again_us, turn->now_real_us + VAIN_US));
	return false;
}

static void look_for_next(struct eviction_turn *turn, const struct cause_waiters *waiters)
{
	struct eviction_search *search = &turn->reconciler->search;
	size_t most;

	for (size_t i = 0; i < waiters->n; i++) {
		if (!is_next(turn, waiters->list[i].pod, &most))
			continue;
		turn->undecided = true;
		if (search->plan && search->until_us > turn->now_us)
			eviction_look_again(turn, turn->now_real_us + ANOTHER_US);
		else {
			drop(search);
			if (begin(turn, waiters->list[i].pod, most))
				go_on(turn);
		}
		return;
	}
}

/* Who of those not served has waited longest, and that it waits; false: nobody waits. */
static bool name_waiter(struct eviction_turn *turn, struct receipt_pod *self, struct buf *why)
{
	struct cause_waiters waiters;

	cause_waiters(turn->reconciler->cluster, turn->tenant, turn->facts.spec.pending_us,
		      turn->now_real_us, &waiters);
	for (size_t i = 0; i < waiters.n; i++) {
		if (!eviction_name_pod(turn, waiters.list[i].pod, self) || is_served(turn, self))
			continue;
		buf_add_cstr(why, "which waits: ");
		return true;
	}
	return false;
}

/* What is known by then may be other. */
static void try_all_next(struct eviction_turn *turn)
{
	struct eviction_search *search = &turn->reconciler->search;

	for (size_t i = 0; i < EVICTION_VAIN_MOST; i++)
		if (search->vain[i].tenant == turn->tenant)
			search->vain[i].again_us = MIN(search->vain[i].again_us, turn->now_real_us);
}

void eviction_tell_behind(struct eviction_turn *turn, struct str behind)
{
	struct receipt_pod self;
	struct buf why;

	if (turn->facts.spec.protection.mode == PROTECTION_OFF)
		return;
	buf_init(&why, LIMIT_EVENT_NOTE);
	if (name_waiter(turn, &self, &why) || eviction_name_slowed(turn, &self, &why)) {
		buf_printf(&why,
			   "what is known of %.*s may be old, since their watch is not back yet",
			   STR_ARGS(behind));
		tell_in_vain(turn, &self, false, buf_str(&why));
		try_all_next(turn);
	}
	buf_clear(&why);
}

void eviction_make_room(struct eviction_turn *turn)
{
	const struct tenant_spec *spec = &turn->facts.spec;
	struct cause_waiters waiters;

	if (is_ours(turn) && !is_to_go_on(turn))
		drop(&turn->reconciler->search);
	if (spec->protection.mode == PROTECTION_OFF) {
		forget_all(turn);
		return;
	}
	cause_waiters(turn->reconciler->cluster, turn->tenant, spec->pending_us, turn->now_real_us,
		      &waiters);
	eviction_look_again(turn, waiters.next_us);
	if (is_ours(turn)) {
		turn->undecided = true;
		go_on(turn);
	} else {
		look_for_next(turn, &waiters);
	}
}
