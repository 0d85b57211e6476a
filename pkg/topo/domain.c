/* SPDX-License-Identifier: Apache-2.0 */
/* Sets against the masks of their cards. */
#include "topo/domain.h"

#include "base/macros.h"

uint32_t topo_domain(const struct topo *topo, enum layout_scope scope, uint32_t card)
{
	return topo->cards[card].domain[scope];
}

enum topo_answer topo_in_one_domain(const struct topo *topo, enum layout_scope scope, uint64_t set)
{
	enum topo_answer answer = TOPO_YES;

	topo_set_for_each(card, set) {
		const struct topo_card *c = &topo->cards[card];

		if (set & c->apart[scope])
			return TOPO_NO;
		if (set & ~c->together[scope] & ~(UINT64_C(1) << card))
			answer = TOPO_UNKNOWN;
	}
	return answer;
}

uint32_t topo_largest_in_one(const struct topo *topo, enum layout_scope scope, uint64_t set,
			     bool hoping)
{
	uint32_t most = 0;

	topo_set_for_each(card, set) {
		const struct topo_card *c = &topo->cards[card];
		uint64_t with = hoping ? ~c->apart[scope] : c->together[scope];

		most = MAX(most, topo_set_count(set & (with | UINT64_C(1) << card)));
	}
	return most;
}
