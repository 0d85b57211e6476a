/* SPDX-License-Identifier: Apache-2.0 */
/* Specs, then the receipts as body_evictions.c writes them. */
#include "api/pack_evictions.h"

#include "api/pack_status.h"
#include "api/quantity.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/limits.h"

/* --- spec */

static int check_mode(struct spec_check *check, struct str text, enum protection_mode *ret_mode)
{
	static const char *const modes[] = {"DryRun", "Enforce", NULL};
	size_t choice = 0;

	if (str_empty(text))
		return spec_complain(check,
				     "spec.protection.mode is missing; it is DryRun or Enforce");
	if (spec_choice(check, "protection.mode", text, modes, &choice) < 0)
		return -1;
	*ret_mode = choice == 0 ? PROTECTION_DRY_RUN : PROTECTION_ENFORCE;
	return 0;
}

static int check_tiers(struct spec_check *check, const struct wire_list *list, uint32_t *ret_tiers)
{
	static const char *const tiers[] = {
#define X(name, text) [TIER_##name] = text,
		TENANT_TIERS(X)
#undef X
			NULL,
	};
	uint32_t bits = 0;

	if (list->len == 0)
		return 0;
	wire_for_each(const struct str, text, *list) {
		size_t tier = 0;

		if (spec_choice(check, "protection.victimTiers", *text, tiers, &tier) < 0)
			return -1;
		bits |= 1U << tier;
	}
	*ret_tiers = bits;
	return 0;
}

int pack_protection(struct spec_check *check, const struct wire_tenant_spec *spec,
		    struct protection_spec *protection)
{
	const struct wire_protection *wire = &spec->protection;
	int64_t per_minute = protection->per_minute;
	const struct spec_option options[] = {
		{"protection.evictionsPerMinute", wire_has(wire, WIRE_PROTECTION_PER_MINUTE),
		 wire->per_minute, 1, 60, 1, &per_minute},
		{"protection.cooldownSeconds", wire_has(wire, WIRE_PROTECTION_COOLDOWN),
		 wire->cooldown, 0, 3600, USEC_PER_SEC, &protection->cooldown_us},
		{"protection.observationSeconds", wire_has(wire, WIRE_PROTECTION_OBSERVATION),
		 wire->observation, 10, 3600, USEC_PER_SEC, &protection->observation_us},
		{"protection.minVictimRunSeconds", wire_has(wire, WIRE_PROTECTION_MIN_RUN),
		 wire->min_run, 0, 86400, USEC_PER_SEC, &protection->min_run_us},
	};

	if (!wire_has(spec, WIRE_TENANT_PROTECTION))
		return 0;
	if (check_mode(check, wire->mode, &protection->mode) < 0 ||
	    check_tiers(check, &wire->victim_tiers, &protection->victim_tiers) < 0 ||
	    spec_options(check, options, ARRAY_SIZE(options)) < 0)
		return -1;
	protection->per_minute = (uint32_t)per_minute;
	return 0;
}

int pack_preemptible(struct spec_check *check, const struct wire_preemptible *wire,
		     struct preemptible_spec *preemptible)
{
	const struct spec_option options[] = {
		{"preemptible.gracePeriodSeconds", wire_has(wire, WIRE_PREEMPTIBLE_GRACE),
		 wire->grace, 0, 3600, USEC_PER_SEC, &preemptible->grace_us},
		{"preemptible.minRunSeconds", wire_has(wire, WIRE_PREEMPTIBLE_MIN_RUN),
		 wire->min_run, 0, 3600, USEC_PER_SEC, &preemptible->min_run_us},
		{"preemptible.checkpointCreditSeconds", wire_has(wire, WIRE_PREEMPTIBLE_CREDIT),
		 wire->credit, 0, 86400, USEC_PER_SEC, &preemptible->checkpoint_credit_us},
	};

	return spec_options(check, options, ARRAY_SIZE(options));
}

/* --- receipts */

static bool cause_of(struct str text, enum receipt_cause *ret_cause)
{
	for (int i = 0; i < RECEIPT_CAUSE_COUNT; i++) {
		*ret_cause = (enum receipt_cause)i;
		if (str_equal(text, str_from(receipt_cause_text(*ret_cause))))
			return true;
	}
	return false;
}

static bool outcome_of(struct str text, enum receipt_outcome *ret_outcome)
{
	for (int i = 0; i < RECEIPT_OUTCOME_COUNT; i++) {
		*ret_outcome = (enum receipt_outcome)i;
		if (str_equal(text, str_from(receipt_outcome_text(*ret_outcome))))
			return true;
	}
	return false;
}

/* "0,3,4" */
static bool cards_of(struct str text, uint64_t *ret_cards)
{
	uint64_t cards = 0;
	struct str one, rest = text;

	while (!str_empty(rest)) {
		int64_t card;

		str_split(rest, ',', &one, &rest);
		if (!str_to_int64(one, 0, LIMIT_LAYOUT_GPUS - 1, &card))
			return false;
		cards |= UINT64_C(1) << card;
	}
	*ret_cards = cards;
	return true;
}

static bool read_pod(const struct wire_eviction_pod *wire, struct receipt_pod *pod)
{
	*pod = (struct receipt_pod){
		.namespace = wire->namespace,
		.name = wire->name,
		.uid = wire->uid,
		.owner = wire->owner,
		.tenant = wire->tenant,
		.lost = wire->lost,
		.note = wire->note,
	};
	return wire->namespace.len <= LIMIT_NAME && wire->name.len <= LIMIT_NAME &&
	       wire->uid.len <= LIMIT_NAME && wire->owner.len <= LIMIT_RECEIPT_OWNER &&
	       wire->tenant.len <= LIMIT_NAME && wire->note.len <= LIMIT_RECEIPT_TEXT &&
	       wire->lost >= 0 &&
	       (str_empty(wire->gpu_memory) || pack_bytes(wire->gpu_memory, &pod->gpu_memory));
}

/* @ret_pods stays NULL where one cannot be read, or there are none. */
static int read_pods(const struct wire_list *wire, size_t most, const struct pack *pack,
		     const struct receipt_pod **ret_pods)
{
	struct receipt_pod *pods, *next;

	if (wire->len == 0 || wire->len > most)
		return 0;
	pods = next = arena_alloc(pack->arena, wire->len * sizeof(*pods));
	if (!pods)
		return pack_no_memory(pack);
	wire_for_each(const struct wire_eviction_pod, pod, *wire) {
		if (!read_pod(pod, next++))
			return 0;
	}
	*ret_pods = pods;
	return 0;
}

static bool texts_fit(const struct wire_eviction *wire)
{
	return !str_empty(wire->id) && wire->id.len <= LIMIT_RECEIPT_ID &&
	       wire->objective.len <= LIMIT_NAME && wire->node.len <= LIMIT_NAME &&
	       wire->proof.len <= LIMIT_RECEIPT_TEXT && wire->limits.len <= LIMIT_RECEIPT_TEXT &&
	       wire->message.len <= LIMIT_RECEIPT_TEXT;
}

static bool value_of(struct str text, int64_t *ret_value)
{
	return str_empty(text) || quantity_parse_millionths(text, ret_value);
}

static bool read_head(const struct wire_eviction *wire, struct receipt *receipt)
{
	*receipt = (struct receipt){
		.id = wire->id,
		.at_us = wire->at_us,
		.settled_us = wire->settled_us,
		.objective = wire->objective,
		.node = wire->node,
		.held_until_us = wire->held_until_us,
		.proof = wire->proof,
		.limits = wire->limits,
		.message = wire->message,
		.n_spared_all = wire->n_spared,
	};
	return texts_fit(wire) && wire->at_us > 0 && value_of(wire->value, &receipt->value) &&
	       wire->n_spared >= 0 && cause_of(wire->cause, &receipt->cause) &&
	       outcome_of(wire->outcome, &receipt->outcome) &&
	       cards_of(wire->cards, &receipt->cards) &&
	       read_pod(&wire->beneficiary, &receipt->beneficiary);
}

static int read_receipt(const struct wire_eviction *wire, const struct pack *pack,
			struct receipt *receipt, bool *ret_readable)
{
	*ret_readable = false;
	if (!read_head(wire, receipt))
		return 0;
	if (read_pods(&wire->victims, RECEIPT_VICTIMS, pack, &receipt->victims) < 0 ||
	    read_pods(&wire->spared, RECEIPT_SPARED, pack, &receipt->spared) < 0)
		return -1;
	receipt->n_victims = receipt->victims ? wire->victims.len : 0;
	receipt->n_spared = receipt->spared ? wire->spared.len : 0;
	*ret_readable = receipt->n_victims == wire->victims.len;
	return 0;
}

int pack_evictions(const struct wire_list *evictions, const struct pack *pack,
		   struct tenant_status *status)
{
	size_t n = 0, most = MIN(evictions->len, RECEIPTS_MOST);
	const struct wire_eviction *wire = evictions->items;
	struct receipt *receipts;
	bool readable;

	if (most == 0)
		return 0;
	receipts = arena_alloc(pack->arena, most * sizeof(*receipts));
	if (!receipts)
		return pack_no_memory(pack);
	for (size_t i = 0; i < most; i++) {
		if (read_receipt(&wire[i], pack, &receipts[n], &readable) < 0)
			return -1;
		n += readable ? 1 : 0;
	}
	status->receipts = receipts;
	status->n_receipts = n;
	return 0;
}
