/* SPDX-License-Identifier: Apache-2.0 */
/* `checks`, at the end of this file, lists what is looked at, in order; the first refusal counts.
 */
#include "quota/bind.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/checked.h"
#include "base/macros.h"
#include "base/utf8.h"

/* One question to one view. */
struct asking {
	const struct bind_view *view;
	struct bind_held asks; /* of all rows that are priced */
	char *message;         /* QUOTA_MESSAGE_SIZE */
};

const char *bind_verdict_text(enum bind_verdict verdict)
{
	static const char *const texts[] = {
#define X(name, text) [BIND_##name] = text,
		BIND_VERDICTS(X)
#undef X
	};

	return texts[verdict];
}

/* Where it is too long, its end is cut. Always true: what is said is a refusal. */
PRINTF_LIKE(2, 3)
static bool refuse(struct asking *a, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(a->message, QUOTA_MESSAGE_SIZE, format, args);
	va_end(args);
	if (len >= QUOTA_MESSAGE_SIZE)
		a->message[utf8_whole(str_from(a->message)).len] = '\0';
	return true;
}

/* Whose limit it is. */
struct holder {
	const char *what;
	struct str name;
};

static bool refuse_memory(struct asking *a, const struct holder *by, int64_t asks, int64_t held,
			  int64_t limit)
{
	if (limit == AMOUNT_NONE || asks <= 0 || saturating_add(asks, held) <= limit)
		return false;
	return refuse(a, "The pod asks for %s of GPU memory%s%.*s, of which %s of %s are held.",
		      amount_text(asks).text, by->what, STR_ARGS(by->name), amount_text(held).text,
		      amount_text(limit).text);
}

static bool refuse_count(struct asking *a, const struct holder *by, int64_t asks, int64_t held,
			 int64_t limit)
{
	if (limit == AMOUNT_NONE || asks <= 0 || saturating_add(asks, held) <= limit)
		return false;
	return refuse(a,
		      "The pod asks for %" PRId64 "%s%.*s, of which %" PRId64 " of %" PRId64
		      " are held.",
		      asks, by->what, STR_ARGS(by->name), held, limit);
}

static void add_row(struct bind_held *sum, const struct bind_row *row)
{
	sum->bytes = saturating_add(sum->bytes, MAX(row->bytes, 0));
	sum->gpus = saturating_add(sum->gpus, row->gpus);
}

static struct bind_held sum_of(const struct bind_row *rows, size_t n)
{
	struct bind_held sum = {0, 0};

	for (size_t i = 0; i < n; i++)
		add_row(&sum, &rows[i]);
	return sum;
}

static struct bind_held sum_of_product(const struct bind_row *rows, size_t n, struct str product)
{
	struct bind_held sum = {0, 0};

	for (size_t i = 0; i < n; i++)
		if (str_equal(rows[i].product, product))
			add_row(&sum, &rows[i]);
	return sum;
}

static int64_t units_of(const struct bind_row *rows, size_t n, struct str resource)
{
	int64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		if (str_equal(rows[i].resource, resource))
			sum = saturating_add(sum, rows[i].units);
	return sum;
}

/* --- the node */

static bool reconfiguring(struct asking *a)
{
	if (!a->view->reconfiguring)
		return false;
	return refuse(a,
		      "The node's cards are being partitioned anew: it takes pods when its label "
		      "nvidia.com/mig.config.state is success.");
}

static bool unpriced(struct asking *a)
{
	if (!a->view->spec && !a->view->tenant)
		return false;
	for (size_t i = 0; i < a->view->n_asks; i++) {
		const struct bind_row *row = &a->view->asks[i];

		if (row->bytes >= 0)
			continue;
		return refuse(a,
			      "The pod asks for %" PRId64
			      " of %.*s, and nothing tells how much memory one has on the node: "
			      "no device is free of charge.",
			      row->units, STR_ARGS(row->resource));
	}
	return false;
}

/* How much is free is not known while something that is held has no price. */
static bool held_unpriced(struct asking *a)
{
	if (!a->view->spec && !a->view->tenant)
		return false;
	for (size_t i = 0; i < a->view->n_held; i++) {
		const struct bind_row *row = &a->view->held[i];

		if (row->bytes >= 0)
			continue;
		return refuse(
			a,
			"The namespace holds %" PRId64
			" of %.*s, and nothing tells how much memory one has: it is not known "
			"what is free for the %s that the pod asks for.",
			row->units, STR_ARGS(row->resource), amount_text(a->asks.bytes).text);
	}
	return false;
}

/* --- the quota */

static bool no_quota(struct asking *a)
{
	if (a->view->spec || !a->view->tenant)
		return false;
	return refuse(
		a,
		"The pod asks for %s of GPU memory, and 0 are allowed: its namespace belongs to "
		"TenantQoS %.*s and has no GpuMemoryQuota that governs.",
		amount_text(a->asks.bytes).text, STR_ARGS(a->view->tenant->name));
}

static bool pod_memory(struct asking *a)
{
	const struct quota_spec *spec = a->view->spec;

	if (!spec || spec->pod_gpu_memory == AMOUNT_NONE || a->asks.bytes <= spec->pod_gpu_memory)
		return false;
	return refuse(a, "The pod asks for %s of GPU memory, and perPod allows %s.",
		      amount_text(a->asks.bytes).text, amount_text(spec->pod_gpu_memory).text);
}

static bool pod_gpus(struct asking *a)
{
	const struct quota_spec *spec = a->view->spec;

	if (!spec || spec->pod_gpus == AMOUNT_NONE || a->asks.gpus <= spec->pod_gpus)
		return false;
	return refuse(a, "The pod asks for %" PRId64 " whole GPUs, and perPod allows %" PRId64 ".",
		      a->asks.gpus, spec->pod_gpus);
}

static bool resource(struct asking *a)
{
	const struct bind_view *view = a->view;

	for (size_t i = 0; view->spec && i < view->spec->n_caps; i++) {
		const struct resource_amount *cap = &view->spec->caps[i];
		struct holder by = {" of ", cap->resource};

		if (refuse_count(a, &by, units_of(view->asks, view->n_asks, cap->resource),
				 units_of(view->held, view->n_held, cap->resource), cap->count))
			return true;
	}
	return false;
}

static bool product_memory(struct asking *a)
{
	const struct bind_view *view = a->view;

	for (size_t i = 0; view->spec && i < view->spec->n_products; i++) {
		const struct product_cap *cap = &view->spec->products[i];
		struct holder by = {" on ", cap->product};
		struct bind_held asks = sum_of_product(view->asks, view->n_asks, cap->product);
		struct bind_held held = sum_of_product(view->held, view->n_held, cap->product);

		if (refuse_memory(a, &by, asks.bytes, held.bytes, cap->gpu_memory))
			return true;
	}
	return false;
}

static bool product_gpus(struct asking *a)
{
	const struct bind_view *view = a->view;

	for (size_t i = 0; view->spec && i < view->spec->n_products; i++) {
		const struct product_cap *cap = &view->spec->products[i];
		struct holder by = {" whole GPUs of ", cap->product};
		struct bind_held asks = sum_of_product(view->asks, view->n_asks, cap->product);
		struct bind_held held = sum_of_product(view->held, view->n_held, cap->product);

		if (refuse_count(a, &by, asks.gpus, held.gpus, cap->gpus))
			return true;
	}
	return false;
}

/* What the namespace is allowed beside caps. */
static bool namespace_memory(struct asking *a)
{
	static const struct holder by = {" in its namespace", {NULL, 0}};
	struct bind_held held = sum_of(a->view->held, a->view->n_held);

	return a->view->spec &&
	       refuse_memory(a, &by, a->asks.bytes, held.bytes, a->view->effective);
}

static bool namespace_gpus(struct asking *a)
{
	static const struct holder by = {" whole GPUs in its namespace", {NULL, 0}};
	struct bind_held held = sum_of(a->view->held, a->view->n_held);

	return a->view->spec &&
	       refuse_count(a, &by, a->asks.gpus, held.gpus, a->view->effective_gpus);
}

/* --- the tenant */

static bool tenant_memory(struct asking *a)
{
	const struct bind_tenant *tenant = a->view->tenant;
	struct holder by = {" of TenantQoS ", tenant ? tenant->name : STR_NONE};

	return tenant && refuse_memory(a, &by, a->asks.bytes, tenant->held.bytes, tenant->ceiling);
}

static bool tenant_gpus(struct asking *a)
{
	const struct bind_tenant *tenant = a->view->tenant;
	struct holder by = {" whole GPUs of TenantQoS ", tenant ? tenant->name : STR_NONE};

	return tenant &&
	       refuse_count(a, &by, a->asks.gpus, tenant->held.gpus, tenant->ceiling_gpus);
}

/* --- all of them */

static const struct check {
	enum bind_verdict verdict;
	bool (*refuses)(struct asking *a); /* fills the message where it does */
	bool of_node;                      /* not the quota's to waive */
} checks[] = {
	{BIND_RECONFIGURING, reconfiguring, true},
	{BIND_UNPRICED, unpriced, false},
	{BIND_NO_QUOTA, no_quota, false},
	{BIND_HELD_UNPRICED, held_unpriced, false},
	{BIND_POD_MEMORY, pod_memory, false},
	{BIND_POD_GPUS, pod_gpus, false},
	{BIND_RESOURCE, resource, false},
	{BIND_PRODUCT_MEMORY, product_memory, false},
	{BIND_PRODUCT_GPUS, product_gpus, false},
	{BIND_NAMESPACE_MEMORY, namespace_memory, false},
	{BIND_NAMESPACE_GPUS, namespace_gpus, false},
	{BIND_TENANT_MEMORY, tenant_memory, false},
	{BIND_TENANT_GPUS, tenant_gpus, false},
};

void bind_decide(const struct bind_view *view, struct bind_decision *ret_decision)
{
	bool dry_run = view->spec && view->spec->dry_run;
	struct asking asking = {view, sum_of(view->asks, view->n_asks), ret_decision->message};

	ret_decision->verdict = BIND_ALLOWED;
	ret_decision->enforced = true;
	ret_decision->message[0] = '\0';
	for (size_t i = 0; view->n_asks > 0 && i < ARRAY_SIZE(checks); i++) {
		if (!checks[i].refuses(&asking))
			continue;
		ret_decision->verdict = checks[i].verdict;
		ret_decision->enforced = checks[i].of_node || !dry_run;
		return;
	}
}
