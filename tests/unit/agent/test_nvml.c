/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of cards by a library that speaks NVML's ABI about cards described here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/nvml.h"

#define MEMORY (4 * 1024 * 1024)

#define assert_str(s, text) assert_string_equal(terminated(s), text)

#define H100 "uuid GPU-%d\nname NVIDIA H100 80GB HBM3\nmemory 85520809984\n"

struct place {
	struct arena arena;
	struct machine_facts facts;
};

static const char *terminated(struct str s)
{
	static char text[256];

	snprintf(text, sizeof(text), "%.*s", STR_ARGS(s));
	return text;
}

static int set_up(void **state)
{
	static struct place place;

	arena_init(&place.arena, MEMORY);
	*state = &place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	arena_clear(&place->arena);
	unsetenv("NVML_DESCRIPTION");
	return 0;
}

static const char *library_path(const char *name)
{
	static char path[512];
	const char *folder = getenv("GPUQOS_NVML");

	snprintf(path, sizeof(path), "%s/%s", folder ? folder : "build/nvml", name);
	return path;
}

static int open_described(const char *library, const char *description, struct nvml **ret_nvml,
			  struct error *err)
{
	char path[] = "/tmp/gpuqos-nvml-XXXXXX";
	int fd = mkstemp(path);
	size_t len = strlen(description);
	int result;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, description, len), len);
	close(fd);
	setenv("NVML_DESCRIPTION", path, 1);
	result = nvml_open(library_path(library), ret_nvml, err);
	unlink(path);
	return result;
}

/* What @library knows of the described cards. */
static const struct machine_facts *read_with(void **state, const char *library,
					     const char *description)
{
	struct place *place = *state;
	struct error err = {0};
	struct nvml *nvml;

	if (open_described(library, description, &nvml, &err) < 0 ||
	    nvml_read(nvml, &place->arena, &place->facts, &err) < 0)
		fail_msg("%s", err.message);
	nvml_close(nvml);
	return &place->facts;
}

static const struct machine_facts *read_described(void **state, const char *description)
{
	return read_with(state, "libnvml_test.so", description);
}

static void a_card_is_known_by_all_that_it_tells(void **state)
{
	const struct machine_facts *facts = read_described(
		state, "card\nuuid GPU-5f5c\nname NVIDIA H100 80GB HBM3\npci 0:1b:0\n"
		       "memory 85520809984\necc 0\nremapped 0 0\n"
		       "card\nuuid GPU-77aa\nname Tesla T4\npci 10001:af:1f\nmemory 15843721216\n"
		       "numa 3\n");

	assert_int_equal(facts->n_cards, 2);
	assert_str(facts->cards[0].uuid, "GPU-5f5c");
	assert_str(facts->cards[0].product, "NVIDIA-H100-80GB-HBM3");
	assert_str(facts->cards[0].pci, "0000:1b:00.0");
	assert_int_equal(facts->cards[0].memory, 85520809984);
	assert_int_equal(facts->cards[0].index, 0);
	assert_int_equal(facts->cards[0].numa, LAYOUT_NONE);
	assert_int_equal(facts->cards[0].health, LAYOUT_HEALTH_OK);
	assert_false(facts->cards[0].partitioned);
	assert_str(facts->cards[1].product, "Tesla-T4");
	assert_str(facts->cards[1].pci, "10001:af:1f.0");
	assert_int_equal(facts->cards[1].index, 1);
	assert_int_equal(facts->cards[1].numa, 3);
}

static const struct {
	const char *sentence, *lines;
	enum layout_health health;
} healths[] = {
	{"a card that answers and knows of nothing bad", "ecc 0\nremapped 0 0\n", LAYOUT_HEALTH_OK},
	{"one without ECC and row remapping", "", LAYOUT_HEALTH_OK},
	{"memory errors that ECC could not correct", "ecc 1\n", LAYOUT_HEALTH_FAILED},
	{"rows that wait to be remapped", "remapped 1 0\n", LAYOUT_HEALTH_FAILED},
	{"rows that could not be remapped", "remapped 0 1\n", LAYOUT_HEALTH_FAILED},
	{"fallen off the bus, as its handle says", "fails nvmlDeviceGetHandleByIndex_v2 15\n",
	 LAYOUT_HEALTH_FAILED},
	{"a handle that fails for an unknown reason", "fails nvmlDeviceGetHandleByIndex_v2 999\n",
	 LAYOUT_HEALTH_FAILED},
	{"a handle that may not be had", "fails nvmlDeviceGetHandleByIndex_v2 4\n",
	 LAYOUT_HEALTH_UNKNOWN},
	{"fallen off the bus while it is asked", "fails nvmlDeviceGetNvLinkState 15\n",
	 LAYOUT_HEALTH_FAILED},
	{"one that asks for a reset", "fails nvmlDeviceGetMemoryInfo 16\n", LAYOUT_HEALTH_FAILED},
	{"memory that fails for an unknown reason", "fails nvmlDeviceGetMemoryInfo 999\n",
	 LAYOUT_HEALTH_FAILED},
	{"what is not basic failing for an unknown reason", "fails nvmlDeviceGetEccMode 999\n",
	 LAYOUT_HEALTH_OK},
	{"memory that this user may not see", "fails nvmlDeviceGetMemoryInfo 4\n",
	 LAYOUT_HEALTH_OK},
	{"one that tells nothing", "fails nvmlDeviceGetMemoryInfo 4\nfails nvmlDeviceGetUUID 4\n",
	 LAYOUT_HEALTH_UNKNOWN},
	{"XID 79, fallen off the bus", "xid 79\n", LAYOUT_HEALTH_FAILED},
	{"XID 48, memory error", "xid 48\n", LAYOUT_HEALTH_FAILED},
	{"XID 31, a page fault of an application", "xid 31\n", LAYOUT_HEALTH_OK},
	{"XID 43 and then 79", "xid 43\nxid 79\n", LAYOUT_HEALTH_FAILED},
	{"XID 95 of one MIG instance", "xid 95 3\n", LAYOUT_HEALTH_OK},
	{"events that are not to be had", "xid 79\nfails nvmlDeviceRegisterEvents 3\n",
	 LAYOUT_HEALTH_OK},
};

static void health_follows_what_the_card_counts_and_meets(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(healths); i++) {
		const struct machine_facts *facts;
		char text[512];

		snprintf(text, sizeof(text),
			 "card\n" H100 "pci 0:1b:0\n%scard\n" H100 "pci 0:2b:0\n", 0,
			 healths[i].lines, 1);
		facts = read_described(state, text);
		if (facts->n_cards != 2 || facts->cards[0].health != healths[i].health ||
		    facts->cards[1].health != LAYOUT_HEALTH_OK)
			fail_msg("%s: %s, beside it %s", healths[i].sentence,
				 layout_health_text(facts->cards[0].health),
				 layout_health_text(facts->cards[1].health));
	}
}

static void an_error_is_remembered_while_the_library_is_open(void **state)
{
	struct place *place = *state;
	struct error err = {0};
	struct nvml *nvml;

	assert_int_equal(
		open_described("libnvml_test.so", "card\nuuid GPU-0\nxid 79\n", &nvml, &err), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(nvml_read(nvml, &place->arena, &place->facts, &err), 0);
		assert_int_equal(place->facts.cards[0].health, LAYOUT_HEALTH_FAILED);
	}
	nvml_close(nvml);
}

static void mig_devices_have_the_names_of_their_profiles(void **state)
{
	static const char *const profiles[] = {"1g.10gb", "1g.10gb+me", "1g.20gb", "2g.20gb",
					       "1c.3g.40gb"};
	const struct machine_facts *facts = read_described(
		state, "card\nname NVIDIA A100-SXM4-80GB\nuuid GPU-0\npci 0:7:0\n"
		       "memory 85899345920\nmig\npartition 7 0 1 1 9728 MIG-a\n"
		       "partition 8 7 1 1 9728 MIG-b\npartition 9 9 1 1 19968 MIG-c\n"
		       "partition 3 1 2 2 19968 MIG-d\npartition 2 2 3 1 40192 MIG-e\n");
	const struct card_facts *card = &facts->cards[0];

	assert_true(card->partitioned);
	assert_int_equal(card->n_partitions, ARRAY_SIZE(profiles));
	for (size_t i = 0; i < ARRAY_SIZE(profiles); i++)
		assert_str(card->partitions[i].profile, profiles[i]);
	assert_str(card->partitions[0].uuid, "MIG-a");
	assert_int_equal(card->partitions[0].memory, 9728 * MIB);
	assert_int_equal(card->partitions[0].instance, 7);
}

static const struct {
	const char *card;
	long long memory_mib;
	int slices, mib;
	const char *profile;
} sold[] = {
	{"A100 40GB", 40960, 1, 4864, "1g.5gb"},   {"A100 40GB", 40960, 3, 19968, "3g.20gb"},
	{"A30", 24576, 1, 5952, "1g.6gb"},         {"H100 80GB", 81559, 1, 9984, "1g.10gb"},
	{"H100 80GB", 81559, 7, 81152, "7g.80gb"}, {"H100 94GB", 95830, 1, 10880, "1g.12gb"},
	{"H100 94GB", 95830, 3, 47232, "3g.47gb"}, {"H200", 143771, 1, 16384, "1g.18gb"},
	{"H200", 143771, 2, 33280, "2g.35gb"},     {"H200", 143771, 3, 71424, "3g.71gb"},
	{"H200", 143771, 7, 143360, "7g.141gb"},
};

static void profiles_are_named_by_what_the_card_is_sold_with(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(sold); i++) {
		char text[256];

		snprintf(text, sizeof(text),
			 "card\nuuid GPU-0\nmemory %lld\nmig\npartition 1 0 %d %d %d x\n",
			 sold[i].memory_mib * MIB, sold[i].slices, sold[i].slices, sold[i].mib);
		assert_str(read_described(state, text)->cards[0].partitions[0].profile,
			   sold[i].profile);
	}
}

static void links_lead_to_cards_and_switches(void **state)
{
	const struct machine_facts *facts = read_described(
		state, "card\nuuid GPU-0\npci 0:1:0\nlink 0 gpu 0:2:0 25781\n"
		       "link 17 switch 0:f0:0 26562\nlink 3 npu 4:4:0 20000\n"
		       "card\nuuid GPU-1\npci 0:2:0\nlinkversion 4\nlink 5 gpu 0:1:0\n"
		       "card\nuuid GPU-2\npci 0:3:0\nlinkversion 99\nlink 5 switch 0:1:0\n");

	assert_int_equal(facts->n_links, 3);
	assert_int_equal(facts->links[0].card, 0);
	assert_false(facts->links[0].switched);
	assert_str(facts->links[0].to, "0000:02:00.0");
	assert_int_equal(facts->links[0].speed, 25781000000);
	assert_true(facts->links[1].switched);
	assert_int_equal(facts->links[1].speed, 26562000000);
	assert_int_equal(facts->links[2].card, 1);
	assert_int_equal(facts->links[2].speed, 25000000000);
	assert_false(facts->cards[0].links_known);
	assert_true(facts->cards[1].links_known);
	assert_false(facts->cards[2].links_known);
}

static void processes_are_told_with_their_use(void **state)
{
	const struct machine_facts *facts = read_described(
		state, "card\nuuid GPU-0\nprocess 11 1073741824\nprocess 12 18446744073709551615\n"
		       "process 4294967295 5 3\nbusy 11 30\nbusy 11 50\nbusy 12 4294967295\n"
		       "card\nuuid GPU-1\n"
		       "card\nuuid GPU-2\nprocess 11 5\n"
		       "fails nvmlDeviceGetComputeRunningProcesses_v3 4\n");
	const struct card_facts *card = &facts->cards[0];

	assert_int_equal(card->n_processes, 3);
	assert_int_equal(card->processes[0].pid, 11);
	assert_int_equal(card->processes[0].memory, GIB);
	assert_int_equal(card->processes[0].sm_percent, 40);
	assert_int_equal(card->processes[1].memory, AMOUNT_UNKNOWN);
	assert_int_equal(card->processes[1].sm_percent, -1);
	assert_int_equal(facts->cards[1].n_processes, 0);
	assert_int_equal(facts->cards[2].n_processes, 0);
}

static void an_old_library_knows_less_and_nothing_wrong(void **state)
{
	const struct machine_facts *facts = read_with(
		state, "libnvml_old.so",
		"card\nuuid GPU-0\nname Tesla V100-SXM2-32GB\npci 0:1:0\nmemory 34359738368\n"
		"ecc 0\nremapped 1 1\nxid 79\nmig\npartition 1 0 1 1 4864 MIG-a\nnuma 1\n"
		"linkversion 2\nlink 0 gpu 0:2:0 25781\n"
		"card\nuuid GPU-1\necc 3\npci 0:2:0\n");
	const struct card_facts *card = &facts->cards[0];

	assert_str(card->product, "Tesla-V100-SXM2-32GB");
	assert_int_equal(card->memory, 34359738368);
	assert_int_equal(card->health, LAYOUT_HEALTH_OK);
	assert_int_equal(card->numa, LAYOUT_NONE);
	assert_false(card->partitioned);
	assert_int_equal(facts->n_links, 1);
	assert_int_equal(facts->links[0].speed, 25000000000);
	assert_int_equal(facts->cards[1].health, LAYOUT_HEALTH_FAILED);
}

static const struct {
	const char *sentence, *lines;
} odd[] = {
	{"texts without an end", "uuid *\nname *\n"},
	{"control characters", "uuid GPU-\033[31m\nname \001\002\n"},
	{"no ASCII", "uuid GPU-\xff\nname \xc3\xa4\n"},
	{"addresses that PCI does not have", "pci 0:100:20\n"},
	{"more memory than there is", "memory 18446744073709551615\n"},
	{"no memory", "memory 0\n"},
	{"four thousand million MIG devices", "mig 4294967295\npartition 1 99 1 1 1 x\n"},
	{"a MIG device larger than its card", "memory 1048576\nmig\npartition 1 0 7 7 9728 x\n"},
	{"one of the largest size",
	 "memory 1048576\nmig\npartition 1 0 7 7 18446744073709551615 x\n"},
	{"one without slices", "memory 85899345920\nmig\npartition 1 0 0 0 9728 x\n"},
	{"one of many slices", "memory 85899345920\nmig\npartition 1 0 4294967295 1 9728 x\n"},
	{"more of them to compute", "memory 85899345920\nmig\npartition 1 0 1 7 9728 x\n"},
	{"a link to nowhere", "link 35 switch ffffffff:ffffffff:ffffffff 4294967295\n"},
};

static void odd_answers_are_not_known(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		const struct machine_facts *facts;
		char text[256];

		snprintf(text, sizeof(text), "card\n%s", odd[i].lines);
		facts = read_described(state, text);
		if (facts->n_cards != 1 || !str_empty(facts->cards[0].uuid) ||
		    !str_empty(facts->cards[0].product) || facts->n_links > 1 ||
		    facts->cards[0].n_partitions > 1 ||
		    (facts->cards[0].n_partitions == 1 &&
		     !str_empty(facts->cards[0].partitions[0].profile)))
			fail_msg("%s: something is known of it", odd[i].sentence);
	}
}

static const struct {
	const char *sentence, *library, *description;
	enum error_kind opening, reading;
	const char *says;
} failures[] = {
	{"no such library", "libnvml_none.so", "", ERROR_NOT_FOUND, ERROR_NONE, "cannot be loaded"},
	{"no driver", "libnvml_test.so", "init 9\n", ERROR_NOT_FOUND, ERROR_NONE, "not loaded"},
	{"a driver of another version", "libnvml_test.so", "init 18\n", ERROR_UNAVAILABLE,
	 ERROR_NONE, "another version"},
	{"an error without a name", "libnvml_test.so", "init 77\n", ERROR_UNAVAILABLE, ERROR_NONE,
	 "error 77"},
	{"too many cards", "libnvml_test.so", "count 4294967294\n", ERROR_NONE, ERROR_LIMIT,
	 "4294967294 cards"},
};

static void what_fails_is_said(void **state)
{
	struct place *place = *state;

	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		struct nvml *nvml = NULL;
		struct error err = {0};

		open_described(failures[i].library, failures[i].description, &nvml, &err);
		if (err.kind != failures[i].opening)
			fail_msg("%s: opening: %s", failures[i].sentence, err.message);
		if (nvml && nvml_read(nvml, &place->arena, &place->facts, &err) == 0)
			fail_msg("%s: is read", failures[i].sentence);
		if (nvml && err.kind != failures[i].reading)
			fail_msg("%s: reading: %s", failures[i].sentence, err.message);
		assert_non_null(strstr(err.message, failures[i].says));
		nvml_close(nvml);
	}
}

static void more_cards_than_answer_are_unknown(void **state)
{
	const struct machine_facts *facts = read_described(state, "count 3\ncard\nuuid GPU-0\n");

	assert_int_equal(facts->n_cards, 3);
	assert_int_equal(facts->cards[0].health, LAYOUT_HEALTH_OK);
	assert_int_equal(facts->cards[2].health, LAYOUT_HEALTH_UNKNOWN);
	assert_true(str_empty(facts->cards[2].pci));
}

static void no_room_is_a_limit(void **state)
{
	struct place *place = *state;
	struct error err = {0};
	struct arena small;
	struct nvml *nvml;

	arena_init(&small, 256);
	assert_int_equal(open_described("libnvml_test.so", "card\nuuid GPU-0\n", &nvml, &err), 0);
	assert_int_equal(nvml_read(nvml, &small, &place->facts, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	nvml_close(nvml);
	arena_clear(&small);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_card_is_known_by_all_that_it_tells),
		cmocka_unit_test(health_follows_what_the_card_counts_and_meets),
		cmocka_unit_test(an_error_is_remembered_while_the_library_is_open),
		cmocka_unit_test(mig_devices_have_the_names_of_their_profiles),
		cmocka_unit_test(profiles_are_named_by_what_the_card_is_sold_with),
		cmocka_unit_test(links_lead_to_cards_and_switches),
		cmocka_unit_test(processes_are_told_with_their_use),
		cmocka_unit_test(an_old_library_knows_less_and_nothing_wrong),
		cmocka_unit_test(odd_answers_are_not_known),
		cmocka_unit_test(what_fails_is_said),
		cmocka_unit_test(more_cards_than_answer_are_unknown),
		cmocka_unit_test(no_room_is_a_limit),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
