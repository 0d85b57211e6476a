/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SipHash with one compression and three finalisation rounds. The names follow the paper: four
 * words of state, one word of message at a time, the last of them carrying the length in its top
 * byte.
 */
#include "base/hash.h"

#include "base/random.h"

struct sip {
	uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotate_left(uint64_t x, int bits)
{
	return (x << bits) | (x >> (64 - bits));
}

/* Always inlined: the state stays in registers. */
static inline __attribute__((always_inline)) void sip_round(struct sip *s)
{
	s->v0 += s->v1;
	s->v2 += s->v3;
	s->v1 = rotate_left(s->v1, 13) ^ s->v0;
	s->v3 = rotate_left(s->v3, 16) ^ s->v2;
	s->v0 = rotate_left(s->v0, 32);
	s->v2 += s->v1;
	s->v0 += s->v3;
	s->v1 = rotate_left(s->v1, 17) ^ s->v2;
	s->v3 = rotate_left(s->v3, 21) ^ s->v0;
	s->v2 = rotate_left(s->v2, 32);
}

static struct sip sip_start(const struct hash_key *key)
{
	return (struct sip){
		.v0 = key->k0 ^ 0x736f6d6570736575u,
		.v1 = key->k1 ^ 0x646f72616e646f6du,
		.v2 = key->k0 ^ 0x6c7967656e657261u,
		.v3 = key->k1 ^ 0x7465646279746573u,
	};
}

static inline void sip_word(struct sip *s, uint64_t word)
{
	s->v3 ^= word;
	sip_round(s);
	s->v0 ^= word;
}

static inline uint64_t sip_finish(struct sip *s)
{
	s->v2 ^= 0xff;
	sip_round(s);
	sip_round(s);
	sip_round(s);
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

/* Low byte first. Written out, since compilers make one load of this and not of a loop. */
static inline uint64_t read_eight(const unsigned char *at)
{
	return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 |
	       (uint64_t)at[3] << 24 | (uint64_t)at[4] << 32 | (uint64_t)at[5] << 40 |
	       (uint64_t)at[6] << 48 | (uint64_t)at[7] << 56;
}

/* Fewer than eight bytes, likewise. */
static inline uint64_t read_few(const unsigned char *bytes, size_t len)
{
	uint64_t word = 0;

	for (size_t i = 0; i < len; i++)
		word |= (uint64_t)bytes[i] << (8 * i);
	return word;
}

void hash_key_init(struct hash_key *ret_key)
{
	random_bytes(ret_key, sizeof(*ret_key));
}

uint64_t hash_bytes(const struct hash_key *key, const void *data, size_t len)
{
	struct sip s = sip_start(key);
	const unsigned char *at = data;
	size_t left = len;
	uint64_t last;

	for (; left >= 8; left -= 8, at += 8)
		sip_word(&s, read_eight(at));
	/* The last bytes by one load of eight, of which some were read before, where there are
	 * eight. */
	if (len >= 8 && left > 0)
		last = read_eight(at + left - 8) >> (8 * (8 - left));
	else
		last = read_few(at, left);
	sip_word(&s, last | (uint64_t)len << 56);
	return sip_finish(&s);
}

uint64_t hash_u64_pair(const struct hash_key *key, uint64_t a, uint64_t b)
{
	struct sip s = sip_start(key);

	sip_word(&s, a);
	sip_word(&s, b);
	sip_word(&s, (uint64_t)16 << 56);
	return sip_finish(&s);
}

/* Both halves of a product. */
static inline uint64_t fold(uint64_t a, uint64_t b)
{
	__extension__ unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_quick(const struct hash_key *key, const void *data, size_t len)
{
	const unsigned char *at = data;
	uint64_t hash = key->k0 ^ (uint64_t)len, a, b;
	size_t left = len;

	for (; left > 16; left -= 16, at += 16)
		hash = fold(read_eight(at) ^ key->k1, read_eight(at + 8) ^ hash);
	if (len >= 16) { /* the last sixteen, of which some were read before */
		a = read_eight(at + left - 16);
		b = read_eight(at + left - 8);
	} else if (len >= 8) {
		a = read_eight(at);
		b = read_eight(at + len - 8);
	} else {
		a = read_few(at, len);
		b = 0;
	}
	hash = fold(a ^ key->k1, b ^ hash);
	return fold(hash ^ key->k0, key->k1 | 1);
}
