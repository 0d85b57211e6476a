/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever is taken for YAML must come out as what jansson takes for JSON; and JSON is YAML, so
 * that a second pass over it, where libyaml's own rules let it through, changes nothing.
 */
#include <stdlib.h>

#include <jansson.h>

#include "base/limits.h"
#include "codec/yaml.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* YAML has line breaks beyond ASCII, which it folds inside of quotes. */
static bool is_ascii(struct str s)
{
	size_t i;

	for (i = 0; i < s.len; i++)
		if ((unsigned char)s.data[i] >= 0x80)
			return false;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf json CLEANUP(buf_clear), again CLEANUP(buf_clear);
	json_error_t error;
	struct error err;
	json_t *tree;

	buf_init(&json, LIMIT_JSON_OUTPUT);
	buf_init(&again, LIMIT_JSON_OUTPUT);
	if (yaml_to_json((struct str){(const char *)data, size}, &json, &err) < 0) {
		require(err.kind == ERROR_INVALID || err.kind == ERROR_LIMIT);
		require(err.message[0] != '\0');
		return 0;
	}
	tree = json_loadb(json.data, json.len,
			  JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
	/* Keys may hold U+0000, and integers be larger than jansson can hold. */
	require(tree || json_error_code(&error) == json_error_null_byte_in_key ||
		json_error_code(&error) == json_error_numeric_overflow);
	if (is_ascii(buf_str(&json)) && yaml_to_json(buf_str(&json), &again, NULL) == 0)
		require(str_equal(buf_str(&json), buf_str(&again)));
	json_decref(tree);
	return 0;
}
