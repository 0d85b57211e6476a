/* SPDX-License-Identifier: Apache-2.0 */
/* Labels and selectors, TenantQoS and bindings. Writer and reader of each stand together. */
#include "cluster/pack/pack.h"

#include "cluster/pack/pack_io.h"

/* --- labels */

void pack_labels(const struct label *labels, size_t n, struct buf *ret_bytes)
{
	pack_put_labels(ret_bytes, labels, n);
}

bool unpack_labels(struct str bytes, struct arena *arena, const struct label **ret_labels,
		   size_t *ret_len)
{
	struct pack_reader reader = {bytes, arena, false};

	*ret_labels = pack_get_labels(&reader, ret_len);
	return !reader.full;
}

void pack_label_selector(const struct label_selector *selector, struct buf *ret_bytes)
{
	pack_put_selector(ret_bytes, selector);
}

bool unpack_label_selector(struct str bytes, struct arena *arena,
			   struct label_selector *ret_selector)
{
	struct pack_reader reader = {bytes, arena, false};

	pack_get_selector(&reader, ret_selector);
	return !reader.full;
}

/* --- objectives */

static void put_objectives(struct buf *buf, const struct tenant_spec *spec)
{
	pack_put_int(buf, (int64_t)spec->n_objectives);
	for (size_t i = 0; i < spec->n_objectives; i++) {
		const struct objective_spec *objective = &spec->objectives[i];

		pack_put_str(buf, objective->name);
		pack_put_int(buf, (int64_t)objective->preset);
		pack_put_int(buf, objective->percentile);
		pack_put_str(buf, objective->query);
		pack_put_int(buf, objective->threshold);
		pack_put_int(buf, (int64_t)objective->direction);
		pack_put_int(buf, objective->for_us);
	}
}

static void get_objectives(struct pack_reader *reader, struct tenant_spec *spec)
{
	size_t n = (size_t)pack_get_int(reader);
	struct objective_spec *objectives = pack_get_memory(reader, n, sizeof(*objectives));

	for (size_t i = 0; i < n; i++) {
		struct objective_spec objective = {.name = pack_get_str(reader)};

		objective.preset = (enum objective_preset)pack_get_int(reader);
		objective.percentile = (int)pack_get_int(reader);
		objective.query = pack_get_str(reader);
		objective.threshold = pack_get_int(reader);
		objective.direction = (enum objective_direction)pack_get_int(reader);
		objective.for_us = pack_get_int(reader);
		if (objectives)
			objectives[i] = objective;
	}
	spec->objectives = objectives;
	spec->n_objectives = n;
}

static void put_objective_statuses(struct buf *buf, const struct tenant_status *status)
{
	pack_put_int(buf, (int64_t)status->n_objectives);
	for (size_t i = 0; i < status->n_objectives; i++) {
		const struct objective_status *objective = &status->objectives[i];

		pack_put_str(buf, objective->name);
		pack_put_int(buf, (int64_t)objective->state);
		pack_put_int(buf, (int64_t)objective->reason);
		pack_put_int(buf, objective->value);
		pack_put_int(buf, objective->since_us);
	}
}

static void get_objective_statuses(struct pack_reader *reader, struct tenant_status *status)
{
	size_t n = (size_t)pack_get_int(reader);
	struct objective_status *objectives = pack_get_memory(reader, n, sizeof(*objectives));

	for (size_t i = 0; i < n; i++) {
		struct objective_status objective = {.name = pack_get_str(reader)};

		objective.state = (enum objective_state)pack_get_int(reader);
		objective.reason = (enum objective_reason)pack_get_int(reader);
		objective.value = pack_get_int(reader);
		objective.since_us = pack_get_int(reader);
		if (objectives)
			objectives[i] = objective;
	}
	status->objectives = objectives;
	status->n_objectives = n;
}

/* --- TenantQoS */

static void put_status(struct buf *buf, const struct tenant_status *status)
{
	pack_put_int(buf, status->observed_generation);
	pack_put_int(buf, status->ceiling);
	pack_put_int(buf, status->ceiling_gpus);
	pack_put_int(buf, status->granted);
	pack_put_int(buf, status->used);
	pack_put_int(buf, status->lent);
	pack_put_int(buf, status->granted_gpus);
	pack_put_int(buf, status->used_gpus);
	pack_put_int(buf, status->n_namespaces);
	pack_put_strs(buf, status->namespaces, status->n_namespaces_listed);
	put_objective_statuses(buf, status);
	for (int i = 0; i < TENANT_CONDITION_COUNT; i++)
		pack_put_condition(buf, &status->conditions[i]);
	pack_put_int(buf, status->unshown);
}

static void get_status(struct pack_reader *reader, struct tenant_status *status)
{
	status->observed_generation = pack_get_int(reader);
	status->ceiling = pack_get_int(reader);
	status->ceiling_gpus = pack_get_int(reader);
	status->granted = pack_get_int(reader);
	status->used = pack_get_int(reader);
	status->lent = pack_get_int(reader);
	status->granted_gpus = pack_get_int(reader);
	status->used_gpus = pack_get_int(reader);
	status->n_namespaces = pack_get_int(reader);
	status->namespaces = pack_get_strs(reader, &status->n_namespaces_listed);
	get_objective_statuses(reader, status);
	for (int i = 0; i < TENANT_CONDITION_COUNT; i++)
		pack_get_condition(reader, &status->conditions[i]);
	status->unshown = pack_get_int(reader) != 0;
}

static void put_protection(struct buf *buf, const struct tenant_spec *spec)
{
	pack_put_int(buf, (int64_t)spec->protection.mode);
	pack_put_int(buf, spec->protection.victim_tiers);
	pack_put_int(buf, spec->protection.per_minute);
	pack_put_int(buf, spec->protection.cooldown_us);
	pack_put_int(buf, spec->protection.observation_us);
	pack_put_int(buf, spec->protection.min_run_us);
	pack_put_int(buf, spec->preemptible.grace_us);
	pack_put_int(buf, spec->preemptible.min_run_us);
	pack_put_int(buf, spec->preemptible.checkpoint_credit_us);
}

static void get_protection(struct pack_reader *reader, struct tenant_spec *spec)
{
	spec->protection.mode = (enum protection_mode)pack_get_int(reader);
	spec->protection.victim_tiers = (uint32_t)pack_get_int(reader);
	spec->protection.per_minute = (uint32_t)pack_get_int(reader);
	spec->protection.cooldown_us = pack_get_int(reader);
	spec->protection.observation_us = pack_get_int(reader);
	spec->protection.min_run_us = pack_get_int(reader);
	spec->preemptible.grace_us = pack_get_int(reader);
	spec->preemptible.min_run_us = pack_get_int(reader);
	spec->preemptible.checkpoint_credit_us = pack_get_int(reader);
}

static void put_feedback(struct buf *buf, const struct tenant_spec *spec)
{
	pack_put_int(buf, spec->isolation.pcie);
	pack_put_int(buf, spec->isolation.utilisation);
	pack_put_int(buf, spec->isolation.memory_overshoot);
	pack_put_int(buf, (int64_t)spec->feedback.mode);
	pack_put_int(buf, spec->feedback.decrease);
	pack_put_int(buf, spec->feedback.recover);
	pack_put_int(buf, spec->feedback.floor);
	pack_put_int(buf, spec->feedback.evict_offender);
	pack_put_int(buf, spec->feedback.reclaim_idle);
	pack_put_int(buf, spec->feedback.override);
	pack_put_int(buf, spec->feedback.override_until_us);
}

static void get_feedback(struct pack_reader *reader, struct tenant_spec *spec)
{
	spec->isolation.pcie = pack_get_int(reader);
	spec->isolation.utilisation = pack_get_int(reader);
	spec->isolation.memory_overshoot = pack_get_int(reader);
	spec->feedback.mode = (enum feedback_mode)pack_get_int(reader);
	spec->feedback.decrease = pack_get_int(reader);
	spec->feedback.recover = pack_get_int(reader);
	spec->feedback.floor = pack_get_int(reader);
	spec->feedback.evict_offender = pack_get_int(reader) != 0;
	spec->feedback.reclaim_idle = pack_get_int(reader) != 0;
	spec->feedback.override = pack_get_int(reader);
	spec->feedback.override_until_us = pack_get_int(reader);
}

static void put_throttle(struct buf *buf, const struct throttle *throttle)
{
	pack_put_int(buf, (int64_t)throttle->step);
	pack_put_int(buf, throttle->percent);
	pack_put_int(buf, throttle->signals);
	pack_put_int(buf, throttle->since_us);
	pack_put_int(buf, throttle->until_us);
	pack_put_int(buf, throttle->futile);
}

static void get_throttle(struct pack_reader *reader, struct throttle *throttle)
{
	throttle->step = (enum throttle_step)pack_get_int(reader);
	throttle->percent = pack_get_int(reader);
	throttle->signals = (uint32_t)pack_get_int(reader);
	throttle->since_us = pack_get_int(reader);
	throttle->until_us = pack_get_int(reader);
	throttle->futile = pack_get_int(reader);
}

static void put_spec(struct buf *buf, const struct tenant_spec *spec)
{
	pack_put_int(buf, (int64_t)spec->tier);
	pack_put_int(buf, spec->ceiling);
	pack_put_int(buf, spec->ceiling_gpus);
	pack_put_int(buf, (int64_t)spec->qos);
	pack_put_int(buf, spec->qos_denies);
	pack_put_strs(buf, spec->priority_classes, spec->n_priority_classes);
	pack_put_int(buf, (int64_t)spec->topology.policy);
	pack_put_int(buf, (int64_t)spec->topology.scope);
	pack_put_int(buf, (int64_t)spec->topology.on_mismatch);
	put_protection(buf, spec);
	pack_put_int(buf, spec->pending_us);
	put_objectives(buf, spec);
	put_feedback(buf, spec);
}

static void get_spec(struct pack_reader *reader, struct tenant_spec *spec)
{
	spec->tier = (enum tenant_tier)pack_get_int(reader);
	spec->ceiling = pack_get_int(reader);
	spec->ceiling_gpus = pack_get_int(reader);
	spec->qos = (enum pod_qos)pack_get_int(reader);
	spec->qos_denies = pack_get_int(reader) != 0;
	spec->priority_classes = pack_get_strs(reader, &spec->n_priority_classes);
	spec->topology.policy = (enum topology_policy)pack_get_int(reader);
	spec->topology.scope = (enum layout_scope)pack_get_int(reader);
	spec->topology.on_mismatch = (enum topology_mismatch)pack_get_int(reader);
	get_protection(reader, spec);
	spec->pending_us = pack_get_int(reader);
	get_objectives(reader, spec);
	get_feedback(reader, spec);
}

/* --- receipts */

static void put_pod(struct buf *buf, const struct receipt_pod *pod)
{
	pack_put_str(buf, pod->namespace);
	pack_put_str(buf, pod->name);
	pack_put_str(buf, pod->uid);
	pack_put_str(buf, pod->owner);
	pack_put_str(buf, pod->tenant);
	pack_put_int(buf, pod->gpu_memory);
	pack_put_int(buf, pod->lost);
	pack_put_str(buf, pod->note);
}

static struct receipt_pod get_pod(struct pack_reader *reader)
{
	struct receipt_pod pod = {.namespace = pack_get_str(reader)};

	pod.name = pack_get_str(reader);
	pod.uid = pack_get_str(reader);
	pod.owner = pack_get_str(reader);
	pod.tenant = pack_get_str(reader);
	pod.gpu_memory = pack_get_int(reader);
	pod.lost = pack_get_int(reader);
	pod.note = pack_get_str(reader);
	return pod;
}

static void put_pods(struct buf *buf, const struct receipt_pod *pods, size_t n)
{
	pack_put_int(buf, (int64_t)n);
	for (size_t i = 0; i < n; i++)
		put_pod(buf, &pods[i]);
}

static const struct receipt_pod *get_pods(struct pack_reader *reader, size_t *ret_len)
{
	size_t n = (size_t)pack_get_int(reader);
	struct receipt_pod *pods = n ? pack_get_memory(reader, n, sizeof(*pods)) : NULL;

	for (size_t i = 0; i < n; i++) {
		struct receipt_pod pod = get_pod(reader);

		if (pods)
			pods[i] = pod;
	}
	*ret_len = pods ? n : 0;
	return pods;
}

static void put_receipt(struct buf *buf, const struct receipt *receipt)
{
	pack_put_str(buf, receipt->id);
	pack_put_int(buf, (int64_t)receipt->cause);
	pack_put_int(buf, (int64_t)receipt->outcome);
	pack_put_int(buf, receipt->at_us);
	pack_put_int(buf, receipt->settled_us);
	put_pod(buf, &receipt->beneficiary);
	pack_put_str(buf, receipt->objective);
	pack_put_int(buf, receipt->value);
	pack_put_str(buf, receipt->node);
	pack_put_int(buf, (int64_t)receipt->cards);
	pack_put_int(buf, receipt->held_until_us);
	pack_put_str(buf, receipt->proof);
	pack_put_str(buf, receipt->limits);
	pack_put_str(buf, receipt->message);
	put_pods(buf, receipt->victims, receipt->n_victims);
	put_pods(buf, receipt->spared, receipt->n_spared);
	pack_put_int(buf, receipt->n_spared_all);
}

static struct receipt get_receipt(struct pack_reader *reader)
{
	struct receipt receipt = {.id = pack_get_str(reader)};

	receipt.cause = (enum receipt_cause)pack_get_int(reader);
	receipt.outcome = (enum receipt_outcome)pack_get_int(reader);
	receipt.at_us = pack_get_int(reader);
	receipt.settled_us = pack_get_int(reader);
	receipt.beneficiary = get_pod(reader);
	receipt.objective = pack_get_str(reader);
	receipt.value = pack_get_int(reader);
	receipt.node = pack_get_str(reader);
	receipt.cards = (uint64_t)pack_get_int(reader);
	receipt.held_until_us = pack_get_int(reader);
	receipt.proof = pack_get_str(reader);
	receipt.limits = pack_get_str(reader);
	receipt.message = pack_get_str(reader);
	receipt.victims = get_pods(reader, &receipt.n_victims);
	receipt.spared = get_pods(reader, &receipt.n_spared);
	receipt.n_spared_all = pack_get_int(reader);
	return receipt;
}

void pack_receipts(const struct receipt *receipts, size_t n, struct buf *ret_bytes)
{
	if (n > 0)
		pack_put_int(ret_bytes, (int64_t)n);
	for (size_t i = 0; i < n; i++)
		put_receipt(ret_bytes, &receipts[i]);
}

bool unpack_receipts(struct str bytes, struct arena *arena, const struct receipt **ret_receipts,
		     size_t *ret_len)
{
	struct pack_reader reader = {bytes, arena, false};
	size_t n = str_empty(bytes) ? 0 : (size_t)pack_get_int(&reader);
	struct receipt *receipts = n ? pack_get_memory(&reader, n, sizeof(*receipts)) : NULL;

	for (size_t i = 0; receipts && i < n; i++)
		receipts[i] = get_receipt(&reader);
	*ret_receipts = receipts;
	*ret_len = receipts ? n : 0;
	return !reader.full;
}

void pack_tenant(const struct tenant_facts *facts, struct buf *ret_bytes)
{
	pack_put_object(ret_bytes, &(struct pack_object){facts->uid, facts->created_us,
							 facts->generation, facts->terminating,
							 facts->invalid, facts->has_status});
	put_spec(ret_bytes, &facts->spec);
	if (facts->has_status) {
		put_status(ret_bytes, &facts->status);
		put_throttle(ret_bytes, &facts->status.throttle);
	}
}

bool unpack_tenant(struct str bytes, struct arena *arena, struct tenant_facts *ret_facts)
{
	struct pack_reader reader = {bytes, arena, false};
	struct pack_object object = pack_get_object(&reader);

	*ret_facts = (struct tenant_facts){
		.uid = object.uid,
		.created_us = object.created_us,
		.generation = object.generation,
		.terminating = object.terminating,
		.invalid = object.invalid,
		.has_status = object.has_status,
	};
	get_spec(&reader, &ret_facts->spec);
	if (ret_facts->has_status) {
		get_status(&reader, &ret_facts->status);
		get_throttle(&reader, &ret_facts->status.throttle);
	}
	return !reader.full;
}

/* --- ValidatingAdmissionPolicyBinding */

void pack_binding(const struct binding_facts *facts, struct buf *ret_bytes)
{
	pack_put_str(ret_bytes, facts->uid);
	pack_put_str(ret_bytes, facts->owner_uid);
	pack_put_str(ret_bytes, facts->spec.policy);
	pack_put_str(ret_bytes, facts->spec.param);
	pack_put_int(ret_bytes, facts->spec.denies);
	pack_label_selector(&facts->spec.namespaces, ret_bytes);
	pack_label_selector(&facts->spec.objects, ret_bytes);
	pack_put_int(ret_bytes, facts->other);
}

bool unpack_binding(struct str bytes, struct arena *arena, struct binding_facts *ret_facts)
{
	struct pack_reader reader = {bytes, arena, false};

	*ret_facts = (struct binding_facts){.uid = pack_get_str(&reader)};
	ret_facts->owner_uid = pack_get_str(&reader);
	ret_facts->spec.policy = pack_get_str(&reader);
	ret_facts->spec.param = pack_get_str(&reader);
	ret_facts->spec.denies = pack_get_int(&reader) != 0;
	pack_get_selector(&reader, &ret_facts->spec.namespaces);
	pack_get_selector(&reader, &ret_facts->spec.objects);
	ret_facts->other = pack_get_int(&reader) != 0;
	return !reader.full;
}
