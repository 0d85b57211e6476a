/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_BASE_LIMITS_H
#define GPUQOS_BASE_LIMITS_H

/*
 * Every limit on what outside bytes may make the program hold or do, in one place.
 *
 * "Outside" is the API server, a kubeconfig, an exec plugin, a scraper, a label a tenant wrote. A
 * reader that meets more than its limit returns ERROR_LIMIT naming the object; it never truncates
 * silently and never lets a length field size an allocation. An object that is there and cannot be
 * read is kept for what is known of it (runtime/reflector.h): who may write may not hide. Sizes are
 * bytes unless the name says otherwise.
 */

/* HTTP, client side */
#define LIMIT_HTTP_BODY       (8 * 1024 * 1024) /* one whole response body kept in memory */
#define LIMIT_HTTP_ERROR_BODY (64 * 1024)       /* body of a non-2xx answer; the rest is dropped */
#define LIMIT_HTTP_HEADERS    (64 * 1024)       /* all response headers of one answer */
#define LIMIT_HTTP_URL        (8 * 1024)
#define LIMIT_HTTP_INFLIGHT   1024 /* requests queued or running on one channel */

/* HTTP, server side (metrics, health, extender) */
#define LIMIT_SERVER_CONNECTIONS 256 /* without TLS, or before the end of the handshake */
#define LIMIT_SERVER_CLIENTS     256 /* whose certificate is good */
#define LIMIT_SERVER_HEADERS     (8 * 1024)
#define LIMIT_SERVER_BODIES      (16 * 1024 * 1024) /* of requests, over all connections */
#define LIMIT_SERVER_ANSWERS     (32 * 1024 * 1024) /* on their way; no request is read above it */
#define LIMIT_SERVER_REQUEST_US  (2 * 1000 * 1000)  /* handshake and request, each, in all */
#define LIMIT_SERVER_LATER_US    (30LL * 1000 * 1000) /* an answer that comes in a later turn */
#define LIMIT_SERVER_REREAD_US   (5LL * 1000 * 1000)  /* between looks at the certificates */
#define LIMIT_SERVER_CHAIN       (32 * 1024)          /* the certificates of a client */

/*
 * What kube-scheduler asks. 5,000 names of nodes, each of the longest, and a pod as large as etcd
 * takes one.
 */
#define LIMIT_EXTENDER_BODY  (3 * 1024 * 1024)
#define LIMIT_EXTENDER_NAMES (16 * 1024) /* of nodes, in one request */

/*
 * Watch streams and lists. etcd takes 1.5 MiB for one object unless told otherwise, and no request
 * to the API server has more than 3 MiB: what it let through must not be too large to be read.
 */
#define LIMIT_WATCH_FRAME     (4 * 1024 * 1024) /* one object of a watch or list */
#define LIMIT_LIST_PAGE_ITEMS 500               /* asked for per page of a paged list */

/*
 * Decoding. The list that is longest for its bytes is a map of labels: 9 bytes of protobuf an entry
 * whose key is as short as so many keys can be, and 32 in memory, in a list that grew by doubling.
 */
#define LIMIT_DECODE_DEPTH  32  /* nesting of messages or JSON values in kept fields */
#define LIMIT_SKIP_DEPTH    128 /* nesting inside fields that are skipped */
#define LIMIT_DECODE_ARENA  (64 * 1024 * 1024) /* memory of one decoded object */
#define LIMIT_DECODE_ITEMS  (512 * 1024)       /* elements of one list or map */
#define LIMIT_STRING        (1024 * 1024)      /* one string */
#define LIMIT_YAML_DOCUMENT (1024 * 1024)      /* a kubeconfig or --config file */
#define LIMIT_YAML_NODES    (64 * 1024)
#define LIMIT_JSON_OUTPUT   (2 * 1024 * 1024) /* one body that we write */

/* Credentials */
#define LIMIT_KUBECONFIG_FILES 16
#define LIMIT_TOKEN            (64 * 1024)
#define LIMIT_CERTIFICATE      (256 * 1024) /* one PEM file or data field */
#define LIMIT_EXEC_OUTPUT      (256 * 1024)
#define LIMIT_EXEC_US          (60LL * 1000 * 1000) /* an exec plugin is ended after this */

/* Prometheus */
#define LIMIT_PROM_BODY                                                                        \
	(5 * 1024 * 1024)               /* one answer; the rest is not read, and it is refused \
					 */
#define LIMIT_PROM_SERIES 20000         /* of one answer */
#define LIMIT_QUESTIONS   4096          /* that are asked in one interval */
#define LIMIT_PROM_QUERY  (1024 * 1024) /* bytes of one query */

/* What the cache keeps */
#define LIMIT_NAME                  253 /* a DNS subdomain, the longest Kubernetes name */
#define LIMIT_PACKED                (4 * LIMIT_WATCH_FRAME) /* one small object, as it is kept */
#define LIMIT_INTERNED_STRING       512                     /* one interned string */
#define LIMIT_BUDGETS_PER_NAMESPACE 64 /* PodDisruptionBudgets that pods are matched with */
#define LIMIT_BUDGET_KEYS           16 /* keys of labels that those of a namespace ask for */
/* GPU resource names in one pod: what a node may offer. The rest counts as one of which nothing
 * tells the memory. */
#define LIMIT_RESOURCES_PER_POD    64
#define LIMIT_OFFERS_PER_NODE      64   /* GPU resource names on one node */
#define LIMIT_RESOURCE_NAMES       1024 /* GPU resource names in the cluster */
#define LIMIT_QUOTAS_PER_NAMESPACE 64   /* GpuMemoryQuotas that are read; more are refused */
#define LIMIT_STATUS_RESOURCES     128  /* rows of status.resources[] */
#define LIMIT_STATUS_CLASSES       64   /* DeviceClasses in status.deviceClasses[] */
#define LIMIT_STATUS_NAMESPACES    256  /* names in a TenantQoS's status */
#define LIMIT_DRY_RUN_ROWS         32   /* workloads in status.dryRun */
#define LIMIT_PRODUCTS             64   /* spec.products[] */
#define LIMIT_RECEIPT_ID           128  /* of status.evictions[] */
#define LIMIT_RECEIPT_TEXT         1024 /* likewise: one sentence */
#define LIMIT_RECEIPT_OWNER        317  /* likewise: a kind, "/", a name */
#define LIMIT_LABEL_KEY            317  /* what Kubernetes allows: a DNS name, "/", 63 bytes */
#define LIMIT_LABEL_VALUE          63   /* likewise */
#define LIMIT_PRIORITY_CLASSES     32   /* spec.priorityClasses[] of a TenantQoS */
#define LIMIT_OBJECTIVES           8    /* spec.objectives[] of a TenantQoS */
#define LIMIT_OBJECTIVE_NAME       63   /* bytes */
#define LIMIT_QUERY                2048 /* bytes of spec.objectives[].query */
#define LIMIT_TERMS                1024 /* of a pod's node affinity, selector and tolerations */
#define LIMIT_NODE_LABELS          1024 /* of a node; with more it is no choice of a pod that chooses */
#define LIMIT_SELECTOR_VALUES      256 /* requirements and values of one namespaceSelector */
#define LIMIT_TENANTS              10000
#define LIMIT_SELECTING_TENANTS    64  /* that select one namespace; the oldest count */
#define LIMIT_DEVICES_PER_SLICE    128 /* DRA: what the API server allows */
#define LIMIT_REQUESTS_PER_CLAIM   32  /* likewise */
#define LIMIT_CLAIM_DEVICES        32  /* results of one allocation, likewise */
#define LIMIT_CHOICES_PER_REQUEST  32  /* of firstAvailable; the API server allows 8 */
#define LIMIT_CLAIMS_PER_POD       32  /* that a pod names */
#define LIMIT_PORTS_PER_POD        256 /* of its node, that a pod has */
#define LIMIT_VOLUMES_PER_POD      128 /* of it that are looked up */
#define LIMIT_CSI_DRIVERS          64  /* of one node */
#define LIMIT_CLAIM_PODS           256 /* that a claim is reserved for: what the API server allows */
#define LIMIT_TABLE_RESOURCES      256   /* resources[] of --config */
#define LIMIT_LAYOUT               65536 /* bytes of an annotation gpuqos.io/topology */
#define LIMIT_LAYOUT_NUMAS         64
#define LIMIT_POLICY_NUMAS         8 /* with more, kubelet's topology manager does not start by default */
#define LIMIT_LAYOUT_BRIDGES       512
#define LIMIT_LAYOUT_GPUS          64   /* a set of them is a word */
#define LIMIT_LAYOUT_MIGS          64   /* profiles of a card, and partitions of a profile */
#define LIMIT_LAYOUT_CPUS          8192 /* what Linux can be built for */
#define LIMIT_LAYOUT_TEXT          128  /* a uuid, product, profile or writer */
#define LIMIT_HELD_MESSAGE         (4 * 1024 * 1024) /* what kubelet tells of devices, once */
#define LIMIT_GPUNODE              (1024 * 1024)     /* bytes of a GpuNode: etcd takes 1.5 MiB */
#define LIMIT_GPUNODE_USERS        16384             /* rows of a GpuNode's status.users[] */
#define LIMIT_CARD_PROCESSES       1024 /* of one card; where there are more none is counted */
#define LIMIT_CARD_SAMPLES         4096 /* likewise, of their use */
#define LIMIT_HELD_CONTAINERS      1024 /* with GPUs, of one node */
#define LIMIT_HELD_DEVICES         4096 /* that they hold, and that there are */
#define LIMIT_LAYOUT_AMOUNT        (1LL << 56) /* bytes, or bytes per second: 64 sum up to 4Ei */

/* What the program says */
#define LIMIT_ERROR_MESSAGE 512
#define LIMIT_LOG_RING      (256 * 1024) /* log bytes waiting for stderr */
#define LIMIT_LOG_LINE      (4 * 1024)
#define LIMIT_EVENT_NOTE    1024 /* events.k8s.io/v1 note */
#define LIMIT_EVENT_QUEUE   1000 /* Events waiting to be sent; more are dropped and counted */
#define LIMIT_METRICS_PAGE  (16 * 1024 * 1024)

/* What one turn or one reconcile may do */
#define LIMIT_WRITES_PER_RECONCILE 16

#endif
