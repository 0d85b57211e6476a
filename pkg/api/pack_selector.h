/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_PACK_SELECTOR_H
#define GPUQOS_API_PACK_SELECTOR_H

#include "api/pack_common.h"
#include "model/labels.h"

enum pack_selector_verdict {
	SELECTOR_GOOD,
	SELECTOR_TOO_LARGE, /* more than LIMIT_SELECTOR_VALUES requirements and values */
	SELECTOR_ODD        /* an operator that is not known, or values that do not go with it */
};

/*
 * Entries of matchLabels first, then matchExpressions, in order. Borrowed from @wire and the arena.
 * Inside api only. @ret_selector is set only where the verdict is good; -1: the arena is full.
 */
int pack_selector(const struct wire_selector *wire, const struct pack *pack,
		  struct label_selector *ret_selector, enum pack_selector_verdict *ret_verdict);

#endif
