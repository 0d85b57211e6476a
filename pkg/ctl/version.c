/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers too long for an integer are compared as texts: the shorter one is less. */
#include "ctl/version.h"

#include <stddef.h>

static bool is_decimal(struct str s)
{
	if (str_empty(s) || s.data[0] == '0')
		return false;
	for (size_t i = 0; i < s.len; i++)
		if (s.data[i] < '0' || s.data[i] > '9')
			return false;
	return true;
}

bool version_is_older(struct str version, struct str than)
{
	if (!is_decimal(version) || !is_decimal(than))
		return false;
	return version.len != than.len ? version.len < than.len : str_compare(version, than) < 0;
}
