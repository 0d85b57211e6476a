/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the format of kube-scheduler's calls costs, without any decision: N names of nodes are read
 * with their pod, and an answer is written in which every third fails.
 *
 *   extender_wire N          once, for callgrind, which is to count measured_call()
 *   extender_wire N ROUNDS   the median of so many, in µs
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/macros.h"
#include "base/mem.h"
#include "extender/answer.h"
#include "extender/args.h"

#define MAX_ROUNDS 1001

struct call {
	struct buf body, filtered;
	struct arena arena;
	uint16_t *verdicts;
};

static const char pod[] =
	"{\"metadata\":{\"name\":\"train-0\",\"namespace\":\"ml\",\"uid\":\"1b4e28ba\",\"labels\":{"
	"\"app\":\"train\",\"pod-template-hash\":\"5d4f8c7b9\"}},\"spec\":{\"volumes\":[{\"name\":"
	"\"kube-api-access\",\"projected\":{\"sources\":[{\"serviceAccountToken\":{"
	"\"expirationSeconds\":3607,\"path\":\"token\"}}],\"defaultMode\":420}}],\"containers\":[{"
	"\"name\":\"main\",\"image\":\"registry.example/train:1\",\"resources\":{\"limits\":{"
	"\"nvidia.com/gpu\":\"2\"},\"requests\":{\"cpu\":\"16\",\"nvidia.com/gpu\":\"2\"}}}],"
	"\"schedulerName\":\"gpuqos-scheduler\"},\"status\":{\"phase\":\"Pending\"}}";

static const struct extender_reason reasons[] = {
	{{"lacks 2 free nvidia.com/gpu", 27}, false},
	{{"would span NUMA nodes", 21}, true},
};

static void call_init(struct call *call, size_t n)
{
	buf_init(&call->body, LIMIT_EXTENDER_BODY);
	buf_init(&call->filtered, LIMIT_METRICS_PAGE);
	arena_init(&call->arena, LIMIT_DECODE_ARENA);
	call->verdicts = mem_alloc_array(n, sizeof(*call->verdicts));
	buf_printf(&call->body, "{\"Pod\":%s,\"Nodes\":null,\"NodeNames\":[", pod);
	for (size_t i = 0; i < n; i++) {
		buf_printf(&call->body, "%s\"gpu-pool-7f9c-node-%05zu\"", i > 0 ? "," : "", i);
		call->verdicts[i] = (uint16_t)(i % 3 == 2 ? 1 + i % 2 : 0);
	}
	buf_add_cstr(&call->body, "]}");
}

static void call_clear(struct call *call)
{
	buf_clear(&call->body);
	buf_clear(&call->filtered);
	arena_clear(&call->arena);
	mem_free(call->verdicts);
}

static int measured_call(struct call *call, size_t *ret_names)
{
	struct extender_args args;
	struct error err;

	arena_reset(&call->arena);
	buf_reset(&call->filtered);
	if (extender_read_args(buf_str(&call->body), &call->arena, &args, &err) < 0)
		return -1;
	extender_write_filter(&call->filtered,
			      &(struct extender_filter){args.names, call->verdicts, args.n_names,
							reasons, ARRAY_SIZE(reasons)});
	*ret_names = args.n_names;
	return 0;
}

/* Called through a pointer, so that the compiler keeps it as a function of its own. */
static int (*volatile one_call)(struct call *call, size_t *ret_names) = measured_call;

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t median_us(struct call *call, size_t rounds)
{
	const struct clock *clock = clock_system();
	static int64_t took[MAX_ROUNDS];
	size_t names;

	for (size_t i = 0; i < rounds; i++) {
		took[i] = clock_monotonic(clock);
		if (one_call(call, &names) < 0)
			return INT64_MAX;
		took[i] = clock_monotonic(clock) - took[i];
	}
	qsort(took, rounds, sizeof(took[0]), ascending);
	return took[rounds / 2];
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 0, names = 0;
	size_t rounds = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : 0;
	struct call call;
	int status;

	call_init(&call, n);
	status = one_call(&call, &names);
	printf("{\"names\": %zu, \"microseconds\": %lld}\n", names,
	       rounds > 0 ? (long long)median_us(&call, MIN(rounds, MAX_ROUNDS)) : 0);
	call_clear(&call);
	return status == 0 && names == n ? 0 : 1;
}
