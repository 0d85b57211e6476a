/* SPDX-License-Identifier: Apache-2.0 */
/* size: all records, so that they can be read together. */
#ifndef GPUQOS_CLUSTER_RECORDS_H
#define GPUQOS_CLUSTER_RECORDS_H

#include "base/buf.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/table.h"
#include "cluster/cluster.h"
#include "cluster/dra/class_list.h"
#include "cluster/dra/dra.h"
#include "cluster/hosts/texts.h"
#include "cluster/ledger/vectors.h"
#include "cluster/placing/placement.h"
#include "cluster/uid.h"
#include "cluster/volumes/storage.h"
#include "model/cpus.h"
#include "model/device_series.h"
#include "model/host.h"
#include "quota/price.h"
#include "quota/tenant.h"
#include "slo/slo.h"
#include "topo/topo.h"

/*
 * The records, for this package alone. All handles are of the tables in struct cluster, TABLE_NONE
 * for none; name, product and resource are interned strings.
 */

/* Exact for as many amounts of int64_t as there can be records; read with sum_clamp(). */
__extension__ typedef __int128 wide_sum;

struct pod_record {
	uint64_t resource_version;
	struct uid uid;
	int64_t charge; /* bytes, as added to the namespace's sums; 0 when finished */
	uint32_t namespace, name, node, product;
	uint32_t vector; /* TABLE_NONE: it asks for devices by claims alone */
	uint32_t namespace_next, namespace_prev, node_next, node_prev;
	uint32_t created_s;  /* real */
	uint32_t epoch;      /* of the replace that it was last seen in, as in all records */
	uint32_t deletion_s; /* real, when its grace is over; 0: not terminating */
	uint32_t owner;      /* "Kind/name" of its workload; INTERN_EMPTY: itself */
	uint32_t eviction;   /* that was asked for */
	/* The claim that the scheduler made for its extended resources; INTERN_EMPTY: none. */
	uint32_t extended_claim;
	uint32_t first_claim; /* struct pod_claim: ResourceClaims that it names */
	uint64_t cards;       /* of its node's layout, that placement chose for it; 0: none */
	uint32_t devices;     /* that kubelet gave it: 8 bytes of hash each, interned */
	uint32_t assumption;  /* that it is on its node; TABLE_NONE: seen to be, or on none */
	uint32_t exit;
	uint32_t pcie_mb; /* that it declares, MB/s; 0: nothing */
	struct pod_alignment alignment;
	uint16_t most;                            /* as in struct cluster_ask */
	uint8_t phase;                            /* enum pod_phase */
	uint8_t check, check_policy, check_scope; /* enum topology_check, and by what it was made */
	bool check_told : 1;
	bool terminating : 1;
	bool gated : 1;
	bool released : 1;  /* stuck terminating: its part is among what is released */
	bool annotated : 1; /* annotations asked for something, if only once */
	bool seated : 1;    /* what it takes is among what is taken of its node */
};

/* What of a pod its eviction alone reads: apart, so that the others' records stay small. */
struct exit_record {
	uint32_t started_s;    /* real: status.startTime; 0: not yet */
	uint32_t checkpoint_s; /* real; 0: none */
	uint32_t grace_s;
	uint32_t gang, gang_next, gang_prev;
	uint32_t labels;         /* interned, packed: those that its namespace's budgets ask for */
	uint32_t labels_version; /* of namespace_budgets, that they were read for */
	uint32_t budget;         /* the one that selects it */
	uint32_t crashed_s;      /* real: the last bad end of those that run again; 0: none */
	uint32_t demand;         /* what it takes of a node; TABLE_NONE: not known yet */
	uint32_t terms;          /* what it asks of one, in texts */
	uint32_t repels;         /* its anti-affinity, likewise; TABLE_NONE: none */
	uint32_t repeller;       /* of that, while it is on a node */
	uint32_t occupant;       /* its ports and volumes; TABLE_NONE: none */
	uint8_t budgets : 4;     /* enum victim_budget, its status not looked at */
	bool daemon : 1, mirror : 1;
	bool terms_settled : 1;         /* terms are those of a pod that is bound */
	uint8_t waiting : 4, again : 4; /* containers that crash, up to 15: struct pod_crashes */
};

#define LABELS_UNREAD UINT32_MAX

/* What pods take of a node beside GPUs. */
struct demand_record {
	struct demand demand;
	uint32_t refs;
};

/* A pod without GPUs that is on a node, as far as it is in others' way. */
struct bystander_record {
	uint64_t key; /* of its names */
	uint32_t node, demand, epoch;
	uint32_t repels, repeller; /* as in struct exit_record */
	uint32_t occupant;         /* likewise */
	uint32_t namespace;        /* its name, a reference */
};

/* A pod that has ports of a node, or volumes there; in the chain of its node while it is on one. */
struct occupant_record {
	uint32_t node, next, prev; /* node: TABLE_NONE: on none */
	uint32_t ports, volumes;   /* in texts, a reference each; TABLE_NONE: none */
	uint32_t pod;              /* TABLE_NONE: one without GPUs */
};

/* A pod that keeps others away from where it is. */
struct repeller_record {
	uint32_t node, repels;
	uint32_t pod; /* TABLE_NONE: one without GPUs */
};

struct node_label {
	uint32_t key, value; /* a reference each */
};

/* A Job that ends where one of its pods does: names, a reference each. */
struct job_record {
	uint32_t namespace, owner; /* owner: "Job/name", as its pods have it */
	uint32_t epoch;
};

/* A PodDisruptionBudget. */
struct budget_record {
	uint64_t resource_version;
	struct uid uid;
	char *selector; /* owned, packed; NULL: none */
	size_t selector_len;
	int64_t allowed;
	uint32_t namespace, name, next, epoch;
	uint8_t reach; /* enum budget_reach */
	bool known;    /* it was read once */
};

/* Those of one namespace. */
struct namespace_budgets {
	uint32_t *keys; /* owned: names of labels that they ask for, a reference each; only grows
			   while there is a budget */
	uint32_t n_keys, version; /* version: another with each key */
	uint32_t first, n;
};

/*
 * Pods of one namespace that say they belong together, and whose workloads are named after the gang
 * or are one. Exists while a pod is in it.
 */
struct gang_record {
	uint32_t namespace, name, owner; /* owner: INTERN_EMPTY for those named after the gang */
	uint32_t kind;                   /* enum gang_kind */
	uint32_t first_pod, n;           /* that are not finished */
	/* As a whole, as long as it may go as one: since the first of its pods runs, and its newest
	 * checkpoint; 0: none. */
	uint32_t started_s, checkpoint_s;
};

/* What became of asking a pod to go; gone with the pod. */
struct eviction_record {
	int64_t until_us;  /* monotonic, while this matters */
	uint32_t refusals; /* one after the other */
	uint32_t outcome;  /* enum eviction_outcome */
	uint32_t pod;      /* TABLE_NONE: of a claim */
};

struct assumption_record {
	uint32_t pod;
	int64_t until_us; /* monotonic */
};

/* Room that is held (cluster/placing/reserve.h); names are interned, a reference each. */
struct hold_record {
	uint64_t cards;
	struct uid uid;
	int64_t since_us, until_us; /* real */
	uint32_t id, tenant, namespace, name, owner;
	uint32_t node, node_next;       /* node_next: holds of that node */
	uint32_t vector, product;       /* of its pod; TABLE_NONE: not known */
	uint32_t demand;                /* likewise */
	uint32_t ports;                 /* likewise, in texts */
	struct pod_alignment alignment; /* likewise, where vector is */
	uint16_t most;                  /* likewise */
	uint8_t tier;                   /* enum tenant_tier */
	bool objective;
	bool taken; /* its pod is assumed to be there */
	/* Why it does not count though its receipt is open: its pod is bound or over, which is for
	 * good; its pod is not there; its time is over by the clock as it is. */
	bool served, gone, late;
	bool seen, shown; /* some TenantQoS had the receipt; the one that is being applied has */
};

/* The Lease of a node's agent, by the node's name. */
struct agent_record {
	uint64_t resource_version;
	int64_t renew_us;    /* as it says */
	int64_t heard_us;    /* monotonic: since when it says so */
	int64_t duration_us; /* 0: nothing was read yet */
	int64_t seen_us;     /* when it found its GpuNode true, as it says; 0: it does not */
	int64_t told_us;     /* monotonic: since when it says so; 0: it never did */
	uint32_t node, epoch;
	bool lives;
};

struct seen_pods; /* cluster/nodes/gpunodes_internal.h */

struct series_figure; /* cluster/nodes/series_internal.h */

struct series_list {
	struct series_figure *figures; /* owned, by key */
	size_t n;
};

/* A GpuNode, by the node's name. */
struct gpu_node_record {
	uint64_t resource_version;
	int64_t seen_us;        /* monotonic: since when it says so */
	struct seen_pods *seen; /* owned */
	uint32_t name, epoch;
};

/* CPUs of a NUMA node, by its index. */
struct numa_cpus {
	struct cpu_range range;
	uint32_t numa;
};

/* What is alike in the layouts of many nodes: the wires, but not who the cards are. */
struct layout_record {
	struct topo *topo; /* owned */
	char *shape;       /* owned: what topo and cpus follow from */
	size_t len;
	struct numa_cpus *cpus; /* owned */
	size_t n_cpus;
	uint64_t number;      /* of its own */
	uint32_t hash, nodes; /* nodes: its reference count */
};

/* A layout of a node, and who its cards are: each a reference, but of TABLE_NONE. */
struct node_layout {
	uint32_t layout;    /* TABLE_NONE: not known */
	uint32_t cards;     /* 8 bytes of hash of each one's uuid, interned */
	uint32_t addresses; /* likewise, of each one's PCI address */
	uint32_t speeds;    /* of links, interned: links.c */
};

#define NODE_LAYOUT_NONE \
	((struct node_layout){TABLE_NONE, INTERN_EMPTY, INTERN_EMPTY, INTERN_EMPTY})

struct published_record {
	uint64_t resource_version;
	struct node_layout layout;
	uint32_t name, epoch;
};

/* Exists from when it is observed, or a pod names it, to when neither is so. */
struct node_record {
	uint64_t resource_version;
	struct uid uid;
	uint32_t name, first_pod, first_offer, epoch;
	uint32_t first_device, devices; /* of slices: current ones; all that name it */
	uint32_t out_next;
	/* What the Node tells; and what counts of that and struct published_record. */
	struct node_layout own, wires;
	uint32_t gpu_node;       /* TABLE_NONE: none is seen */
	uint32_t layout_problem; /* interned */
	uint32_t links;          /* as in struct cluster_room, interned */
	uint32_t look_next;
	uint32_t first_hold; /* TABLE_NONE: no room is held */
	uint32_t bystanders, first_occupant;
	uint8_t published;             /* enum layout_state: what the annotation makes of it */
	uint8_t state;                 /* what counts, with capacity and agent */
	uint8_t told;                  /* the state that was told last */
	bool agent_asked, agent_lives; /* its layout is an agent's; that agent's Lease holds */
	bool looked_at_next;           /* it is in the chain through look_next */
	uint64_t seen_cards, assumed_cards, leaving_cards; /* as in struct cluster_room */
	uint32_t reserved_cpus, pinned[LIMIT_POLICY_NUMAS], pinned_somewhere; /* likewise */
	bool out;      /* its pods are taken out of the sums while devices change */
	bool exists;   /* the Node object was seen */
	uint8_t ready; /* enum node_ready */
	bool reconfiguring;
	bool labels_unread;
	struct node_label *labels; /* owned, by key */
	uint32_t n_labels;
	uint32_t taints;              /* in texts; TABLE_NONE: none */
	bool host_told, cordoned;     /* host_told: given, taken are known */
	int64_t given[HOST_AMOUNTS];  /* by kube-scheduler: its amounts, and pods */
	wide_sum taken[HOST_AMOUNTS]; /* likewise, by all pods that count there */
};

/* One of a node's offers. */
struct offer_cell {
	int64_t count, allocatable, held; /* held: by pods that are bound, or assumed to be */
	uint32_t kind, next;
};

/* Equal offers of many nodes: prices follow from these. */
struct offer_kind {
	int64_t unit_memory, min_memory; /* as in struct device_offer; min_memory never 0 */
	uint32_t resource, product;      /* a reference each */
	int64_t other_memory;            /* likewise */
	uint32_t sharing;                /* enum device_sharing */
	uint32_t source, other;          /* enum memory_source */
	uint32_t nodes;                  /* that offer it: its reference count */
};

/* What a namespace uses of one row of the price list. */
struct use_record {
	wide_sum count, count_live, bytes, bytes_live;
	uint32_t row, next;
};

/* What is known of a namespace's use; valid for one price_version. */
struct sums {
	wide_sum used, live, unpriced;
	wide_sum gpus;     /* whole cards */
	wide_sum assumed;  /* bytes among used of devices whose node does not tell their memory */
	wide_sum released; /* of pods that are released and nowhere else counted */
	uint32_t pods, released_pods, first_use;
	uint32_t disagreeing; /* pods with devices of which two sources tell different memory */
};

/* The most that hard values stand for, each taken alone. */
struct enforced {
	int64_t bytes, gpus; /* whole cards */
	bool unknown;        /* of some nobody tells the price now: it may be more */
};

/* By writes of ours that no watch has shown yet (sent.c). */
struct sent {
	struct enforced most;
	uint64_t version; /* of what came of the last; 0 while that is not known */
};

enum { OWNED_RESOURCE_QUOTA, OWNED_LIMIT_RANGE, OWNED_COUNT };

struct namespace_record {
	struct sums sums;
	uint64_t resource_version;
	int64_t recount_drift;
	/* The most that it could hold when all of it had a price the last time; AMOUNT_UNKNOWN:
	 * never since the start. */
	int64_t known_used, known_gpus;
	uint32_t known_version; /* of prices, then */
	char *labels;           /* owned, packed */
	size_t labels_len;
	struct refusals *refusals; /* owned; NULL: none yet */
	struct sent sent;          /* its ResourceQuota */
	struct sent published;     /* the status of the quota that governs: `effective` */
	struct tenant_grant grant; /* of its tenant; zeroed until decided */
	uint32_t name, uid;        /* a reference each */
	uint32_t tenant_label;     /* likewise */
	uint32_t tenant, member_next, member_prev;
	uint32_t first_selection; /* younger tenants that select it too */
	uint32_t granted_quota;   /* the governing quota that the grant is for */
	uint32_t n_terminating;   /* pods that are, and are not finished */
	struct topology_counts checks;
	uint32_t mismatched;                          /* a pod that does not lie as is required */
	uint32_t price_version;                       /* that sums follow */
	uint32_t first_pod, n_pods;                   /* kept pods, finished ones too */
	uint32_t first_device_claim, n_device_claims; /* ResourceClaims */
	uint32_t first_quota, n_quotas;               /* oldest first */
	struct namespace_budgets budgets;
	uint32_t owned[OWNED_COUNT];
	uint32_t dirty_next, epoch;
	bool exists, managed, quotaless, terminating, dirty, decided;
	bool counted; /* from complete caches, since the start */
};

/* A tenant that selects a namespace which an older one has. */
struct selection_cell {
	uint32_t tenant, namespace;
	uint32_t namespace_next, tenant_next, tenant_prev;
};

/* One of spec.objectives[], and what is known of it. */
struct objective_record {
	struct objective_spec spec; /* of texts */
	char *texts;                /* owned */
	struct slo_state state;
	struct uid worst_uid;        /* of the pod that state.verdict.worst is */
	int64_t told_value, told_us; /* monotonic: what made the tenant dirty last */
};

/*
 * A TenantQoS. Exists from when it is observed, or a binding is named after it, to when neither is
 * so.
 */
struct tenant_record {
	char *bytes, *selector; /* owned; NULL: the object was not seen */
	char *receipts;         /* owned; NULL: it has none */
	size_t len, selector_len, receipts_len;
	uint64_t resource_version;
	int64_t created_us;
	int64_t ceiling, ceiling_gpus;
	struct tenant_sums sums; /* as last decided */
	uint32_t name, uid;      /* a reference each */
	struct blame {
		struct uid uid;
		int64_t told_us; /* monotonic; 0: never */
		uint32_t pod, signals;
		bool normal;
	} blame;           /* cluster_blame() */
	int64_t idle;      /* cluster_note_idle() */
	uint32_t unmoved;  /* a reference; cluster_tell_unmoved() */
	uint32_t unhelped; /* likewise; cluster_tell_unhelped() */
	uint32_t kept;     /* likewise; cluster_tell_kept() */
	uint32_t first_member, n_members;
	uint32_t first_selection, n_selections;
	uint32_t bindings[TENANT_BINDING_COUNT];
	uint32_t dirty_next, epoch;
	struct topology_spec topology;
	struct preemptible_spec preemptible;
	struct objective_record *objectives; /* owned */
	int64_t pending_us;
	uint32_t n_objectives;
	struct throttle throttle; /* as last decided */
	uint8_t tier;             /* enum tenant_tier */
	bool exists, terminating, dirty;
};

struct binding_record {
	char *bytes; /* owned */
	size_t len;
	uint64_t resource_version;
	uint32_t tenant, binding, epoch; /* enum tenant_binding */
};

/* Which tenants may select a namespace, by a hash of a label that their selector asks for. */
struct selector_entry {
	uint64_t hash;
	uint32_t tenant;
};

struct selector_index {
	struct selector_entry *entries; /* owned, sorted */
	size_t len, capacity;
	uint64_t *keys; /* owned, sorted: hashes of the keys that any selector asks for */
	size_t n_keys, keys_capacity;
};

/* A GpuMemoryQuota; its bytes are those of cluster/pack/pack.h. */
struct quota_record {
	char *bytes; /* owned */
	size_t len;
	uint64_t resource_version;
	int64_t created_us;
	struct quota_amounts {
		/* Of spec; all 0 when it is invalid. */
		int64_t limit, limit_gpus, borrow_limit;
		/* Of status; 0 without one. */
		int64_t effective, granted, borrowed, lent;
		int64_t effective_gpus, granted_gpus;
		uint32_t tenant; /* named by status; a reference */
		bool invalid;
	} amounts;                   /* what decisions about its tenant read */
	int64_t terminal_timeout_us; /* -1: releaseOn Deletion */
	uint32_t namespace, name, next, epoch;
	bool terminating, dry_run;
};

/* Our ResourceQuota or LimitRange of a namespace, likewise. */
struct owned_record {
	char *bytes; /* owned */
	size_t len;
	uint64_t resource_version;
	int64_t differs_since_us;
	struct enforced enforced; /* of a ResourceQuota, by the prices of price_version */
	uint32_t namespace, epoch, price_version;
	bool owned; /* some object controls it */
};

struct cluster {
	struct hash_key key;
	struct intern *intern;
	struct vectors vectors;
	struct table pods, nodes, namespaces, quotas, owned[OWNED_COUNT];
	struct table offers, kinds, uses;
	struct table wants;
	struct map wants_by_value;
	uint64_t wants_changed;
	struct table tenants, selections, bindings, evictions, layouts, assumptions, agents;
	struct table gpu_nodes, published, zones, exits, gangs, budgets, jobs, demands, bystanders;
	struct table repellers, occupants;
	struct map demands_by_value, bystanders_by_key;
	struct texts texts; /* of cluster/hosts and cluster/volumes */
	struct storage storage;
	struct map jobs_by_owner;
	struct table holds;
	struct series_list series[DEVICE_SERIES_COUNT];
	int64_t series_since_us; /* monotonic: older figures do not count */
	struct map pods_by_name, nodes_by_name, namespaces_by_name, kinds_by_value, agents_by_node;
	struct map gpu_nodes_by_name, published_by_name, zones_by_name;
	struct map tenants_by_name, layouts_by_shape, gangs_by_key;
	uint64_t layouts_made;
	struct node_stamp *stamps; /* owned: by handles of nodes */
	uint32_t n_stamps;
	uint64_t rooms_changed, nodes_born, resources_changed; /* how often */
	struct selector_index selectors;
	bool selectors_stale; /* tenants changed since namespaces were given to them */

	struct price_row *prices; /* owned; rows hold references to their names */
	size_t n_prices;
	int64_t dearest;         /* bytes of a unit, of all rows; AMOUNT_UNKNOWN: none tells */
	uint32_t price_version;  /* counts changes that matter to anybody's sums */
	uint32_t resource_names; /* distinct ones among kinds */
	bool recounted;          /* all of it once, from complete caches */
	bool prices_stale;       /* kinds changed since prices were made */

	uint32_t epochs[CLUSTER_KIND_COUNT];
	uint64_t unreadable[CLUSTER_KIND_COUNT];
	size_t packed_bytes[CLUSTER_KIND_COUNT];
	uint32_t dirty_first, dirty_last;
	uint32_t taken; /* the namespace that cluster_take_dirty() gave last */
	uint32_t dirty_tenant_first, dirty_tenant_last, taken_tenant;
	uint32_t look_first, look_last, taken_node; /* nodes, likewise */
	uint32_t replacing;                         /* kinds that prices follow from, each a bit */
	uint32_t budget_versions;                   /* the last that was given */
	bool labels_wanted, labels_reading; /* labels of keys that are new; by the full state of
					       pods that is under way */
	struct dra dra;
	struct class_list class_list;
	struct buf scratch; /* packed bytes of the object that is applied */
	struct buf scratch_selector, scratch_receipts;
	struct arena scratch_arena;
};

#endif
