/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_BASE_HASH_H
#define GPUQOS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/*
 * SipHash-1-3 with a key drawn once per process (Aumasson and Bernstein, "SipHash: a fast
 * short-input PRF"): tenants choose the names that we hash, so they must not be able to choose the
 * collisions.
 */
struct hash_key {
	uint64_t k0, k1;
};

void hash_key_init(struct hash_key *ret_key); /* from the kernel's random source */
uint64_t hash_bytes(const struct hash_key *key, const void *data, size_t len);
/* For keys that are a few integers: the same function over their 16 bytes, low byte first. */
uint64_t hash_u64_pair(const struct hash_key *key, uint64_t a, uint64_t b);
/*
 * A third of the time of hash_bytes(), and not as hard to predict: for tables where each name is
 * compared and whoever may choose the names gains nothing by their lying together. Two words at a
 * time are multiplied to 128 bits, after Wang Yi's wyhash.
 */
uint64_t hash_quick(const struct hash_key *key, const void *data, size_t len);

#endif
