/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of alerts and one timer. What is posted is the table as it is when the timer fires: an
 * alert that came and went while Alertmanager was down is posted once, with its end, and is gone
 * then.
 */
#include "prom/alertmanager.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "codec/json_out.h"
#include "prom/server.h"

#define SOON_US   (USEC_PER_SEC / 5) /* several that change together go in one post */
#define RETRY_US  USEC_PER_SEC
#define PATH      "/api/v2/alerts"
#define BODY_MOST ((size_t)ALERTS_MOST * 4 * (ALERTS_TEXT + 128))

struct entry {
	char *name, *tenant, *severity, *summary; /* owned */
	int64_t starts_us, ends_us;               /* real; ends 0: it fires */
	uint64_t told;                            /* the turn in which it changed last */
};

struct alertmanager {
	struct loop *loop;
	struct prom_server server;
	struct loop_timer timer;
	int64_t timeout_us, retry_us;
	struct entry *entries; /* owned */
	size_t n_entries, capacity;
	uint64_t turn, posting; /* of changes; as of the post under way */
	bool busy;
	struct alertmanager_counts counts;
	struct error last;
};

/* --- the table */

static char *copy(struct str s)
{
	size_t len = MIN(s.len, (size_t)ALERTS_TEXT);

	while (len < s.len && len > 0 && ((unsigned char)s.data[len] & 0xc0) == 0x80)
		len--;
	return mem_strndup(s.data, len);
}

static void entry_clear(struct entry *entry)
{
	mem_free(entry->name);
	mem_free(entry->tenant);
	mem_free(entry->severity);
	mem_free(entry->summary);
}

static struct entry *find(struct alertmanager *alerts, const struct alert *alert)
{
	for (size_t i = 0; i < alerts->n_entries; i++) {
		struct entry *entry = &alerts->entries[i];

		if (str_equal(str_from(entry->name), alert->name) &&
		    str_equal(str_from(entry->tenant), alert->tenant))
			return entry;
	}
	return NULL;
}

static int64_t real_now(const struct alertmanager *alerts)
{
	return clock_real(loop_clock(alerts->loop));
}

/* A post under way, or one that waits after a failure, is followed by the next anyway. */
static void change(struct alertmanager *alerts, struct entry *entry)
{
	int64_t soon_us = loop_now(alerts->loop) + SOON_US;

	entry->told = ++alerts->turn;
	if (!alerts->busy && alerts->retry_us == RETRY_US)
		loop_timer_set(&alerts->timer, soon_us);
}

static struct entry *add(struct alertmanager *alerts, const struct alert *alert)
{
	struct entry *entry;

	if (alerts->n_entries == ALERTS_MOST) {
		alerts->counts.dropped++;
		return NULL;
	}
	mem_grow((void **)&alerts->entries, &alerts->capacity, alerts->n_entries + 1,
		 sizeof(*alerts->entries));
	entry = &alerts->entries[alerts->n_entries++];
	*entry = (struct entry){.name = copy(alert->name),
				.tenant = copy(alert->tenant),
				.severity = copy(alert->severity),
				.starts_us = real_now(alerts)};
	return entry;
}

static void fire(struct alertmanager *alerts, struct entry *entry, struct str summary)
{
	char *text = copy(summary);
	bool news = !entry->summary || entry->ends_us != 0 || strcmp(entry->summary, text) != 0;

	mem_free(entry->summary);
	entry->summary = text;
	if (entry->ends_us != 0)
		entry->starts_us = real_now(alerts);
	entry->ends_us = 0;
	if (news)
		change(alerts, entry);
}

void alertmanager_tell(struct alertmanager *alerts, const struct alert *alert, bool firing)
{
	struct entry *entry = find(alerts, alert);

	if (firing && !entry)
		entry = add(alerts, alert);
	if (!entry)
		return;
	if (firing) {
		fire(alerts, entry, alert->summary);
	} else if (entry->ends_us == 0) {
		entry->ends_us = real_now(alerts);
		change(alerts, entry);
	}
}

void alertmanager_forget(struct alertmanager *alerts)
{
	for (size_t i = 0; i < alerts->n_entries; i++)
		entry_clear(&alerts->entries[i]);
	alerts->n_entries = 0;
	loop_timer_clear(&alerts->timer);
}

/* Those that had ended when the post was made are known to have. */
static void forget_ended(struct alertmanager *alerts)
{
	size_t kept = 0;

	for (size_t i = 0; i < alerts->n_entries; i++) {
		struct entry *entry = &alerts->entries[i];

		if (entry->ends_us != 0 && entry->told <= alerts->posting)
			entry_clear(entry);
		else
			alerts->entries[kept++] = *entry;
	}
	alerts->n_entries = kept;
}

static bool has_news(const struct alertmanager *alerts)
{
	return alerts->turn != alerts->posting && alerts->n_entries > 0;
}

/* --- the post */

static void add_entry(struct json_out *out, const struct entry *entry, int64_t now_us)
{
	json_out_object(out, NULL);
	json_out_object(out, "labels");
	json_out_cstring(out, "alertname", entry->name);
	json_out_cstring(out, "tenant", entry->tenant);
	json_out_cstring(out, "severity", entry->severity);
	json_out_end(out);
	json_out_object(out, "annotations");
	json_out_cstring(out, "summary", entry->summary);
	json_out_end(out);
	json_out_micro_time(out, "startsAt", entry->starts_us);
	json_out_micro_time(out, "endsAt",
			    entry->ends_us ? entry->ends_us : now_us + ALERTS_HOLD_US);
	json_out_end(out);
}

static void write_body(const struct alertmanager *alerts, struct buf *body)
{
	struct json_out out;

	json_out_init(&out, body);
	json_out_array(&out, NULL);
	for (size_t i = 0; i < alerts->n_entries; i++)
		add_entry(&out, &alerts->entries[i], real_now(alerts));
	json_out_end_array(&out);
}

static void plan_next(struct alertmanager *alerts, bool taken)
{
	int64_t wait_us = ALERTS_REPEAT_US;

	if (taken)
		alerts->retry_us = RETRY_US;
	if (taken && has_news(alerts))
		wait_us = SOON_US;
	if (!taken) {
		wait_us = alerts->retry_us;
		alerts->retry_us = MIN(2 * alerts->retry_us, ALERTS_REPEAT_US);
	}
	if (alerts->n_entries > 0)
		loop_timer_set(&alerts->timer, loop_now(alerts->loop) + wait_us);
}

/* 400 says that some are invalid, and the others were taken: as all are made here alike, a fault
 * of ours that asking again does not mend. It counts as failed and is tried again all the same. */
static void on_done(void *context, const struct http_response *response, const struct error *err)
{
	struct alertmanager *alerts = context;
	bool taken = !err && response->status == 200;

	if (!alerts->busy)
		return;
	alerts->busy = false;
	if (taken) {
		alerts->counts.posts++;
		alerts->last = (struct error){0};
		forget_ended(alerts);
	} else {
		alerts->counts.failed++;
		if (err)
			alerts->last = *err;
		else
			error_set(&alerts->last, ERROR_UNAVAILABLE, "HTTP %d", response->status);
	}
	plan_next(alerts, taken);
}

static void on_timer(void *context)
{
	struct alertmanager *alerts = context;
	const struct http_handlers handlers = {.on_done = on_done, .context = alerts};
	struct buf body CLEANUP(buf_clear);

	if (alerts->busy || alerts->n_entries == 0)
		return;
	buf_init(&body, BODY_MOST);
	write_body(alerts, &body);
	alerts->posting = alerts->turn;
	alerts->busy = true;
	if (prom_server_post(
		    &alerts->server,
		    &(struct prom_post){"application/json", buf_str(&body), alerts->timeout_us},
		    &handlers, &alerts->last) == 0)
		return;
	alerts->busy = false;
	alerts->counts.failed++;
	plan_next(alerts, false);
}

/* --- life */

int alertmanager_new(struct loop *loop, const struct alertmanager_options *options,
		     struct alertmanager **ret_alerts, struct error *err)
{
	CLEANUP(alertmanager_free) struct alertmanager *alerts = mem_alloc(sizeof(*alerts));

	alerts->loop = loop;
	alerts->timeout_us = options->timeout_us;
	alerts->retry_us = RETRY_US;
	loop_timer_init(&alerts->timer, loop, "alertmanager", on_timer, alerts);
	if (prom_server_init(&alerts->server, loop,
			     &(struct prom_place){"alertmanager", PATH, &options->access}, err) < 0)
		return error_wrap(err, "alertmanager");
	*ret_alerts = TAKE(alerts);
	return 0;
}

void alertmanager_free(struct alertmanager *alerts)
{
	if (!alerts)
		return;
	alerts->busy = false;
	alertmanager_forget(alerts);
	prom_server_clear(&alerts->server);
	mem_free(alerts->entries);
	mem_free(alerts);
}

struct alertmanager_counts alertmanager_counts(const struct alertmanager *alerts)
{
	struct alertmanager_counts counts = {0};

	if (!alerts)
		return counts;
	counts = alerts->counts;
	for (size_t i = 0; i < alerts->n_entries; i++)
		counts.firing += alerts->entries[i].ends_us == 0;
	if (alerts->last.message[0] != '\0')
		counts.error = str_from(alerts->last.message);
	return counts;
}
