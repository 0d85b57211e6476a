/* SPDX-License-Identifier: Apache-2.0 */
/* A time that was read is written and read back as the same time, to the microsecond. */
#include <stdlib.h>

#include "base/rfc3339.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[TIME_TEXT_SIZE];
	int64_t real_us, again;
	size_t len;

	if (!time_parse((struct str){(const char *)data, size}, &real_us))
		return 0;
	len = time_format(real_us, true, text);
	if (!time_parse((struct str){text, len}, &again) || again != real_us)
		abort();
	return 0;
}
