/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_QUOTA_H
#define GPUQOS_MODEL_QUOTA_H

/* size: the reasons of all conditions, each told once, are half of it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/amount.h"
#include "model/node.h"

/* What happens to pods that hold more than is allowed after a cut; name, text in spec.onShrink. */
#define SHRINK_POLICIES(X)  \
	X(FREEZE, "Freeze") \
	X(DRAIN, "Drain")   \
	X(EVICT, "Evict")

enum shrink_policy {
#define X(name, text) SHRINK_##name,
	SHRINK_POLICIES(X)
#undef X
};

/* A cap on one GPU model, as the price list names it. */
struct product_cap {
	struct str product;
	int64_t gpu_memory; /* bytes, or AMOUNT_NONE */
	int64_t gpus;       /* whole cards, or AMOUNT_NONE; never both none */
};

/* shrinkDeadlineSeconds and terminalTimeoutSeconds where the spec says nothing, and at most. */
#define SHRINK_DEADLINE_S       600
#define SHRINK_DEADLINE_MOST_S  604800
#define TERMINAL_TIMEOUT_S      300
#define TERMINAL_TIMEOUT_MOST_S 86400

/* A GpuMemoryQuota's spec in our units. Everything borrowed from whoever holds it. */
struct quota_spec {
	int64_t gpu_memory;                 /* bytes, at least 1 GiB */
	int64_t gpus;                       /* whole GPUs, or AMOUNT_NONE */
	int64_t pod_gpu_memory;             /* perPod, or AMOUNT_NONE */
	int64_t pod_gpus;                   /* perPod, or AMOUNT_NONE */
	const struct resource_amount *caps; /* resources: cap per extended resource */
	size_t n_caps;
	const struct resource_amount *defaults; /* containerDefaults */
	size_t n_defaults;
	const struct product_cap *products; /* sorted by product, each once */
	size_t n_products;
	int64_t borrow_limit; /* bytes of siblings' unused memory that it may use; 0: none */
	enum shrink_policy on_shrink;
	int64_t shrink_deadline_us;  /* DRAIN evicts so long after the cut */
	bool release_terminal;       /* releaseOn: Terminal, else Deletion */
	int64_t terminal_timeout_us; /* past the grace of a pod, with TERMINAL */
	bool dry_run;                /* enforcement: DryRun */
};

/* type, status.conditions[].type */
#define QUOTA_CONDITIONS(X)       \
	X(READY, "Ready")         \
	X(ACCEPTED, "Accepted")   \
	X(EXCEEDED, "Exceeded")   \
	X(THROTTLED, "Throttled") \
	X(DRIFTED, "Drifted")     \
	X(PRICED, "Priced")

enum quota_condition {
#define X(name, text) QUOTA_##name,
	QUOTA_CONDITIONS(X)
#undef X
		QUOTA_CONDITION_COUNT
};

/*
 * reason, status.conditions[].reason
 *
 * Ready:
 * - ENFORCED: the API server enforces what the spec says
 * - PENDING: the ResourceQuota's status does not show our hard values yet, or the tenant waits for
 *   siblings to let go
 * - STATUS_STALE: the former for a minute: is kube-controller-manager up?
 * - NOT_ACCEPTED: see Accepted
 * - DRY_RUN: nothing is enforced, as the spec says
 *
 * Accepted:
 * - ACCEPTED
 * - PENDING: Unknown, its tenant has not decided yet
 * - CEILING_EXCEEDED: its tenant's ceiling has no room; the message says how much is missing. What
 *   was granted before stays in force
 * - INVALID: the spec cannot be read in our units
 * - DUPLICATE: an older quota governs the namespace
 * - TERMINATING: the quota is being deleted and governs no more
 *
 * Exceeded:
 * - WITHIN_LIMIT
 * - OVER_LIMIT: more is held than is allowed; nothing new until it falls
 * - SHRUNK: so because the spec or the ceiling was cut; onShrink says what follows
 * - RECALLED: so because borrowed memory was called back; likewise
 * - UNKNOWN_MEMORY: Unknown, devices are in use that nothing prices
 * - NOT_ACCEPTED: Unknown, nothing is measured
 *
 * Throttled:
 * - NOT_THROTTLED
 * - THROTTLED: its tenant's use is abnormal, or was until a moment ago: less is allowed for new
 * pods
 * - OVERRIDDEN: likewise, as a human has set it
 *
 * Drifted:
 * - IN_SYNC
 * - FOREIGN_WRITER: somebody else changed what we own; named, and put right
 * - LEDGER_DIFFERS: a recount found another sum than the ledger; corrected
 * - NOT_ACCEPTED: Unknown, nothing is owned
 *
 * Priced:
 * - ALL_PRICED: every device in use is charged at what its node says it is
 * - UNKNOWN_MEMORY: nothing tells what some in use are
 * - MEMORY_ASSUMED: some are charged at the dearest there is, since their node does not tell
 * - SOURCES_DISAGREE: two sources tell different memory; the first in the order of truth counts
 * - NOT_ACCEPTED: Unknown, nothing is measured
 *
 * Of a TenantQoS:
 * - Ready: ENFORCED, PENDING (some namespace is not yet enforced), NOT_ACCEPTED
 * - Accepted: ACCEPTED, INVALID, TERMINATING, NAMESPACE_CONFLICT (an older one has some of the
 *   namespaces)
 * - Exceeded: WITHIN_LIMIT, OVER_LIMIT (more is held than the ceiling), UNKNOWN_MEMORY,
 *   NOT_ACCEPTED
 * - TopologyMismatch: AS_ASKED, NOT_ASKED (its pods may lie anywhere), SPANS_DOMAINS (cards of some
 *   pod do not lie as is required), CPUS_APART (they do, and CPUs lie elsewhere), DEVICES_UNKNOWN
 *   (nothing tells of some), NOT_ACCEPTED
 * - Objectives: MET, AT_RISK, VIOLATED, THRESHOLD_TOO_HIGH (of some no reading would ever be bad),
 *   NO_SIGNAL (of some nothing is known, and none is bad), NOT_ASKED, NOT_ACCEPTED
 * - Unprotected: NOBODY_MAY_GO (a pod waits too long, or an objective is bad, and nobody is evicted
 *   for it), AS_ASKED, NOT_ASKED, NOT_ACCEPTED
 * - Abnormal: NORMAL_USE, ABNORMAL_USE, SIGNALS_UNKNOWN (nothing tells), NOT_ASKED (feedback is
 *   Off), NOT_ACCEPTED
 * - Throttled: as of a quota
 * - IdleGPUs: IDLE_GPUS (pods have done nothing with theirs for too long), IN_USE, SIGNALS_UNKNOWN,
 *   NOT_ACCEPTED
 */
#define QUOTA_REASONS(X)                           \
	X(ENFORCED, "Enforced")                    \
	X(PENDING, "Pending")                      \
	X(STATUS_STALE, "QuotaStatusStale")        \
	X(NOT_ACCEPTED, "NotAccepted")             \
	X(INVALID, "Invalid")                      \
	X(ACCEPTED, "Accepted")                    \
	X(DUPLICATE, "Duplicate")                  \
	X(TERMINATING, "Terminating")              \
	X(WITHIN_LIMIT, "WithinLimit")             \
	X(OVER_LIMIT, "OverLimit")                 \
	X(UNKNOWN_MEMORY, "UnknownDeviceMemory")   \
	X(NOT_THROTTLED, "NotThrottled")           \
	X(THROTTLED, "Throttled")                  \
	X(OVERRIDDEN, "Overridden")                \
	X(NORMAL_USE, "NormalUse")                 \
	X(ABNORMAL_USE, "AbnormalUse")             \
	X(SIGNALS_UNKNOWN, "SignalsUnknown")       \
	X(IN_SYNC, "InSync")                       \
	X(FOREIGN_WRITER, "ForeignWriter")         \
	X(LEDGER_DIFFERS, "LedgerDiffers")         \
	X(DRY_RUN, "DryRun")                       \
	X(CEILING_EXCEEDED, "CeilingExceeded")     \
	X(SHRUNK, "Shrunk")                        \
	X(RECALLED, "Recalled")                    \
	X(ALL_PRICED, "AllPriced")                 \
	X(MEMORY_ASSUMED, "MemoryAssumed")         \
	X(SOURCES_DISAGREE, "SourcesDisagree")     \
	X(NAMESPACE_CONFLICT, "NamespaceConflict") \
	X(AS_ASKED, "AsAsked")                     \
	X(NOT_ASKED, "NotAsked")                   \
	X(SPANS_DOMAINS, "SpansDomains")           \
	X(CPUS_APART, "CPUsApart")                 \
	X(DEVICES_UNKNOWN, "DevicesUnknown")       \
	X(MET, "Met")                              \
	X(AT_RISK, "AtRisk")                       \
	X(VIOLATED, "Violated")                    \
	X(NO_SIGNAL, "NoSignal")                   \
	X(THRESHOLD_TOO_HIGH, "ThresholdTooHigh")  \
	X(NOBODY_MAY_GO, "NobodyMayGo")            \
	X(IDLE_GPUS, "IdleGPUs")                   \
	X(IN_USE, "InUse")

enum quota_reason {
#define X(name, text) QUOTA_REASON_##name,
	QUOTA_REASONS(X)
#undef X
};

enum condition_status { CONDITION_UNKNOWN, CONDITION_TRUE, CONDITION_FALSE };

/* Borrowed, static. */
const char *quota_condition_text(enum quota_condition condition);
const char *quota_reason_text(enum quota_reason reason);
const char *condition_status_text(enum condition_status status); /* "True", "False", "Unknown" */
const char *shrink_policy_text(enum shrink_policy policy);

#define QUOTA_MESSAGE_SIZE 384

struct condition {
	enum condition_status status;
	enum quota_reason reason;
	int64_t since_us;                 /* lastTransitionTime, real, full seconds */
	char message[QUOTA_MESSAGE_SIZE]; /* a sentence a person can act on */
};

/* One row of status.resources[]: a resource on one product. */
struct quota_row {
	struct str resource, product;
	int64_t unit_memory; /* bytes, or AMOUNT_UNKNOWN: shown as absent, and refused at admission.
				So too while the API server does not count the resource yet */
	int64_t used; /* units charged to the namespace under this product; pending pods under the
			 dearest product they may get */
	int64_t hard; /* units that `effective` buys of this row alone, caps applied */
	enum device_sharing sharing;
};

/* status.deviceClasses[]: what a device of a DeviceClass of DRA is charged as. */
struct quota_class {
	struct str name, resource; /* resource: of a row; empty: no GPU, and free */
};

/* Not among them: a class with a row of its own, which its name tells, and one of which nobody
 * knows what its devices are. Either is charged at its own row, else at the dearest there is. */
struct quota_classes {
	const struct quota_class *list; /* sorted by name */
	size_t n;                       /* at most LIMIT_STATUS_CLASSES */
	size_t left_out;                /* for want of room; 0 in a status */
};

/* used_percent goes no further; it is also what any use of an effective of 0 shows. */
#define QUOTA_PERCENT_MOST 9999

/* status.dryRun.workloads[]: what enforcing would have refused, by the owner of the pods. */
struct dry_run_row {
	struct str kind, name; /* "Job", "train"; "Pod" and its name where it has no owner */
	int64_t pods;
	int64_t gpu_memory; /* bytes that they asked for */
};

/* Counted over pods created at since_us or later; kept where the controller restarts. */
struct dry_run_status {
	int64_t since_us;   /* real, full seconds; 0: not in DryRun, and all else is empty */
	int64_t through_us; /* real, full seconds, since_us at least: pods created before were
			       looked at */
	int64_t refused;    /* pods, of all workloads, also of those that are not listed */
	const struct dry_run_row *rows; /* at most LIMIT_DRY_RUN_ROWS, most pods first */
	size_t n_rows;
};

/* A GpuMemoryQuota's status in our units. */
struct quota_status {
	int64_t observed_generation;
	int64_t effective, used, lent, borrowed, live; /* bytes */
	int64_t granted; /* bytes of the spec that its tenant's ceiling has room for; all without
			    a tenant. effective = granted - lent + borrowed, but where memory is on
			    its way from one to another, or the tenant is throttled: less then */
	int64_t granted_gpus, effective_gpus; /* likewise whole cards, where its tenant's ceiling
						 bounds them; else 0 */
	int64_t released; /* bytes of pods stuck terminating that are no more charged */
	int64_t released_pods;
	struct str tenant; /* name of the TenantQoS of the namespace; empty for none */
	struct dry_run_status dry_run;
	int64_t gpus_used;            /* whole cards */
	int64_t used_percent;         /* of effective, rounded up; 0 where nothing is used */
	int64_t pods;                 /* that hold or ask for a GPU */
	const struct quota_row *rows; /* sorted by resource, product */
	size_t n_rows;
	struct quota_classes classes;
	struct condition conditions[QUOTA_CONDITION_COUNT];
	bool unshown; /* it was stored without status.shown, which columns show: by an older release
		       */
};

#endif
