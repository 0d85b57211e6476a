/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table is the state of the generator, started with 1, after 7.8 x 10^12 numbers. Nobody waits
 * for these: the recurrence is linear, so that the state after N steps is given by x^N modulo its
 * characteristic polynomial x^607 - x^334 - 1, which takes 43 squarings.
 */
#include "sim/gorand.h"

#include <string.h>

#define LENGTH GORAND_LENGTH
#define TAP    273
#define STEPS  UINT64_C(7800000000000)
#define MODULO INT32_MAX

/* x * 48271 modulo 2^31 - 1, as Schrage computes it. */
static int32_t next_seed(int32_t x)
{
	int32_t next = 48271 * (x % 44488) - 3399 * (x / 44488);

	return next < 0 ? next + MODULO : next;
}

/* The words that @seed starts with, each of three numbers @shift bits apart. */
static void fill(uint64_t *words, int32_t seed, unsigned int shift)
{
	int32_t x = seed;

	for (int i = 0; i < 20; i++)
		x = next_seed(x);
	for (int i = 0; i < LENGTH; i++) {
		words[i] = 0;
		for (int part = 2; part >= 0; part--) {
			x = next_seed(x);
			words[i] ^= (uint64_t)x << (shift * (unsigned int)part);
		}
	}
}

/* --- polynomials over the integers modulo 2^64, of degree below LENGTH */

struct polynomial {
	uint64_t at[LENGTH];
};

static void multiply(struct polynomial *a, const struct polynomial *b)
{
	uint64_t product[2 * LENGTH - 1] = {0};

	for (int i = 0; i < LENGTH; i++)
		for (int k = 0; k < LENGTH; k++)
			product[i + k] += a->at[i] * b->at[k];
	for (int i = 2 * LENGTH - 2; i >= LENGTH; i--) {
		product[i - LENGTH] += product[i];
		product[i - TAP] += product[i];
	}
	memcpy(a->at, product, sizeof(a->at));
}

static void power_of_x(struct polynomial *ret_power, uint64_t exponent)
{
	struct polynomial power = {{1}}, square = {{0, 1}};

	for (; exponent != 0; exponent >>= 1) {
		const struct polynomial base = square;

		if (exponent & 1)
			multiply(&power, &base);
		multiply(&square, &base);
	}
	*ret_power = power;
}

/* Where number @n lies in the words; numbers replace each other from LENGTH - TAP - 1 downwards. */
static uint32_t place_of(uint64_t n)
{
	return (uint32_t)((LENGTH - TAP - 1 + LENGTH - n % LENGTH) % LENGTH);
}

void gorand_table_init(struct gorand_table *table)
{
	uint64_t words[LENGTH], numbers[2 * LENGTH];
	struct polynomial power;

	fill(words, 1, 10);
	for (uint32_t n = 0; n < LENGTH; n++)
		numbers[n] = words[place_of(n)];
	for (uint32_t n = LENGTH; n < 2 * LENGTH; n++)
		numbers[n] = numbers[n - LENGTH] + numbers[n - TAP];
	power_of_x(&power, STEPS);
	for (uint32_t n = 0; n < LENGTH; n++) {
		uint64_t sum = 0;

		for (uint32_t i = 0; i < LENGTH; i++)
			sum += power.at[i] * numbers[i + n];
		table->words[place_of(STEPS + n)] = sum;
	}
}

/* --- numbers */

void gorand_init(struct gorand *rand, const struct gorand_table *table, int64_t seed)
{
	seed %= MODULO;
	if (seed < 0)
		seed += MODULO;
	if (seed == 0)
		seed = 89482311;
	fill(rand->words, (int32_t)seed, 20);
	for (int i = 0; i < LENGTH; i++)
		rand->words[i] ^= table->words[i];
	rand->tap = 0;
	rand->feed = LENGTH - TAP;
}

int64_t gorand_int63(struct gorand *rand)
{
	rand->tap = rand->tap == 0 ? LENGTH - 1 : rand->tap - 1;
	rand->feed = rand->feed == 0 ? LENGTH - 1 : rand->feed - 1;
	rand->words[rand->feed] += rand->words[rand->tap];
	return (int64_t)(rand->words[rand->feed] & INT64_MAX);
}

uint32_t gorand_below(struct gorand *rand, uint32_t bound)
{
	uint32_t max = INT32_MAX - (UINT32_C(1) << 31) % bound, number;

	if ((bound & (bound - 1)) == 0)
		return (uint32_t)(gorand_int63(rand) >> 32) & (bound - 1);
	do {
		number = (uint32_t)(gorand_int63(rand) >> 32);
	} while (number > max);
	return number % bound;
}

/* Go's Shuffle draws by another rule than its Intn. */
static uint32_t below_by_product(struct gorand *rand, uint32_t bound)
{
	uint64_t product = (uint64_t)(uint32_t)(gorand_int63(rand) >> 31) * bound;

	if ((uint32_t)product < bound) {
		uint32_t least = -bound % bound;

		while ((uint32_t)product < least)
			product = (uint64_t)(uint32_t)(gorand_int63(rand) >> 31) * bound;
	}
	return (uint32_t)(product >> 32);
}

void gorand_shuffle(struct gorand *rand, uint32_t *items, uint32_t count)
{
	for (uint32_t i = count; i > 1; i--) {
		uint32_t other = below_by_product(rand, i), item = items[i - 1];

		items[i - 1] = items[other];
		items[other] = item;
	}
}

void gorand_permute(struct gorand *rand, uint32_t *ret_items, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t other = gorand_below(rand, i + 1);

		ret_items[i] = ret_items[other];
		ret_items[other] = i;
	}
}
