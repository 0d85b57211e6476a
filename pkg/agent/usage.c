/* SPDX-License-Identifier: Apache-2.0 */
/* From processes to pods, by cgroup. */
#include "agent/usage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CGROUP_MAX 4096
#define UID_LEN    (USAGE_UID_SIZE - 1)

/* Under systemd "-" is "_", since it separates there. */
static bool take_uid(struct str text, char ret_uid[USAGE_UID_SIZE])
{
	char uid[USAGE_UID_SIZE] = "";

	if (text.len < UID_LEN)
		return false;
	for (size_t i = 0; i < UID_LEN; i++) {
		bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
		char c = text.data[i];

		if (is_dash ? c != '-' && c != '_' : str_hex_digit(c) < 0)
			return false;
		uid[i] = is_dash ? '-' : c;
	}
	memcpy(ret_uid, uid, sizeof(uid));
	return true;
}

bool usage_pod_uid(struct str cgroup, char ret_uid[USAGE_UID_SIZE])
{
	static const struct str prefix = {"pod", 3};

	for (size_t i = 1; i + prefix.len < cgroup.len; i++) {
		struct str rest = str_skip(cgroup, i);
		char before = cgroup.data[i - 1];

		if ((before == '/' || before == '-') && str_starts_with(rest, prefix) &&
		    take_uid(str_skip(rest, prefix.len), ret_uid))
			return true;
	}
	return false;
}

static void find_pod(const char *proc, uint32_t pid, char ret_uid[USAGE_UID_SIZE])
{
	char path[512], text[CGROUP_MAX];
	int n = snprintf(path, sizeof(path), "%s/%u/cgroup", proc, pid);
	ssize_t len;
	int fd;

	if (n < 0 || (size_t)n >= sizeof(path))
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	len = read(fd, text, sizeof(text));
	close(fd);
	if (len > 0)
		usage_pod_uid((struct str){text, (size_t)len}, ret_uid);
}

static int compare_rows(const void *a, const void *b)
{
	const struct usage_row *x = a, *y = b;

	if (x->card != y->card)
		return x->card < y->card ? -1 : 1;
	return strcmp(x->pod, y->pod);
}

static void add(struct usage_row *row, const struct usage_row *more)
{
	row->processes += more->processes;
	if (more->memory != AMOUNT_UNKNOWN && row->memory == AMOUNT_UNKNOWN)
		row->memory = more->memory;
	else if (more->memory != AMOUNT_UNKNOWN)
		row->memory += MIN(more->memory, LIMIT_LAYOUT_AMOUNT - row->memory);
	if (more->sm_percent >= 0)
		row->sm_percent = MIN(MAX(row->sm_percent, 0) + more->sm_percent, 100);
}

/* Rows of one process each, sorted, become those of one pod each. Returns how many. */
static size_t unite(struct usage_row *rows, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (kept > 0 && compare_rows(&rows[kept - 1], &rows[i]) == 0)
			add(&rows[kept - 1], &rows[i]);
		else
			rows[kept++] = rows[i];
	}
	return kept;
}

static uint32_t find_gpu(const struct layout *layout, struct str pci)
{
	for (size_t i = 0; i < layout->n_gpus && !str_empty(pci); i++)
		if (str_equal(layout->gpus[i].pci, pci))
			return (uint32_t)i;
	return LAYOUT_NONE;
}

static size_t add_processes(const char *proc, uint32_t gpu, const struct card_facts *card,
			    struct usage_row *rows)
{
	if (gpu == LAYOUT_NONE)
		return 0;
	for (size_t i = 0; i < card->n_processes; i++) {
		rows[i] = (struct usage_row){
			.card = gpu,
			.processes = 1,
			.memory = card->processes[i].memory,
			.sm_percent = card->processes[i].sm_percent,
		};
		find_pod(proc, card->processes[i].pid, rows[i].pod);
	}
	return card->n_processes;
}

bool usage_read(const char *proc, const struct layout *layout, const struct machine_facts *facts,
		struct arena *arena, struct usage *ret_usage)
{
	struct usage_row *rows;
	size_t n = 0;

	for (size_t i = 0; i < facts->n_cards; i++)
		n += facts->cards[i].n_processes;
	rows = arena_alloc(arena, n * sizeof(*rows));
	if (!rows)
		return false;
	n = 0;
	for (size_t i = 0; i < facts->n_cards; i++)
		n += add_processes(proc, find_gpu(layout, facts->cards[i].pci), &facts->cards[i],
				   rows + n);
	qsort(rows, n, sizeof(*rows), compare_rows);
	*ret_usage = (struct usage){rows, unite(rows, n)};
	return true;
}
