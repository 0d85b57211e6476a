/* SPDX-License-Identifier: Apache-2.0 */
/* What a Prometheus may answer: within limits, every text inside what was given or the arena. */
#include <stdlib.h>

#include "base/limits.h"
#include "prom/answer.h"

/* The sum of its bytes, so that each is read. */
static uint64_t sum_of(struct str s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s.len; i++)
		sum += (unsigned char)s.data[i];
	return sum;
}

static void check(const struct prom_answer *answer)
{
	uint64_t sum = sum_of(answer->warning);

	if (answer->n_samples > LIMIT_PROM_SERIES || (answer->n_samples > 0) != (answer->at_us > 0))
		abort();
	for (size_t i = 0; i < answer->n_samples; i++)
		sum += sum_of(answer->samples[i].namespace) + sum_of(answer->samples[i].pod) +
		       sum_of(answer->samples[i].part);
	if (sum == UINT64_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = {(const char *)data, size};
	struct arena arena CLEANUP(arena_clear) = {0};
	struct prom_answer answer;
	struct error err = {0};

	arena_init(&arena, LIMIT_DECODE_ARENA);
	if (prom_read_answer(text, &arena, &answer, &err) == 0)
		check(&answer);
	else if (err.kind != ERROR_INVALID && err.kind != ERROR_LIMIT &&
		 err.kind != ERROR_UNAVAILABLE && err.kind != ERROR_TIMEOUT)
		abort();
	return 0;
}
