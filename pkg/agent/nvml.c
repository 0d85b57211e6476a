/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library: found, loaded, asked how many cards there are and then card by card. What one card
 * does not tell never keeps another from being read.
 */
#include "agent/nvml.h"

#include <dlfcn.h>
#include <string.h>

#include "base/mem.h"
#include "nvml_internal.h"

/* ISO C knows no way from dlsym()'s pointer to a function's but this. */
static void load_call(void *library, const char *symbol, void *ret_call)
{
	void *found = dlsym(library, symbol);

	memcpy(ret_call, &found, sizeof(found));
}

static void load_calls(struct nvml *nvml)
{
#define X(name, symbol, parameters) load_call(nvml->library, #symbol, &nvml->calls.name);
	NVML_CALLS(X)
#undef X
}

static int initialise(const struct nvml *nvml, const char *library, struct error *err)
{
	int code;

	if (!nvml->calls.init || !nvml->calls.shutdown || !nvml->calls.count ||
	    !nvml->calls.by_index)
		return error_set(err, ERROR_UNAVAILABLE,
				 "%s is not NVIDIA's management library, or older than 2013",
				 library);
	code = nvml->calls.init();
	if (code == NVML_CODE_DRIVER_NOT_LOADED)
		return error_set(err, ERROR_NOT_FOUND, "%s: NVIDIA's driver is not loaded",
				 library);
	if (code == NVML_CODE_VERSION_MISMATCH)
		return error_set(err, ERROR_UNAVAILABLE,
				 "%s is of another version than NVIDIA's driver in the kernel",
				 library);
	if (code != NVML_CODE_SUCCESS)
		return error_set(err, ERROR_UNAVAILABLE, "%s cannot be initialised: error %d",
				 library, code);
	return 0;
}

int nvml_open(const char *library, struct nvml **ret_nvml, struct error *err)
{
	struct nvml *nvml = mem_alloc(sizeof(*nvml));

	nvml->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!nvml->library) {
		error_set(err, ERROR_NOT_FOUND, "%s cannot be loaded: %s", library, dlerror());
		mem_free(nvml);
		return -1;
	}
	load_calls(nvml);
	if (initialise(nvml, library, err) < 0) {
		dlclose(nvml->library);
		mem_free(nvml);
		return -1;
	}
	if (!nvml->calls.event_set || !nvml->calls.event_register || !nvml->calls.event_wait ||
	    nvml->calls.event_set(&nvml->events) != NVML_CODE_SUCCESS)
		nvml->events = NULL;
	*ret_nvml = nvml;
	return 0;
}

void nvml_close(struct nvml *nvml)
{
	if (!nvml)
		return;
	if (nvml->events && nvml->calls.event_set_free)
		nvml->calls.event_set_free(nvml->events);
	nvml->calls.shutdown();
	dlclose(nvml->library);
	mem_free(nvml);
}

static int no_room(const struct arena *arena, struct error *err)
{
	return error_set(err, ERROR_LIMIT, "NVML: more than %zu bytes to know of cards",
			 arena->limit);
}

/* A card that has no handle any more has no address either. */
static void describe_missing(int code, struct card_facts *card)
{
	bool lost = code == NVML_CODE_GPU_IS_LOST || code == NVML_CODE_RESET_REQUIRED ||
		    code == NVML_CODE_UNKNOWN;

	card->health = lost ? LAYOUT_HEALTH_FAILED : LAYOUT_HEALTH_UNKNOWN;
}

static enum layout_health health_of(struct asking *asking)
{
	bool worn = nvml_is_worn(asking);

	if (asking->lost || worn)
		return LAYOUT_HEALTH_FAILED;
	return asking->answers ? LAYOUT_HEALTH_OK : LAYOUT_HEALTH_UNKNOWN;
}

struct found {
	nvml_device devices[LIMIT_LAYOUT_GPUS]; /* NULL: the driver gives none */
	struct card_facts *cards;
	struct link_facts *links;
	size_t n_links;
};

static int read_card(struct nvml *nvml, uint32_t i, struct arena *arena, struct found *found,
		     struct error *err)
{
	struct card_facts *card = &found->cards[i];
	struct asking asking = {.nvml = nvml, .arena = arena};
	int code = nvml->calls.by_index(i, &asking.device);
	struct known_card *known;

	*card = (struct card_facts){.index = i, .numa = LAYOUT_NONE, .memory = AMOUNT_UNKNOWN};
	if (code != NVML_CODE_SUCCESS || !asking.device) {
		describe_missing(code, card);
		return 0;
	}
	found->devices[i] = asking.device;
	known = nvml_watch(nvml, asking.device);
	if (nvml_read_card(&asking, card, err) < 0)
		return -1;
	if (known)
		nvml_read_processes(&asking, &known->sample_us, card);
	card->links_known = nvml_read_links(&asking, i, found->links, &found->n_links);
	card->health = health_of(&asking);
	return 0;
}

/* After all cards were asked, since asking may be what brings an error about. */
static void apply_events(struct nvml *nvml, const struct found *found, uint32_t n)
{
	nvml_take_events(nvml);
	for (uint32_t i = 0; i < n; i++)
		if (found->devices[i] && nvml_has_failed(nvml, found->devices[i]))
			found->cards[i].health = LAYOUT_HEALTH_FAILED;
}

int nvml_read(struct nvml *nvml, struct arena *arena, struct machine_facts *ret_facts,
	      struct error *err)
{
	struct found found = {0};
	unsigned int n = 0;
	int code = nvml->calls.count(&n);

	if (code != NVML_CODE_SUCCESS)
		return error_set(err, ERROR_UNAVAILABLE, "NVML does not count its cards: error %d",
				 code);
	if (n > LIMIT_LAYOUT_GPUS)
		return error_set(err, ERROR_LIMIT, "NVML tells of %u cards, of at most %d", n,
				 LIMIT_LAYOUT_GPUS);
	found.cards = arena_alloc(arena, n * sizeof(*found.cards));
	found.links = arena_alloc(arena, n * sizeof(*found.links) * NVML_MAX_LINKS);
	if (!found.cards || !found.links)
		return no_room(arena, err);
	for (uint32_t i = 0; i < n; i++)
		if (read_card(nvml, i, arena, &found, err) < 0)
			return -1;
	apply_events(nvml, &found, n);
	*ret_facts = (struct machine_facts){
		.cards = found.cards, .n_cards = n, .links = found.links, .n_links = found.n_links};
	return 0;
}
