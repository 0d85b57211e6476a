/* SPDX-License-Identifier: Apache-2.0 */
/* SipHash-1-3 against a reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/macros.h"

/* Key 00 01 .. 0f, input of n bytes 00 01 ..; computed with CPython's siphash13 as the reference.
 */
static const uint64_t expected[] = {
	0xabac0158050fc4dc, 0xc9f49bf37d57ca93, 0x82cb9b024dc7d44d, 0x8bf80ab8e7ddf7fb,
	0xcf75576088d38328, 0xdef9d52f49533b67, 0xc50d2b50c59f22a7, 0xd3927d989bb11140,
	0x369095118d299a8e, 0x25a48eb36c063de4, 0x79de85ee92ff097f, 0x70c118c1f94dc352,
	0x78a384b157b4d9a2, 0x306f760c1229ffa7, 0x605aa111c0f95d34, 0xd320d86d2a519956,
	0xcc4fdd1a7d908b66, 0x9cf2689063dbd80c, 0x8ffc389cb473e63e, 0xf21f9de58d297d1c,
	0xc0dc2f46a6cce040, 0xb992abfe2b45f844, 0x7ffe7b9ba320872e, 0x525a0e7fdae6c123,
	0xf464aeb267349c8c, 0x45cd5928705b0979, 0x3a3e35e3ca9913a5, 0xa91dc74e4ade3b35,
	0xfb0bed02ef6cd00d, 0x88d93cb44ab1e1f4, 0x540f11d643c5e663, 0x2370dd1f8c21d1bc,
	0x81157b6c16a7b60d, 0x4d54b9e57a8ff9bf, 0x759f12781f2a753e, 0xcea1a3bebf186b91,
	0x2cf508d3ada26206, 0xb6101c2da3c33057, 0xb3f47496ae3a36a1, 0x626b57547b108392,
	0xc1d2363299e41531, 0x667cc1923f1ad944, 0x65704ffec8138825, 0x24f280d1c28949a6,
	0xc2ca1cedfaf8876b, 0xc2164bfc9f042196, 0xa16e9c9368b1d623, 0x49fb169c8b5114fd,
	0x9f3143f8df074c46, 0xc6fdaf2412cc86b3, 0x7eaf49d10a52098f, 0x1cf313559d292f9a,
	0xc44a30dda2f41f12, 0x36fae98943a71ed0, 0x318fb34c73f0bce6, 0xa27abf3670a7e980,
	0xb4bcc0db243c6d75, 0x23f8d852fdb71513, 0x8f035f4da67d8a08, 0xd89cd0e5b7e8f148,
	0xf6f4e6bcf7a644ee, 0xaec59ad80f1837f2, 0xc3b2f6154b6694e0, 0x9d199062b7bbb3a8,
};

static void hashes_are_those_of_siphash_1_3(void **state UNUSED)
{
	const struct hash_key key = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
	unsigned char input[ARRAY_SIZE(expected)];

	for (size_t len = 0; len < ARRAY_SIZE(expected); len++) {
		input[len] = (unsigned char)len;
		assert_true(hash_bytes(&key, input, len) == expected[len]);
	}
	assert_true(hash_bytes(&key, NULL, 0) == expected[0]);
}

static void a_pair_hashes_as_its_bytes(void **state UNUSED)
{
	const struct hash_key key = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};

	assert_true(hash_u64_pair(&key, key.k0, key.k1) == expected[16]);
	assert_true(hash_u64_pair(&key, key.k1, key.k0) != expected[16]);
}

static void each_key_gives_other_hashes(void **state UNUSED)
{
	struct hash_key a, b;

	hash_key_init(&a);
	hash_key_init(&b);
	assert_true(hash_bytes(&a, "gpuqos", 6) != hash_bytes(&b, "gpuqos", 6));
}

/* Every byte counts, and none beyond the end is read: under ASan a block ends where it ends. */
static void the_quick_one_reads_every_byte_and_no_other(void **state UNUSED)
{
	const struct hash_key key = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u}, other = {1, 2};

	assert_true(hash_quick(&key, NULL, 0) != hash_quick(&other, NULL, 0));
	for (size_t len = 1; len < 70; len++) {
		unsigned char *text = test_malloc(len);
		uint64_t hash;

		memset(text, 'a', len);
		hash = hash_quick(&key, text, len);
		assert_true(hash == hash_quick(&key, text, len));
		assert_true(hash != hash_quick(&other, text, len));
		assert_true(len == 1 || hash != hash_quick(&key, text, len - 1));
		for (size_t i = 0; i < len; i++) {
			text[i] = 'b';
			assert_true(hash != hash_quick(&key, text, len));
			text[i] = 'a';
		}
		test_free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hashes_are_those_of_siphash_1_3),
		cmocka_unit_test(a_pair_hashes_as_its_bytes),
		cmocka_unit_test(each_key_gives_other_hashes),
		cmocka_unit_test(the_quick_one_reads_every_byte_and_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
