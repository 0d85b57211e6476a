/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_HTTP_SYNTAX_H
#define GPUQOS_HTTP_SYNTAX_H

#include <stdbool.h>

#include "base/str.h"

/* What requests and responses are made of (RFC 9110, section 5). Pure, for any bytes. */

/* Without the blanks (space and tab) at both ends: what may surround a field's value. */
struct str http_trim(struct str s);

/* Whether a field's name, or another token without case, is @wanted. */
bool http_name_is(struct str name, struct str wanted);

/* At least one character, and only those that names of fields and methods have. */
bool http_is_token(struct str s);

/* No control characters; a tab where @tab. */
bool http_is_text(struct str s, bool tab);

#endif
