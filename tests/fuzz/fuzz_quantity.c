/* SPDX-License-Identifier: Apache-2.0 */
/* What is read as a quantity can be written, and reads as the same again. */
#include <stdlib.h>

#include "api/quantity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[QUANTITY_TEXT_SIZE];
	int64_t value, back;
	size_t len;

	if (!quantity_parse((struct str){(const char *)data, size}, &value))
		return 0;
	len = quantity_format_bytes(value, text);
	if (!quantity_parse((struct str){text, len}, &back) || back != value)
		abort();
	len = quantity_format_count(value, text);
	if (!quantity_parse((struct str){text, len}, &back) || back != value)
		abort();
	return 0;
}
