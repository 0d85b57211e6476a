/* SPDX-License-Identifier: Apache-2.0 */
/* The description, word by word. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct model model;

static bool has_room(unsigned int n)
{
	return n < MODEL_PARTS;
}

static bool read_link(const char *rest, struct model_card *card)
{
	static const char *const types[] = {"gpu", "npu", "switch"};
	struct model_link link = {.is_up = true, .type = 0xff};
	unsigned int number = 0;
	char type[16] = "";

	if (sscanf(rest, "%u %15s %x:%x:%x %u", &number, type, &link.domain, &link.bus,
		   &link.device, &link.speed) < 5 ||
	    number >= NVML_MAX_LINKS)
		return false;
	for (int i = 0; i < 3; i++)
		if (strcmp(type, types[i]) == 0)
			link.type = i;
	card->links[number] = link;
	return true;
}

static bool read_partition(const char *rest, struct model_card *card)
{
	struct model_partition *p = &card->partitions[card->n_partitions];

	if (!has_room(card->n_partitions))
		return false;
	*p = (struct model_partition){.is_partition = true, .card = card};
	card->n_partitions++;
	return sscanf(rest, "%u %u %u %u %llu %95[^\n]", &p->instance, &p->profile, &p->slices,
		      &p->compute, &p->memory_mib, p->uuid) == 6;
}

static bool read_event(const char *rest, struct model_card *card)
{
	struct nvml_event *event = &card->events[card->n_events];

	if (!has_room(card->n_events++))
		return false;
	*event = (struct nvml_event){.type = NVML_EVENT_XID, .instance = NVML_NO_INSTANCE};
	return sscanf(rest, "%llu %u", &event->data, &event->instance) >= 1;
}

static bool read_process(const char *rest, struct model_card *card)
{
	struct nvml_process *process = &card->processes[card->n_processes];

	if (!has_room(card->n_processes++))
		return false;
	*process = (struct nvml_process){.instance = NVML_NO_INSTANCE};
	return sscanf(rest, "%u %llu %u", &process->pid, &process->memory, &process->instance) >= 2;
}

static bool read_busy(const char *rest, struct model_card *card)
{
	struct nvml_utilization *busy = &card->busy[card->n_busy];

	return has_room(card->n_busy++) && sscanf(rest, "%u %u", &busy->pid, &busy->sm) == 2;
}

static bool read_failure(const char *rest, struct model_card *card)
{
	struct model_failure *failure = &card->failures[card->n_failures];

	return has_room(card->n_failures++) &&
	       sscanf(rest, "%63s %d", failure->symbol, &failure->code) == 2;
}

static bool read_mig(const char *rest, struct model_card *card)
{
	card->is_mig = true;
	card->mig_count = 7;
	return rest[0] == '\0' || sscanf(rest, "%u", &card->mig_count) == 1;
}

static bool read_ecc(const char *rest, struct model_card *card)
{
	card->has_ecc = true;
	return sscanf(rest, "%llu", &card->ecc_errors) == 1;
}

static bool read_rows(const char *rest, struct model_card *card)
{
	card->has_rows = true;
	return sscanf(rest, "%u %u", &card->pending, &card->failed) == 2;
}

static bool read_uuid(const char *rest, struct model_card *card)
{
	snprintf(card->uuid, sizeof(card->uuid), "%s", rest);
	return true;
}

static bool read_name(const char *rest, struct model_card *card)
{
	snprintf(card->name, sizeof(card->name), "%s", rest);
	return true;
}

static bool read_pci(const char *rest, struct model_card *card)
{
	return sscanf(rest, "%x:%x:%x", &card->domain, &card->bus, &card->device) == 3;
}

static bool read_memory(const char *rest, struct model_card *card)
{
	return sscanf(rest, "%llu", &card->memory) == 1;
}

static bool read_numa(const char *rest, struct model_card *card)
{
	return sscanf(rest, "%u", &card->numa) == 1;
}

static bool read_link_version(const char *rest, struct model_card *card)
{
	return sscanf(rest, "%u", &card->link_version) == 1;
}

static const struct {
	const char *word;
	bool (*read)(const char *, struct model_card *);
} words[] = {
	{"uuid", read_uuid},
	{"name", read_name},
	{"pci", read_pci},
	{"memory", read_memory},
	{"numa", read_numa},
	{"ecc", read_ecc},
	{"remapped", read_rows},
	{"link", read_link},
	{"linkversion", read_link_version},
	{"mig", read_mig},
	{"partition", read_partition},
	{"xid", read_event},
	{"process", read_process},
	{"busy", read_busy},
	{"fails", read_failure},
};

static bool read_word(const char *word, const char *rest)
{
	if (strcmp(word, "card") == 0) {
		if (model.n_cards == MODEL_CARDS)
			return false;
		model.cards[model.n_cards++].numa = NVML_NO_INSTANCE;
		return true;
	}
	if (strcmp(word, "count") == 0)
		return sscanf(rest, "%u", &model.count) == 1;
	if (strcmp(word, "init") == 0)
		return sscanf(rest, "%d", &model.init_code) == 1;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(word, words[i].word) == 0)
			return model.n_cards > 0 &&
			       words[i].read(rest, &model.cards[model.n_cards - 1]);
	return false;
}

static bool read_line(char *line)
{
	char *rest = strchr(line, ' ');

	line[strcspn(line, "\n")] = '\0';
	if (line[0] == '\0' || line[0] == '#')
		return true;
	if (rest)
		*rest++ = '\0';
	if (read_word(line, rest ? rest : ""))
		return true;
	fprintf(stderr, "libnvml_test: \"%s %s\" is no line of a description\n", line,
		rest ? rest : "");
	return false;
}

bool model_load(void)
{
	const char *path = getenv("NVML_DESCRIPTION");
	FILE *file = path ? fopen(path, "r") : NULL;
	char line[512];
	bool good = true;

	memset(&model, 0, sizeof(model));
	model.count = NVML_NO_INSTANCE;
	if (!file)
		return false;
	while (good && fgets(line, sizeof(line), file))
		good = read_line(line);
	fclose(file);
	if (model.count == NVML_NO_INSTANCE)
		model.count = model.n_cards;
	return good;
}

struct model_card *model_card_of(nvml_device device)
{
	struct model_card *card = (void *)device;

	return card->is_partition ? ((struct model_partition *)(void *)device)->card : card;
}

int model_code(nvml_device device, const char *symbol)
{
	const struct model_card *card = model_card_of(device);

	for (unsigned int i = 0; i < card->n_failures; i++)
		if (strcmp(card->failures[i].symbol, symbol) == 0)
			return card->failures[i].code;
	return NVML_CODE_SUCCESS;
}

void model_write(const char *text, char *out, unsigned int size)
{
	if (strcmp(text, "*") == 0)
		memset(out, '*', size);
	else
		snprintf(out, size, "%s", text);
}
