/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Condition Objectives of a TenantQoS: `checks` lists in order what is looked at, the worst first.
 * Each names all objectives that it is about, as far as the message has room, and words of
 * explanation come after the names.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "quota/internal.h"
#include "quota/tenant_planning.h"

/* What the end of a sentence may take after the last name: " and 7 more", a reason, a stop. */
#define ENDING 32

static size_t room(const struct condition *c)
{
	size_t taken = strlen(c->message) + ENDING;

	return taken < sizeof(c->message) ? sizeof(c->message) - taken : 0;
}

/* A list of names, or of names and what is said of each. */
struct naming {
	struct condition *c;
	const char *separator;
	size_t said, left_out;
};

/* Adds @text, whole or not at all. */
static void name_one(struct naming *names, const char *text)
{
	const char *before = names->said > 0 ? names->separator : "";

	if (strlen(before) + strlen(text) > room(names->c)) {
		names->left_out++;
		return;
	}
	condition_say_more(names->c, "%s%s", before, text);
	names->said++;
}

static void name_end(struct naming *names)
{
	if (names->left_out > 0)
		condition_say_more(names->c, "%s%zu more", names->said > 0 ? " and " : "",
				   names->left_out);
}

static size_t count_in(const struct planning *p, enum objective_state state)
{
	size_t n = 0;

	for (size_t i = 0; i < p->plan.status.n_objectives; i++)
		n += p->plan.status.objectives[i].state == state;
	return n;
}

static void name_in_state(struct planning *p, struct condition *c, enum objective_state state)
{
	const struct tenant_status *status = &p->plan.status;
	struct naming names = {.c = c, .separator = ", "};

	for (size_t i = 0; i < status->n_objectives; i++) {
		const struct objective_spec *spec = &p->view->facts->spec.objectives[i];
		char text[LIMIT_OBJECTIVE_NAME + 2 * sizeof(struct objective_text) + 48];

		if (status->objectives[i].state != state)
			continue;
		snprintf(text, sizeof(text), "%.*s is %s where at %s %s is promised",
			 STR_ARGS(spec->name),
			 objective_value_text(status->objectives[i].value).text,
			 spec->direction == OBJECTIVE_BELOW ? "most" : "least",
			 objective_value_text(spec->threshold).text);
		name_one(&names, text);
	}
	name_end(&names);
	condition_say_more(c, ".");
}

static bool unknown_for(const struct objective_status *one, enum objective_reason reason)
{
	return one->state == OBJECTIVE_UNKNOWN && one->reason == reason;
}

/* "ttft, queue (Stale), rate (QueryRefused)." */
static void name_unknown(const struct tenant_status *status, struct condition *c)
{
	struct naming names = {.c = c, .separator = ", "};

	for (int reason = 0; reason < OBJECTIVE_REASON_COUNT; reason++) {
		const char *word = objective_reason_text((enum objective_reason)reason);
		size_t before = names.said;

		for (size_t i = 0; i < status->n_objectives; i++) {
			const struct objective_status *one = &status->objectives[i];
			char text[LIMIT_OBJECTIVE_NAME + 1];

			if (!unknown_for(one, (enum objective_reason)reason))
				continue;
			snprintf(text, sizeof(text), "%.*s", STR_ARGS(one->name));
			name_one(&names, text);
		}
		if (names.said > before)
			condition_say_more(c, " (%s)", word);
	}
	name_end(&names);
	condition_say_more(c, ".");
}

/* What the reasons mean, as far as there is room. */
static void explain_unknown(const struct tenant_status *status, struct condition *c)
{
	for (int i = 0; i < OBJECTIVE_REASON_COUNT; i++) {
		enum objective_reason reason = (enum objective_reason)i;
		const char *word = objective_reason_text(reason);
		const char *sentence = objective_reason_sentence(reason);
		bool found = false;

		for (size_t k = 0; k < status->n_objectives; k++)
			found |= unknown_for(&status->objectives[k], reason);
		if (found && strlen(word) + strlen(sentence) < room(c))
			condition_say_more(c, " %s: %s.", word, sentence);
	}
}

static void name_unknown_too(const struct planning *p, struct condition *c)
{
	if (count_in(p, OBJECTIVE_UNKNOWN) == 0 || room(c) == 0)
		return;
	condition_say_more(c, " Not known: ");
	name_unknown(&p->plan.status, c);
}

static bool say_bad(struct planning *p, struct condition *c, enum objective_state state,
		    enum quota_reason reason)
{
	const struct tenant_status *status = &p->plan.status;
	size_t n = count_in(p, state);

	if (n == 0)
		return false;
	condition_say(c, CONDITION_FALSE, reason, "%zu of %zu objectives %s %s: ", n,
		      status->n_objectives, n == 1 ? "is" : "are",
		      state == OBJECTIVE_VIOLATED ? "violated" : "at risk");
	name_in_state(p, c, state);
	if (state == OBJECTIVE_VIOLATED && count_in(p, OBJECTIVE_AT_RISK) > 0 && room(c) > 0) {
		condition_say_more(c, " At risk: ");
		name_in_state(p, c, OBJECTIVE_AT_RISK);
	}
	name_unknown_too(p, c);
	return true;
}

static bool not_asked(struct planning *p, struct condition *c)
{
	if (p->plan.status.n_objectives > 0)
		return false;
	return condition_say(c, CONDITION_TRUE, QUOTA_REASON_NOT_ASKED,
			     "The spec names no objectives.");
}

static bool violated(struct planning *p, struct condition *c)
{
	return say_bad(p, c, OBJECTIVE_VIOLATED, QUOTA_REASON_VIOLATED);
}

static bool at_risk(struct planning *p, struct condition *c)
{
	return say_bad(p, c, OBJECTIVE_AT_RISK, QUOTA_REASON_AT_RISK);
}

static void name_implausible(const struct tenant_spec *spec, struct condition *c)
{
	struct naming names = {.c = c, .separator = ", "};

	for (size_t i = 0; i < spec->n_objectives; i++) {
		const struct objective_spec *one = &spec->objectives[i];
		char text[LIMIT_OBJECTIVE_NAME + sizeof(struct objective_text) + 96];

		if (objective_spec_plausible(one))
			continue;
		snprintf(text, sizeof(text),
			 "%.*s is %s seconds where %s takes %" PRId64 " at most",
			 STR_ARGS(one->name), objective_value_text(one->threshold).text,
			 objective_preset_text(one->preset), objective_preset_most_s(one->preset));
		name_one(&names, text);
	}
	name_end(&names);
	condition_say_more(c, ".");
}

/* The API server refuses these; one may have been stored before it did. */
static bool implausible(struct planning *p, struct condition *c)
{
	const struct tenant_spec *spec = &p->view->facts->spec;
	size_t n = 0;

	for (size_t i = 0; i < spec->n_objectives; i++)
		n += !objective_spec_plausible(&spec->objectives[i]);
	if (n == 0)
		return false;
	condition_say(c, CONDITION_FALSE, QUOTA_REASON_THRESHOLD_TOO_HIGH,
		      "No latency comes near the threshold of %zu of %zu objectives, and a number "
		      "without ms is seconds: ",
		      n, spec->n_objectives);
	name_implausible(spec, c);
	name_unknown_too(p, c);
	return true;
}

static bool unknown(struct planning *p, struct condition *c)
{
	const struct tenant_status *status = &p->plan.status;
	size_t n = count_in(p, OBJECTIVE_UNKNOWN);

	if (n == 0)
		return false;
	condition_say(c, CONDITION_UNKNOWN, QUOTA_REASON_NO_SIGNAL,
		      "Nothing is known of %zu of %zu objectives, and nothing is done for them: ",
		      n, status->n_objectives);
	name_unknown(status, c);
	explain_unknown(status, c);
	return true;
}

static bool met(struct planning *p, struct condition *c)
{
	size_t n = p->plan.status.n_objectives;

	if (n == 1)
		return condition_say(c, CONDITION_TRUE, QUOTA_REASON_MET,
				     "The one objective is met.");
	return condition_say(c, CONDITION_TRUE, QUOTA_REASON_MET, "All %zu objectives are met.", n);
}

bool tenant_say_objectives(struct planning *p, struct condition *c)
{
	static bool (*const checks[])(struct planning * p, struct condition * c) = {
		not_asked, violated, at_risk, implausible, unknown, met,
	};

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		if (checks[i](p, c))
			break;
	return true;
}
