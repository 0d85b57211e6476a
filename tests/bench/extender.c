/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kube-scheduler's calls cost: 5,000 nodes of eight cards in three shapes, half full, and pods
 * of one to eight cards that are asked about in turn, with bodies as kube-scheduler sends them. No
 * pod is bound; those that are asked about make nodes less good for each other.
 *
 *   extender CERTS verbs ROUNDS   µs of filter and of prioritize over all nodes, from the body read
 *                                 to the answer written, as JSON
 *   extender CERTS beside ROUNDS  the same over 5,000 full nodes alone, and while a plan of whom to
 *                                 evict from them is searched: then with what is left, when the
 *                                 call comes, of the search's turn of the loop
 *   extender CERTS once           each verb once, for callgrind, which is to count measured_call()
 *   extender CERTS serve          says its port, and answers over HTTPS until SIGTERM
 *   extender CERTS body N POD     a body of N nodes
 *
 * CERTS is a folder that hack/extender-certs has made.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/random.h"
#include "cluster/read.h"
#include "extender/internal.h"
#include "lib/crowd.h"
#include "lib/full_cluster.h"
#include "lib/layouts.h"
#include "plan/plan.h"

#define NODES      5000
#define CARDS      8
#define SHAPES     3
#define NAMESPACES 10
#define PODS       64 /* that wait */
#define MAX_ROUNDS 10000

struct scene {
	struct loop *loop;
	struct cluster *cluster;
	struct machine machines[SHAPES];
	struct random random;
	struct placement_weights weights;
	struct recorder *recorder;
	struct extender *extender;
	uint32_t waits; /* the pod that a plan is for */
};

/* --- the cluster */

static void add_node(struct scene *s, unsigned int number)
{
	struct machine *machine = &s->machines[number % SHAPES];
	struct device_offer offer = {.resource = STR("nvidia.com/gpu"),
				     .product = STR("NVIDIA-H100-80GB-HBM3"),
				     .unit_memory = 80 * GIB,
				     .min_memory = 80 * GIB,
				     .count = CARDS,
				     .allocatable = CARDS};
	struct node_facts facts = {.name = crowd_text(FULL_CLUSTER_NODE, number),
				   .uid = crowd_text("node-uid", number),
				   .ready = NODE_READY,
				   .offers = &offer,
				   .n_offers = 1,
				   .layout = &machine->layout,
				   .layout_state = LAYOUT_IS_KNOWN};
	struct error err = {0};

	for (unsigned int card = 0; card < CARDS; card++) {
		snprintf(machine->uuids[card], sizeof(machine->uuids[card]), "GPU-%06u",
			 number * CARDS + card);
		machine->gpus[card].uuid = str_from(machine->uuids[card]);
	}
	crowd_check(cluster_apply_node(s->cluster, &facts, &err), &err);
}

static struct pod_facts pod_facts(unsigned int number, struct container_facts *container)
{
	return (struct pod_facts){
		.namespace = crowd_text("team", number % NAMESPACES),
		.name = crowd_text("pod", number),
		.uid = crowd_text("pod-uid", number),
		.phase = POD_PENDING,
		.containers = container,
		.n_containers = 1,
		.alignment = {.guaranteed = true,
			      .whole_cpus = true,
			      .wished = true,
			      .policy = (enum topology_policy)(number % 3)},
	};
}

static void add_waiting(struct scene *s, unsigned int number)
{
	struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), 1 << number % 4);
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct pod_facts facts = pod_facts(number, &container);
	struct error err = {0};

	crowd_check(cluster_apply_pod(s->cluster, &facts, &err), &err);
}

/* @first: the first of the cards that kubelet has given it. */
static void add_running(struct scene *s, unsigned int number, unsigned int node, unsigned int first,
			unsigned int cards)
{
	struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), cards);
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct pod_facts facts = pod_facts(number, &container);
	char ids[CARDS][16];
	struct str devices[CARDS];
	struct error err = {0};

	for (unsigned int i = 0; i < cards; i++) {
		snprintf(ids[i], sizeof(ids[i]), "GPU-%06u", node * CARDS + first + i);
		devices[i] = str_from(ids[i]);
	}
	facts.phase = POD_RUNNING;
	facts.node = crowd_text(FULL_CLUSTER_NODE, node);
	facts.device_ids = devices;
	facts.n_device_ids = cards;
	crowd_check(cluster_apply_pod(s->cluster, &facts, &err), &err);
}

static void fill_node(struct scene *s, unsigned int node, unsigned int *number)
{
	for (unsigned int first = 0; first < CARDS;) {
		unsigned int size = 1u << random_below(&s->random, 3);

		if (first % size != 0 || first + size > CARDS)
			continue;
		if (random_below(&s->random, 2) == 0)
			add_running(s, (*number)++, node, first, size);
		first += size;
	}
}

static void fill(struct scene *s)
{
	unsigned int number = PODS;

	machine_dgx_h100(&s->machines[0]);
	machine_pcie_box(&s->machines[1]);
	machine_dgx1(&s->machines[2]);
	for (unsigned int node = 0; node < NODES; node++) {
		add_node(s, node);
		fill_node(s, node, &number);
	}
	for (unsigned int pod = 0; pod < PODS; pod++)
		add_waiting(s, pod);
}

/* --- the extender; nothing is ever sent to an API server */

static bool yes(void *context)
{
	(void)context;
	return true;
}

static void ignore(void *context)
{
	(void)context;
}

static struct kube_client *make_client(struct loop *loop)
{
	struct kube_config *config = mem_alloc(sizeof(*config));

	config->origin = mem_strdup("none");
	config->server = mem_strdup("http://127.0.0.1:1");
	config->namespace = mem_strdup("default");
	return kube_client_new(loop, config, &(struct kube_client_options){.user_agent = "bench"});
}

static void make_extender(struct scene *s, const char *certs)
{
	char paths[3][4096];
	struct kube_client *client = make_client(s->loop);
	struct error err = {0};

	snprintf(paths[0], sizeof(paths[0]), "%s/server.crt", certs);
	snprintf(paths[1], sizeof(paths[1]), "%s/server.key", certs);
	snprintf(paths[2], sizeof(paths[2]), "%s/ca.crt", certs);
	s->recorder = recorder_new(client, &(struct recorder_options){"bench", "bench", 1});
	crowd_check(
		extender_new(&(struct extender_options){.address = "127.0.0.1:0",
							.cert_file = paths[0],
							.key_file = paths[1],
							.client_ca_file = paths[2],
							.cluster = s->cluster,
							.weights = &s->weights,
							.candidates = PLACEMENT_CANDIDATES_DEFAULT,
							.client = client,
							.recorder = s->recorder,
							.may_answer = yes,
							.touched = ignore,
							.hash_key = {1, 2}},
			     &s->extender, &err),
		&err);
}

static void set_up(struct scene *s, const char *certs, bool full)
{
	static const struct hash_key fixed = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

	s->loop = loop_new(clock_system());
	s->cluster = cluster_new(&fixed);
	s->weights = PLACEMENT_WEIGHTS_DEFAULT;
	random_init(&s->random, 1);
	if (full)
		s->waits = full_cluster_make(s->cluster, NODES, 1);
	else
		fill(s);
	make_extender(s, certs);
}

/* --- the questions */

static void write_pod(struct buf *buf, unsigned int number)
{
	static const char *const policies[] = {"None", "Preferred", "Required"};
	int cards = 1 << number % 4;

	buf_printf(buf,
		   "{\"metadata\":{\"name\":\"pod-%06u\",\"namespace\":\"team-%06u\",\"uid\":\"pod-"
		   "uid-%06u\",\"resourceVersion\":\"8812\",\"creationTimestamp\":\"2026-01-05T10:"
		   "00:00Z\",\"labels\":{\"app\":\"train\",\"pod-template-hash\":\"5d4f8c7b9\"},"
		   "\"annotations\":{\"gpuqos.io/topology-policy\":\"%s\"}},",
		   number, number % NAMESPACES, number, policies[number % 3]);
	buf_printf(buf,
		   "\"spec\":{\"volumes\":[{\"name\":\"kube-api-access-x7k2p\",\"projected\":{"
		   "\"sources\":[{\"serviceAccountToken\":{\"expirationSeconds\":3607,\"path\":"
		   "\"token\"}},{\"configMap\":{\"name\":\"kube-root-ca.crt\",\"items\":[{\"key\":"
		   "\"ca.crt\",\"path\":\"ca.crt\"}]}}],\"defaultMode\":420}}],\"containers\":[{"
		   "\"name\":\"main\",\"image\":\"registry.example/train:1\",\"resources\":{"
		   "\"limits\":{\"cpu\":\"16\",\"memory\":\"64Gi\",\"nvidia.com/gpu\":\"%d\"},"
		   "\"requests\":{\"cpu\":\"16\",\"memory\":\"64Gi\",\"nvidia.com/gpu\":\"%d\"}},",
		   cards, cards);
	buf_add_cstr(buf, "\"terminationMessagePath\":\"/dev/termination-log\",\"imagePullPolicy\":"
			  "\"IfNotPresent\"}],\"restartPolicy\":\"Always\",\"schedulerName\":"
			  "\"gpuqos-scheduler\",\"tolerations\":[{\"key\":\"node.kubernetes.io/"
			  "not-ready\",\"operator\":\"Exists\",\"effect\":\"NoExecute\","
			  "\"tolerationSeconds\":300}],\"priority\":0},\"status\":{\"phase\":"
			  "\"Pending\",\"qosClass\":\"Guaranteed\"}}");
}

/* Nodes in the order of kube-scheduler's own list, which is not that of their names. */
static void write_body(struct buf *buf, unsigned int pod, unsigned int n_nodes)
{
	buf_add_cstr(buf, "{\"Pod\":");
	write_pod(buf, pod);
	buf_add_cstr(buf, ",\"Nodes\":null,\"NodeNames\":[");
	for (unsigned int i = 0; i < n_nodes; i++)
		buf_printf(buf, "%s\"" FULL_CLUSTER_NODE "-%06u\"", i > 0 ? "," : "",
			   (pod * 79 + i * 1237) % NODES);
	buf_add_cstr(buf, "]}");
}

/* --- the verbs alone */

static void measured_call(struct scene *s, bool filters, struct str body, struct buf *answer)
{
	struct error err = {0};

	if (filters)
		verb_filter(s->extender, body, answer);
	else
		crowd_check(verb_prioritize(s->extender, body, answer, &err), &err);
}

/* Called through a pointer, so that the compiler keeps it as a function of its own. */
static void (*volatile call)(struct scene *s, bool filters, struct str body,
			     struct buf *answer) = measured_call;

/* What the processor spent on this program, which others do not add to. */
static int64_t cpu_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (int64_t)now.tv_sec * USEC_PER_SEC + now.tv_nsec / 1000;
}

static int64_t one(struct scene *s, bool filters, unsigned int pod)
{
	struct buf body CLEANUP(buf_clear);
	struct buf answer CLEANUP(buf_clear);
	int64_t began_us;

	buf_init(&body, LIMIT_EXTENDER_BODY);
	buf_init(&answer, LIMIT_METRICS_PAGE);
	write_body(&body, pod, NODES);
	loop_run_once(s->loop, 0);
	began_us = cpu_us();
	call(s, filters, buf_str(&body), &answer);
	began_us = cpu_us() - began_us;
	if (answer.len < NODES)
		crowd_check(-1, &(struct error){.message = "the answer is no answer"});
	return began_us;
}

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void print_quantiles(const char *name, int64_t *took, size_t n)
{
	qsort(took, n, sizeof(*took), ascending);
	printf("\"%s\": {\"p50\": %lld, \"p99\": %lld}", name, (long long)took[n / 2],
	       (long long)took[n * 99 / 100]);
}

static void measure_verbs(struct scene *s, unsigned int rounds)
{
	static int64_t filter[MAX_ROUNDS], prioritize[MAX_ROUNDS];

	for (unsigned int i = 0; i < rounds; i++) {
		filter[i] = one(s, true, i % PODS);
		prioritize[i] = one(s, false, i % PODS);
	}
	printf("{");
	print_quantiles("filter", filter, rounds);
	printf(", ");
	print_quantiles("prioritize", prioritize, rounds);
	printf("}\n");
}

/* --- the verbs while a plan is searched */

struct search {
	struct place_memory memory;
	struct arena arena;
	struct plan *plan; /* NULL: none yet */
	unsigned int plans;
};

static void search_begin(struct search *search, const struct scene *s)
{
	struct place_tools tools = {s->cluster, &s->weights, &search->memory, &search->arena, NULL};
	int64_t now_us = FULL_CLUSTER_NOW_US + search->plans++ * USEC_PER_SEC;
	struct plan_ask ask = {.pod = s->waits,
			       .tier = TIER_INFERENCE,
			       .protection = PROTECTION_DEFAULT,
			       .most = 16,
			       .now_us = now_us,
			       .now_real_us = now_us};

	search->plan = plan_new(&tools, &ask);
}

/* A turn of the search: µs. */
static int64_t search_turn(struct search *search, const struct scene *s)
{
	int64_t began_us = cpu_us();
	struct plan_found found;

	if (!search->plan)
		search_begin(search, s);
	if (plan_step(search->plan, PLAN_STEP_NODES)) {
		if (!plan_finish(search->plan, &found))
			crowd_check(-1, &(struct error){.message = "there is no plan"});
		plan_free(search->plan);
		search->plan = NULL;
	}
	return cpu_us() - began_us;
}

/* The call comes at any moment of the turn, and is answered after it. */
static int64_t one_beside(struct search *search, struct scene *s, bool filters, unsigned int pod)
{
	int64_t turn_us = search_turn(search, s);

	return (int64_t)random_below(&s->random, (uint64_t)turn_us + 1) + one(s, filters, pod);
}

static void measure_beside(struct scene *s, unsigned int rounds)
{
	static int64_t alone[2][MAX_ROUNDS], beside[2][MAX_ROUNDS];
	static struct search search;

	arena_init(&search.arena, 16 << 20);
	for (unsigned int i = 0; i < rounds; i++)
		for (int filters = 0; filters < 2; filters++)
			alone[filters][i] = one(s, filters, i % PODS);
	for (unsigned int i = 0; i < rounds; i++)
		for (int filters = 0; filters < 2; filters++)
			beside[filters][i] = one_beside(&search, s, filters, i % PODS);
	printf("{");
	print_quantiles("filter alone", alone[1], rounds);
	printf(", ");
	print_quantiles("prioritize alone", alone[0], rounds);
	printf(", ");
	print_quantiles("filter", beside[1], rounds);
	printf(", ");
	print_quantiles("prioritize", beside[0], rounds);
	printf(", \"plans\": %u}\n", search.plans);
	plan_free(search.plan);
	place_memory_clear(&search.memory);
	arena_clear(&search.arena);
}

static void print_body(unsigned int n_nodes, unsigned int pod)
{
	struct buf body CLEANUP(buf_clear);

	buf_init(&body, LIMIT_EXTENDER_BODY);
	write_body(&body, pod, n_nodes);
	fwrite(body.data, 1, body.len, stdout);
}

int main(int argc, char **argv)
{
	static struct scene s;
	const char *mode = argc > 2 ? argv[2] : "";
	unsigned int n = argc > 3 ? (unsigned int)strtoul(argv[3], NULL, 10) : 0;

	if (strcmp(mode, "body") == 0 && argc == 5 && n <= NODES) {
		print_body(n, (unsigned int)strtoul(argv[4], NULL, 10) % PODS);
		return 0;
	}
	if (argc < 3)
		return 2;
	set_up(&s, argv[1], strcmp(mode, "beside") == 0);
	if (strcmp(mode, "verbs") == 0 && n > 0 && n <= MAX_ROUNDS) {
		measure_verbs(&s, n);
	} else if (strcmp(mode, "beside") == 0 && n > 0 && n <= MAX_ROUNDS) {
		measure_beside(&s, n);
	} else if (strcmp(mode, "once") == 0) {
		one(&s, true, 5);
		one(&s, false, 5);
		printf("{}\n");
	} else if (strcmp(mode, "serve") == 0) {
		printf("%u\n", extender_port(s.extender));
		fflush(stdout);
		loop_run(s.loop);
	} else {
		return 2;
	}
	return 0;
}
