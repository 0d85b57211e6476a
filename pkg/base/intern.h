/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_BASE_INTERN_H
#define GPUQOS_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/macros.h"
#include "base/str.h"

/*
 * Each distinct string once, with a reference count, named by a 32-bit handle: equal strings have
 * equal handles. INTERN_EMPTY (0) is the empty string; it needs no reference. Strings longer than
 * LIMIT_INTERNED_STRING are the caller's to refuse. Bytes live in size classed chunks, so that the
 * overhead of a 40-byte name is about 12 bytes with its index entry. A string that ever has
 * INTERN_MAX_REFS references at once stays for good. At most 2^26 - 128 strings (the program ends
 * when there would be more).
 */
#define INTERN_MAX_REFS ((1u << 22) - 1)
#define INTERN_EMPTY    0u
#define INTERN_NONE     UINT32_MAX /* no handle */

struct intern;

struct intern *intern_new(const struct hash_key *key);
void intern_free(struct intern *intern);

/* The handle of @s, with one more reference, which the caller gives back with intern_unref(). */
uint32_t intern_ref(struct intern *intern, struct str s) MUST_CHECK;
/* One more reference to a handle that the caller knows to be live; returns it. */
uint32_t intern_ref_handle(struct intern *intern, uint32_t handle);
void intern_unref(struct intern *intern, uint32_t handle);

/* The handle if the string is held, else INTERN_NONE. No reference is taken. */
uint32_t intern_find(const struct intern *intern, struct str s);

/* Borrowed until the handle's last reference goes. Terminated by a zero byte after its length. */
struct str intern_str(const struct intern *intern, uint32_t handle);

/* Distinct strings, and bytes held with all overhead. */
uint32_t intern_count(const struct intern *intern);
size_t intern_bytes(const struct intern *intern);

DEFINE_CLEANUP(struct intern *, intern_free)

#endif
