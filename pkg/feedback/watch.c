/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each look makes one reading of each signal: bad, good or unknown, and when that was so. A track
 * turns readings over time into a state that one odd sample does not change. Tracks of the tenant
 * say whether it is abnormal, those of single pods which of them is to blame.
 */
#include "feedback/watch.h"

#include "base/macros.h"

struct reading {
	enum signal_state state;
	int64_t sample_us;
};

static const struct reading unknown = {SIGNAL_UNKNOWN, 0};

/* --- readings */

static struct reading reading_of(bool bad, int64_t sample_us)
{
	return (struct reading){bad ? SIGNAL_BAD : SIGNAL_GOOD, sample_us};
}

static struct reading read_memory(const struct isolation_spec *spec, const struct feedback_pod *pod)
{
	int64_t beyond;

	if (pod->granted <= 0 || pod->memory < 0 || spec->memory_overshoot < 0)
		return unknown;
	beyond = pod->memory - pod->granted;
	return reading_of(beyond > throttle_part(pod->granted, spec->memory_overshoot),
			  pod->sample_us);
}

static struct reading read_utilisation(const struct isolation_spec *spec,
				       const struct feedback_pod *pod)
{
	if (pod->utilisation < 0 || spec->utilisation < 0)
		return unknown;
	return reading_of(!pod->alone && pod->utilisation > spec->utilisation, pod->sample_us);
}

static struct reading read_pcie(const struct isolation_spec *spec, const struct feedback_pod *pod)
{
	if (pod->pcie < 0 || spec->pcie < 0)
		return unknown;
	return reading_of(pod->pcie > spec->pcie, pod->sample_us);
}

static void read_pod(const struct isolation_spec *spec, const struct feedback_pod *pod,
		     int64_t now_us, struct reading ret_readings[FEEDBACK_POD_SIGNALS])
{
	static struct reading (*const reads[FEEDBACK_POD_SIGNALS])(const struct isolation_spec *,
								   const struct feedback_pod *) = {
		[FEEDBACK_MEMORY] = read_memory,
		[FEEDBACK_UTILISATION] = read_utilisation,
		[FEEDBACK_PCIE] = read_pcie,
	};
	bool usable = pod->sample_us > now_us - FEEDBACK_STALE_US &&
		      pod->sample_us <= now_us + FEEDBACK_SKEW_US;

	for (size_t i = 0; i < FEEDBACK_POD_SIGNALS; i++)
		ret_readings[i] =
			usable && !(pod->shared & FEEDBACK_BIT(i)) ? reads[i](spec, pod) : unknown;
}

static struct reading read_count(int64_t count, int64_t bad, int64_t now_us)
{
	return count < 0 ? unknown : reading_of(count >= bad, now_us);
}

/* One bad pod is bad; all are good only where all are known. */
static void join(struct reading *all, const struct reading *one)
{
	if (one->state == SIGNAL_BAD && all->state == SIGNAL_BAD)
		all->sample_us = MAX(all->sample_us, one->sample_us);
	else if (one->state == SIGNAL_BAD || all->state == SIGNAL_GOOD)
		*all = *one;
}

/* --- tracks */

static void track_age(struct signal_track *track, int64_t now_us)
{
	if (now_us - track->seen_us >= FEEDBACK_STALE_US ||
	    track->seen_us > now_us + FEEDBACK_SKEW_US)
		*track = (struct signal_track){0};
}

static void track_read(struct signal_track *track, const struct reading *reading, int64_t grace_us)
{
	if (reading->state == SIGNAL_UNKNOWN || reading->sample_us <= track->seen_us)
		return;
	track->seen_us = reading->sample_us;
	if (reading->state == track->state) {
		track->turning = SIGNAL_UNKNOWN;
		return;
	}
	if (reading->state != track->turning) {
		track->turning = reading->state;
		track->turning_us = reading->sample_us;
	}
	if (reading->sample_us - track->turning_us <
	    (reading->state == SIGNAL_BAD ? grace_us : grace_us / 2))
		return;
	track->state = reading->state;
	track->turning = SIGNAL_UNKNOWN;
}

/* --- suspects */

static struct feedback_suspect *find_suspect(struct feedback_watch *watch, uint64_t key)
{
	for (size_t i = 0; i < watch->n_suspects; i++)
		if (watch->suspects[i].key == key)
			return &watch->suspects[i];
	return NULL;
}

static bool is_suspicious(const struct feedback_suspect *suspect)
{
	for (size_t i = 0; i < FEEDBACK_POD_SIGNALS; i++)
		if (suspect->tracks[i].state == SIGNAL_BAD ||
		    suspect->tracks[i].turning == SIGNAL_BAD)
			return true;
	return false;
}

/* Those that are gone are not seen any more, and so forgotten too. */
static void forget_suspects(struct feedback_watch *watch, int64_t now_us)
{
	size_t kept = 0;

	for (size_t i = 0; i < watch->n_suspects; i++) {
		struct feedback_suspect *suspect = &watch->suspects[i];

		for (size_t j = 0; j < FEEDBACK_POD_SIGNALS; j++)
			track_age(&suspect->tracks[j], now_us);
		if (is_suspicious(suspect))
			watch->suspects[kept++] = *suspect;
	}
	watch->n_suspects = kept;
}

static void suspect(struct feedback_watch *watch, uint64_t key,
		    const struct reading readings[FEEDBACK_POD_SIGNALS])
{
	struct feedback_suspect *found = find_suspect(watch, key);
	bool bad = false;

	for (size_t i = 0; i < FEEDBACK_POD_SIGNALS; i++)
		bad = bad || readings[i].state == SIGNAL_BAD;
	if (!found && bad && watch->n_suspects < FEEDBACK_SUSPECTS) {
		found = &watch->suspects[watch->n_suspects++];
		*found = (struct feedback_suspect){.key = key};
	}
	for (size_t i = 0; found && i < FEEDBACK_POD_SIGNALS; i++)
		track_read(&found->tracks[i], &readings[i], watch->grace_us);
}

/* --- the look */

static void look_at_pods(struct feedback_watch *watch, const struct isolation_spec *spec,
			 const struct feedback_facts *facts, int64_t now_us)
{
	struct reading all[FEEDBACK_POD_SIGNALS];

	for (size_t i = 0; i < FEEDBACK_POD_SIGNALS; i++)
		all[i] = (struct reading){SIGNAL_GOOD, now_us};
	for (size_t i = 0; i < facts->n_pods; i++) {
		struct reading one[FEEDBACK_POD_SIGNALS];

		read_pod(spec, &facts->pods[i], now_us, one);
		suspect(watch, facts->pods[i].key, one);
		for (size_t j = 0; j < FEEDBACK_POD_SIGNALS; j++)
			join(&all[j], &one[j]);
	}
	for (size_t i = 0; i < FEEDBACK_POD_SIGNALS; i++)
		track_read(&watch->tracks[i], &all[i], watch->grace_us);
}

static void look_at_counts(struct feedback_watch *watch, const struct feedback_facts *facts,
			   int64_t now_us)
{
	int64_t refusals = facts->throttled ? AMOUNT_UNKNOWN : facts->refusals;
	const struct {
		enum feedback_signal signal;
		struct reading reading;
	} counts[] = {
		{FEEDBACK_TOPOLOGY, read_count(facts->mismatched, 1, now_us)},
		{FEEDBACK_REFUSALS, read_count(refusals, FEEDBACK_REFUSALS_BAD, now_us)},
		{FEEDBACK_CRASHES, read_count(facts->crashes, FEEDBACK_CRASHES_BAD, now_us)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		track_read(&watch->tracks[counts[i].signal], &counts[i].reading, watch->grace_us);
}

void feedback_watch_look(struct feedback_watch *watch, const struct isolation_spec *spec,
			 const struct feedback_facts *facts, int64_t now_us)
{
	if (watch->started_us == 0 || watch->started_us > now_us + FEEDBACK_SKEW_US)
		*watch = (struct feedback_watch){.started_us = now_us};
	watch->grace_us = facts->grace_us;
	for (size_t i = 0; i < FEEDBACK_SIGNAL_COUNT; i++)
		track_age(&watch->tracks[i], now_us);
	look_at_pods(watch, spec, facts, now_us);
	look_at_counts(watch, facts, now_us);
	forget_suspects(watch, now_us);
}

/* --- the verdict */

static uint32_t bad_of(const struct feedback_suspect *suspect)
{
	uint32_t bad = 0;

	for (size_t i = 0; i < FEEDBACK_POD_SIGNALS; i++)
		if (suspect->tracks[i].state == SIGNAL_BAD)
			bad |= FEEDBACK_BIT(i);
	return bad;
}

static void blame(const struct feedback_watch *watch, struct feedback_verdict *verdict)
{
	for (size_t i = 0; i < watch->n_suspects && !verdict->has_offender; i++) {
		verdict->has_offender = feedback_families(bad_of(&watch->suspects[i])) >= 2;
		verdict->offender = watch->suspects[i].key;
		verdict->proof = bad_of(&watch->suspects[i]);
	}
}

struct feedback_verdict feedback_watch_verdict(const struct feedback_watch *watch, uint32_t cause,
					       int64_t now_us)
{
	struct feedback_verdict verdict = {0};
	uint32_t all = FEEDBACK_BIT(FEEDBACK_SIGNAL_COUNT) - 1;

	for (size_t i = 0; i < FEEDBACK_SIGNAL_COUNT; i++) {
		struct signal_track track = watch->tracks[i];

		track_age(&track, now_us);
		if (track.state == SIGNAL_BAD)
			verdict.bad |= FEEDBACK_BIT(i);
		else if (track.state == SIGNAL_UNKNOWN)
			verdict.unknown |= FEEDBACK_BIT(i);
	}
	verdict.fresh = now_us < watch->started_us + 2 * watch->grace_us;
	if (feedback_families(verdict.bad) >= 2)
		verdict.outcome = FEEDBACK_ABNORMAL;
	else if (cause ? feedback_families(cause & (verdict.bad | verdict.unknown)) < 2
		       : verdict.unknown != all)
		verdict.outcome = FEEDBACK_NORMAL;
	blame(watch, &verdict);
	return verdict;
}
