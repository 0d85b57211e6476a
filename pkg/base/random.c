/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xoshiro256** by Blackman and Vigna, seeded through splitmix64 as its authors advise; and the
 * kernel's source.
 */
#include "base/random.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

static uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

void random_init(struct random *random, uint64_t seed)
{
	for (size_t i = 0; i < 4; i++)
		random->state[i] = splitmix64(&seed);
}

static uint64_t rotate_left(uint64_t x, int bits)
{
	return (x << bits) | (x >> (64 - bits));
}

uint64_t random_u64(struct random *random)
{
	uint64_t *s = random->state;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9;
	uint64_t shifted = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= shifted;
	s[3] = rotate_left(s[3], 45);
	return result;
}

/*
 * Numbers below 2^64 mod bound are drawn again, so that each remainder has the same number of
 * sources.
 */
uint64_t random_below(struct random *random, uint64_t bound)
{
	uint64_t biased, drawn;

	assert(bound > 0);
	biased = (0 - bound) % bound;
	do
		drawn = random_u64(random);
	while (drawn < biased);
	return drawn % bound;
}

double random_unit(struct random *random)
{
	return (double)(random_u64(random) >> 11) * 0x1p-53;
}

int64_t random_jitter(struct random *random, int64_t base_us, double factor)
{
	double jittered = (double)base_us * (1 + random_unit(random) * factor);

	return jittered < 0x1p63 ? (int64_t)jittered : INT64_MAX;
}

static void __attribute__((noreturn)) no_random_bytes(void)
{
	static const char line[] = "gpuqos: the kernel gives no random bytes, ending\n";
	ssize_t n = write(STDERR_FILENO, line, sizeof(line) - 1);

	(void)n;
	abort();
}

void random_bytes(void *ret_bytes, size_t len)
{
	unsigned char *at = ret_bytes;

	while (len > 0) {
		ssize_t n = getrandom(at, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			no_random_bytes();
		at += n;
		len -= (size_t)n;
	}
}
