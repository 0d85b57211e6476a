/* SPDX-License-Identifier: Apache-2.0 */
/* What kube-scheduler compares of pods and nodes, as read off objects that it compared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/pack.h"
#include "base/limits.h"
#include "codec/json.h"
#include "recorded.h"

struct scene {
	struct arena arena;
	struct buf text;
};

static int setup(void **state)
{
	struct scene *s = test_calloc(1, sizeof(*s));

	arena_init(&s->arena, LIMIT_DECODE_ARENA);
	buf_init(&s->text, LIMIT_WATCH_FRAME);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	arena_clear(&s->arena);
	buf_clear(&s->text);
	test_free(s);
	return 0;
}

static struct pod_facts pod_of(struct scene *s, const char *spec)
{
	struct wire_pod wire;
	struct pod_facts facts = {0};
	struct error err = {0};

	buf_reset(&s->text);
	buf_printf(
		&s->text,
		"{\"metadata\":{\"namespace\":\"n\",\"name\":\"p\",\"uid\":\"u\"},\"spec\":{%s}}",
		spec);
	if (json_decode(&wire_pod_schema, buf_str(&s->text), &s->arena, &wire, &err) < 0 ||
	    api_pack_pod(&wire, NULL, &s->arena, &facts, &err) < 0)
		fail_msg("%s: %s", spec, err.message);
	return facts;
}

static void a_recorded_pod_is_read_whole(void **state)
{
	struct scene *s = *state;
	struct wire_pod wire;
	struct pod_facts facts;
	const struct pod_terms *terms;

	recorded_decode(&wire_pod_schema, "pod.choosy", &s->text, &s->arena, &wire);
	assert_int_equal(api_pack_pod(&wire, NULL, &s->arena, &facts, NULL), 0);
	terms = facts.terms;
	assert_non_null(terms);
	/* Of the pod as a whole, not of its container. */
	assert_int_equal(facts.demand.of[DEMAND_CPU], 3000);
	assert_int_equal(facts.demand.of[DEMAND_MEMORY], 2 * GIB);
	assert_int_equal(terms->n_selector, 1);
	assert_true(str_equal(terms->selector[0].value, STR("serving")));
	assert_true(terms->chooses);
	assert_int_equal(terms->n_terms, 1);
	assert_int_equal(terms->terms[0].n_labels, 1);
	assert_int_equal(terms->terms[0].labels[0].op, NODE_NOT_IN);
	assert_int_equal(terms->terms[0].n_names, 1);
	assert_int_equal(terms->n_tolerations, 3); /* two are given to every pod */
	assert_int_equal(terms->tolerations[0].effect, TAINT_NO_SCHEDULE);
	assert_false(terms->tolerations[0].exists);
	assert_true(terms->tolerations[1].exists);
	assert_int_equal(terms->beyond, 1u << BEYOND_POD_AFFINITY | 1u << BEYOND_POD_ANTI_AFFINITY |
						1u << BEYOND_SPREAD | 1u << BEYOND_VOLUME);
	assert_int_equal(facts.n_ports, 1);
	assert_int_equal(facts.ports[0].number, 8080);
	assert_true(str_equal(facts.ports[0].protocol, STR("TCP")));
	assert_true(str_equal(facts.ports[0].ip, STR("10.0.0.1")));
	assert_int_equal(facts.n_volumes, 11); /* neither emptyDir nor projected */
	assert_int_equal(facts.volumes[3].sort, VOLUME_CLAIM);
	assert_true(str_equal(facts.volumes[3].claim, STR("models")));
	assert_int_equal(facts.volumes[4].sort, VOLUME_INLINE);
	assert_int_equal(facts.volumes[9].sort, VOLUME_INLINE);
	assert_int_equal(facts.volumes[10].sort, VOLUME_EPHEMERAL);
	assert_true(str_equal(facts.volumes[10].claim, STR("choosy-ephemeral")));
	assert_int_equal(facts.n_repels, 1);
	assert_true(facts.repels[0].everywhere);
	assert_false(facts.repels[0].anybody);
	assert_int_equal(facts.repels[0].selector.n_requirements, 2);
}

static void a_recorded_node_is_read_whole(void **state)
{
	struct scene *s = *state;
	struct wire_node wire;
	struct node_facts facts;

	recorded_decode(&wire_node_schema, "node.cordoned", &s->text, &s->arena, &wire);
	assert_int_equal(api_pack_node(&wire, NULL, &s->arena, &facts, NULL), 0);
	assert_true(facts.host->cordoned);
	assert_true(facts.host->n_taints >= 1);
	buf_reset(&s->text);
	recorded_decode(&wire_node_schema, "node.h100", &s->text, &s->arena, &wire);
	assert_int_equal(api_pack_node(&wire, NULL, &s->arena, &facts, NULL), 0);
	assert_false(facts.host->cordoned);
	assert_true(facts.host->n_labels > 2);
	assert_int_equal(facts.host->allocatable.of[DEMAND_CPU], 192000);
	assert_int_equal(facts.host->allocatable.of[DEMAND_MEMORY], 2048 * GIB);
	assert_int_equal(facts.host->pods, 250);
}

#define REQUESTS(cpu, memory) \
	"\"resources\":{\"requests\":{\"cpu\":\"" cpu "\",\"memory\":\"" memory "\"}}"

static void a_pod_takes_the_most_that_it_has_at_a_time(void **state)
{
	static const struct {
		const char *what, *spec;
		int64_t milli_cpu, memory;
	} cases[] = {
		{"containers together",
		 "\"containers\":[{" REQUESTS("500m", "1Gi") "},{" REQUESTS("1.5", "1Gi") "}]",
		 2000, 2 * GIB},
		{"an init container that has more",
		 "\"initContainers\":[{" REQUESTS("4", "1Gi") "}],\"containers\":[{" REQUESTS(
			 "1", "2Gi") "}]",
		 4000, 2 * GIB},
		{"a sidecar beside what comes after it",
		 "\"initContainers\":[{\"restartPolicy\":\"Always\"," REQUESTS(
			 "1",
			 "1Gi") "},{" REQUESTS("4",
					       "1Gi") "}],\"containers\":[{" REQUESTS("2",
										      "1Gi") "}]",
		 5000, 2 * GIB},
		{"limits where nothing is requested",
		 "\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"3\",\"memory\":\"1Gi\"}}}]",
		 3000, GIB},
		{"requests where both are said",
		 "\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"3\"},\"requests\":{\"cpu\":\"1\"}}}]",
		 1000, 0},
		{"overhead beside all",
		 "\"overhead\":{\"cpu\":\"250m\",\"memory\":\"1Gi\"},\"containers\":[{" REQUESTS(
			 "1", "1Gi") "}]",
		 1250, 2 * GIB},
		{"a thousandth is rounded up", "\"containers\":[{" REQUESTS("100u", "1") "}]", 1,
		 1},
		{"what is no quantity is the most", "\"containers\":[{" REQUESTS("much", "1") "}]",
		 DEMAND_MOST, 1},
		{"and so is what is too large", "\"containers\":[{" REQUESTS("1", "9E") "}]", 1000,
		 DEMAND_MOST},
	};
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pod_facts facts = pod_of(s, cases[i].spec);

		if (facts.demand.of[DEMAND_CPU] != cases[i].milli_cpu ||
		    facts.demand.of[DEMAND_MEMORY] != cases[i].memory)
			fail_msg("%s", cases[i].what);
	}
}

#define GPU "\"containers\":[{\"resources\":{\"requests\":{\"nvidia.com/gpu\":\"1\"%s}}}]%s"

/* What is not compared: nothing more, and nothing less. */
static void what_is_not_compared_is_noted(void **state)
{
	static const struct {
		const char *requests, *spec;
		unsigned int beyond;
	} cases[] = {
		{"", "", 0},
		{",\"cpu\":\"1\",\"ephemeral-storage\":\"1Gi\"", "", 0},
		{",\"rdma/hca\":\"1\"", "", 1u << BEYOND_RESOURCE},
		{",\"rdma/hca\":\"0\"", "", 0},
		{",\"hugepages-2Mi\":\"1Gi\"", "", 1u << BEYOND_RESOURCE},
		{"",
		 ",\"volumes\":[{\"name\":\"a\",\"emptyDir\":{}},{\"name\":\"b\",\"configMap\":{}}]",
		 0},
		{"",
		 ",\"volumes\":[{\"name\":\"a\",\"persistentVolumeClaim\":{\"claimName\":\"c\"}}]",
		 0},
		{"", ",\"volumes\":[{\"name\":\"a\",\"azureDisk\":{}}]", 1u << BEYOND_VOLUME},
		{"", ",\"topologySpreadConstraints\":[{\"whenUnsatisfiable\":\"ScheduleAnyway\"}]",
		 0},
		{"", ",\"topologySpreadConstraints\":[{\"whenUnsatisfiable\":\"DoNotSchedule\"}]",
		 1u << BEYOND_SPREAD},
		{"",
		 ",\"affinity\":{\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":"
		 "[{\"topologyKey\":\"k\",\"labelSelector\":{}}]}}",
		 0},
		{"",
		 ",\"affinity\":{\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":"
		 "[{\"topologyKey\":\"k\",\"namespaceSelector\":{}}]}}",
		 1u << BEYOND_POD_ANTI_AFFINITY},
		{"",
		 ",\"affinity\":{\"podAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":"
		 "[{\"weight\":1}]}}",
		 0},
	};
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char spec[1024];
		struct pod_facts facts;

		snprintf(spec, sizeof(spec), GPU, cases[i].requests, cases[i].spec);
		facts = pod_of(s, spec);
		if (facts.terms->beyond != cases[i].beyond)
			fail_msg("%s%s: %x", cases[i].requests, cases[i].spec, facts.terms->beyond);
	}
	assert_null(pod_of(s, "\"containers\":[{}]").terms);
}

/* As GetHostPorts() of kube-scheduler. */
static void ports_are_those_of_containers_that_stay(void **state)
{
	struct scene *s = *state;
	struct pod_facts facts = pod_of(
		s,
		"\"initContainers\":[{\"ports\":[{\"hostPort\":1}]},{\"restartPolicy\":\"Always\","
		"\"ports\":[{\"hostPort\":2,\"protocol\":\"UDP\",\"hostIP\":\"10.0.0.1\"}]}],"
		"\"containers\":[{\"ports\":[{\"containerPort\":3},{\"hostPort\":4}]}]");

	assert_int_equal(facts.n_ports, 2);
	assert_int_equal(facts.ports[0].number, 2);
	assert_true(str_equal(facts.ports[0].protocol, STR("UDP")));
	assert_true(str_equal(facts.ports[0].ip, STR("10.0.0.1")));
	assert_int_equal(facts.ports[1].number, 4);
	assert_null(facts.terms); /* it asks for no GPU: others ask for its ports all the same */
}

static void of_too_many_it_is_known_that_they_are(void **state)
{
	struct buf spec CLEANUP(buf_clear);
	struct scene *s = *state;
	struct pod_facts facts;

	buf_init(&spec, 1 << 20);
	buf_add_cstr(&spec, "\"containers\":[{\"ports\":[{\"hostPort\":1}");
	for (int i = 0; i < LIMIT_PORTS_PER_POD; i++)
		buf_printf(&spec, ",{\"hostPort\":%d}", i + 2);
	buf_add_cstr(&spec, "]}],\"volumes\":[{}");
	for (int i = 0; i <= LIMIT_VOLUMES_PER_POD; i++)
		buf_printf(&spec, ",{\"persistentVolumeClaim\":{\"claimName\":\"c%d\"}}", i);
	buf_add_cstr(&spec, "]");
	buf_add_char(&spec, '\0');
	facts = pod_of(s, spec.data);
	assert_int_equal(facts.n_ports, 1);
	assert_int_equal(facts.ports[0].number, HOST_PORT_ANY);
	assert_int_equal(facts.n_volumes, LIMIT_VOLUMES_PER_POD);
	assert_int_equal(facts.volumes[LIMIT_VOLUMES_PER_POD - 1].sort, VOLUME_UNREAD);
	assert_int_equal(facts.volumes[0].sort, VOLUME_CLAIM);
}

/* What is cut must not become the name of another one. */
static void a_claim_of_too_long_a_name_is_no_other(void **state)
{
	char name[2 * LIMIT_NAME + 1], spec[1024];
	struct scene *s = *state;
	struct pod_facts facts;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(spec, sizeof(spec),
		 "\"volumes\":[{\"persistentVolumeClaim\":{\"claimName\":\"%s\"}},"
		 "{\"name\":\"%.*s\",\"ephemeral\":{}}]",
		 name, LIMIT_NAME, name);
	facts = pod_of(s, spec);
	assert_int_equal(facts.n_volumes, 2);
	for (size_t i = 0; i < facts.n_volumes; i++)
		assert_in_range(facts.volumes[i].claim.len, LIMIT_NAME + 1, sizeof(name));
}

#define NODE_TERMS(terms)                                                                      \
	",\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":" \
	"{\"nodeSelectorTerms\":[" terms "]}}}"

/* As upstream: terms that are empty or odd match nothing, and where none is left nothing does. */
static void odd_terms_match_nothing(void **state)
{
	static const struct {
		const char *spec;
		size_t terms;
	} cases[] = {
		{NODE_TERMS(""), 0},
		{NODE_TERMS("{}"), 0},
		{NODE_TERMS("{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"Exists\"}]}"), 1},
		{NODE_TERMS("{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"Exists\"}]},{}"),
		 1},
		{NODE_TERMS("{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"Is\"}]}"), 0},
		{NODE_TERMS("{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"In\"}]}"), 0},
		{NODE_TERMS("{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"Gt\","
			    "\"values\":[\"1\",\"2\"]}]}"),
		 0},
		{NODE_TERMS("{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\","
			    "\"values\":[\"a\"]}]}"),
		 1},
		{NODE_TERMS("{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\","
			    "\"values\":[\"a\",\"b\"]}]}"),
		 0},
		{NODE_TERMS("{\"matchFields\":[{\"key\":\"metadata.uid\",\"operator\":\"In\","
			    "\"values\":[\"a\"]}]}"),
		 0},
	};
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char spec[1024];
		struct pod_facts facts;

		snprintf(spec, sizeof(spec), GPU, "", cases[i].spec);
		facts = pod_of(s, spec);
		if (!facts.terms->chooses || facts.terms->n_terms != cases[i].terms)
			fail_msg("%s", cases[i].spec);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_recorded_pod_is_read_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(a_recorded_node_is_read_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(a_pod_takes_the_most_that_it_has_at_a_time, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_not_compared_is_noted, setup, teardown),
		cmocka_unit_test_setup_teardown(ports_are_those_of_containers_that_stay, setup,
						teardown),
		cmocka_unit_test_setup_teardown(of_too_many_it_is_known_that_they_are, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_claim_of_too_long_a_name_is_no_other, setup,
						teardown),
		cmocka_unit_test_setup_teardown(odd_terms_match_nothing, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
