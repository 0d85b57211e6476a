/* SPDX-License-Identifier: Apache-2.0 */
/* size: tables, a row for each sentence. */
/* What a tenant's ceiling gives to its members, case by case. Amounts are a few bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/macros.h"
#include "quota/tenant.h"

#define MOST 4

#define FULL    GRANT_FULL
#define WAITS   GRANT_WAITS
#define NO_ROOM GRANT_NO_ROOM

/* A member as it was: in this order. A wish of 0 is a namespace without a quota. */
struct was {
	int64_t wants, granted, lent, borrowed, effective, enforced, used, reserve, limit;
};

struct is {
	enum grant_outcome outcome;
	int64_t granted, lent, borrowed, effective, missing;
	bool recalled;
};

struct row {
	const char *sentence;
	int64_t ceiling;
	size_t n;
	struct was was[MOST]; /* the oldest first */
	struct is is[MOST];
	bool moving;
};

#define NONE AMOUNT_NONE
/* One that nothing is known of but what it asks for. */
#define NEW(wants)                            \
	{                                     \
		wants, 0, 0, 0, 0, 0, 0, 0, 0 \
	}

static const struct row acceptance[] = {
	{"one that fits is granted whole", 100, 1, {NEW(60)}, {{FULL, 60, 0, 0, 60, 0, 0}}, 0},
	{"the ceiling may be used up to the byte",
	 100,
	 2,
	 {NEW(60), NEW(40)},
	 {{FULL, 60, 0, 0, 60, 0, 0}, {FULL, 40, 0, 0, 40, 0, 0}},
	 0},
	{"the younger is refused and told what is missing",
	 100,
	 2,
	 {NEW(60), NEW(41)},
	 {{FULL, 60, 0, 0, 60, 0, 0}, {NO_ROOM, 0, 0, 0, 0, 1, 0}},
	 0},
	{"a smaller one passes one that does not fit",
	 100,
	 3,
	 {NEW(60), NEW(70), NEW(30)},
	 {{FULL, 60, 0, 0, 60, 0, 0}, {NO_ROOM, 0, 0, 0, 0, 60, 0}, {FULL, 30, 0, 0, 30, 0, 0}},
	 0},
	{"what was granted stays granted when an older one asks for more",
	 100,
	 2,
	 {{90, 40, 0, 0, 40, 40, 0, 0, 0}, {50, 50, 0, 0, 50, 50, 0, 0, 0}},
	 {{NO_ROOM, 40, 0, 0, 40, 40, 0}, {FULL, 50, 0, 0, 50, 0, 0}},
	 0},
	{"one who asks for less gives the rest to the one who waits for it",
	 100,
	 2,
	 {{20, 60, 0, 0, 60, 20, 0, 0, 0}, {80, 40, 0, 0, 40, 40, 0, 0, 0}},
	 {{FULL, 20, 0, 0, 20, 0, 0}, {FULL, 80, 0, 0, 80, 0, 0}},
	 0},
	{"which comes when the other has let go of it, as far as it has",
	 100,
	 2,
	 {{20, 60, 0, 0, 60, 50, 0, 0, 0}, {80, 40, 0, 0, 40, 40, 0, 0, 0}},
	 {{FULL, 20, 0, 0, 20, 0, 0}, {WAITS, 80, 0, 0, 50, 0, 0}},
	 1},
	{"and not while pods still hold it",
	 100,
	 2,
	 {{20, 60, 0, 0, 60, 20, 60, 0, 0}, {80, 40, 0, 0, 40, 40, 0, 0, 0}},
	 {{FULL, 20, 0, 0, 20, 0, 0}, {WAITS, 80, 0, 0, 40, 0, 0}},
	 1},
	{"a deleted quota goes back, also to one that waits for its memory",
	 100,
	 2,
	 {{0, 70, 0, 0, 70, 70, 30, 0, 0}, {80, 0, 0, 0, 0, 0, 0, 0, 0}},
	 {{FULL, 0, 0, 0, 0, 0, 0}, {WAITS, 80, 0, 0, 30, 0, 0}},
	 1},
	{"a cut takes from the youngest first, a part from the one at the edge",
	 50,
	 3,
	 {{40, 40, 0, 0, 40, 40, 0, 0, 0},
	  {30, 30, 0, 0, 30, 30, 0, 0, 0},
	  {30, 30, 0, 0, 30, 30, 0, 0, 0}},
	 {{FULL, 40, 0, 0, 40, 0, 0}, {NO_ROOM, 10, 0, 0, 10, 20, 0}, {NO_ROOM, 0, 0, 0, 0, 30, 0}},
	 0},
	{"a ceiling of nothing grants nothing and frees nobody",
	 0,
	 1,
	 {{40, 40, 0, 0, 40, 40, 30, 0, 0}},
	 {{NO_ROOM, 0, 0, 0, 0, 40, 0}},
	 0},
	{"nothing is raised while more is held than the ceiling, and nothing is taken for it",
	 100,
	 2,
	 {{60, 50, 0, 0, 50, 50, 80, 0, 0}, {40, 30, 0, 0, 30, 30, 30, 0, 0}},
	 {{WAITS, 60, 0, 0, 50, 0, 0}, {WAITS, 40, 0, 0, 30, 0, 0}},
	 1},
	{"nor what was decided when there was room and is not enforced",
	 100,
	 2,
	 {{60, 60, 0, 0, 60, 40, 90, 0, 0}, {30, 30, 0, 0, 30, 30, 30, 0, 0}},
	 {{WAITS, 60, 0, 0, 40, 0, 0}, {FULL, 30, 0, 0, 30, 0, 0}},
	 1},
	{"what was decided and is not seen yet comes before an older one's wish",
	 100,
	 3,
	 {{30, 30, 0, 0, 10, 10, 0, 0, 0},
	  {50, 50, 0, 0, 50, 20, 0, 0, 0},
	  {20, 20, 0, 0, 20, 50, 50, 0, 0}},
	 {{WAITS, 30, 0, 0, 10, 0, 0}, {WAITS, 50, 0, 0, 40, 0, 0}, {FULL, 20, 0, 0, 20, 0, 0}},
	 1},
	{"without a ceiling all is granted and waits for nobody",
	 NONE,
	 2,
	 {{60, 0, 0, 0, 0, 0, 0, 0, 0}, {INT64_MAX, 9, 0, 0, 9, 99, 99, 0, 0}},
	 {{FULL, 60, 0, 0, 60, 0, 0}, {FULL, INT64_MAX, 0, 0, INT64_MAX, 0, 0}},
	 0},
};

static const struct row lending[] = {
	{"a loan stands before its raise is seen, also when it would not be made any more",
	 100,
	 2,
	 {{60, 60, 30, 0, 30, 30, 20, 5, 0}, {40, 40, 0, 30, 70, 40, 33, 5, 50}},
	 {{FULL, 60, 30, 0, 30, 0, 0}, {FULL, 40, 0, 30, 70, 0, 0}},
	 0},
	{"what came back is lent again to one who is short",
	 100,
	 2,
	 {{60, 60, 30, 0, 30, 30, 20, 5, 0}, {40, 40, 0, 30, 40, 40, 38, 5, 50}},
	 {{FULL, 60, 30, 0, 30, 0, 0}, {FULL, 40, 0, 30, 70, 0, 0}},
	 0},
	{"without a ceiling, what is borrowed already makes no room for more",
	 NONE,
	 2,
	 {{60, 60, 10, 0, 50, 50, 20, 5, 0}, {40, 40, 0, 10, 50, 50, 48, 5, 50}},
	 {{FULL, 60, 10, 0, 30, 0, 0}, {FULL, 40, 0, 10, 50, 0, 0}},
	 1},
	{"whose loans a sibling takes over may borrow when it is short itself",
	 160,
	 3,
	 {{60, 60, 20, 0, 40, 40, 58, 5, 50},
	  {40, 40, 0, 20, 60, 60, 60, 5, 20},
	  {60, 60, 0, 0, 60, 0, 0, 5, 0}},
	 {{FULL, 60, 0, 30, 90, 0, 0}, {FULL, 40, 0, 20, 60, 0, 0}, {FULL, 60, 50, 0, 10, 0, 0}},
	 0},
	{"who is short borrows what a sibling does not use and does not keep as reserve",
	 100,
	 2,
	 {{60, 60, 0, 0, 60, 20, 20, 5, 0}, {40, 40, 0, 0, 40, 40, 38, 5, 50}},
	 {{FULL, 60, 30, 0, 30, 0, 0}, {FULL, 40, 0, 30, 70, 0, 0}},
	 0},
	{"up to its limit",
	 100,
	 2,
	 {{60, 60, 0, 0, 60, 20, 20, 5, 0}, {40, 40, 0, 0, 40, 40, 38, 5, 7}},
	 {{FULL, 60, 7, 0, 53, 0, 0}, {FULL, 40, 0, 7, 47, 0, 0}},
	 0},
	{"but not while its own grant has a reserve of room",
	 100,
	 2,
	 {{60, 60, 0, 0, 60, 20, 20, 5, 0}, {40, 40, 0, 0, 40, 40, 35, 5, 50}},
	 {{FULL, 60, 0, 0, 60, 0, 0}, {FULL, 40, 0, 0, 40, 0, 0}},
	 0},
	{"the ceiling's own room is not lent",
	 200,
	 2,
	 {{60, 60, 0, 0, 60, 60, 55, 5, 0}, {40, 40, 0, 0, 40, 40, 40, 5, 50}},
	 {{FULL, 60, 0, 0, 60, 0, 0}, {FULL, 40, 0, 0, 40, 0, 0}},
	 0},
	{"the donor is lowered first, and the loan is on the books as it is given",
	 100,
	 2,
	 {{60, 60, 0, 0, 60, 50, 20, 5, 0}, {40, 40, 0, 0, 40, 40, 38, 5, 50}},
	 {{FULL, 60, 10, 0, 30, 0, 0}, {FULL, 40, 0, 10, 50, 0, 0}},
	 1},
	{"so also where there is no ceiling",
	 NONE,
	 2,
	 {{60, 60, 0, 0, 60, 50, 20, 5, 0}, {40, 40, 0, 0, 40, 40, 38, 5, 50}},
	 {{FULL, 60, 10, 0, 30, 0, 0}, {FULL, 40, 0, 10, 50, 0, 0}},
	 1},
	{"a loan whose raise is not seen yet stands",
	 100,
	 2,
	 {{60, 60, 30, 0, 30, 30, 20, 5, 0}, {40, 40, 0, 30, 70, 40, 38, 5, 50}},
	 {{FULL, 60, 30, 0, 30, 0, 0}, {FULL, 40, 0, 30, 70, 0, 0}},
	 0},
	{"several share alike; the odd byte is the oldest's",
	 100,
	 3,
	 {{61, 61, 0, 0, 61, 0, 0, 0, 0},
	  {20, 20, 0, 0, 20, 20, 20, 1, 50},
	  {19, 19, 0, 0, 19, 19, 19, 1, 50}},
	 {{FULL, 61, 61, 0, 0, 0, 0}, {FULL, 20, 0, 31, 51, 0, 0}, {FULL, 19, 0, 30, 49, 0, 0}},
	 0},
	{"and what one does not want is the others'",
	 100,
	 3,
	 {{61, 61, 0, 0, 61, 0, 0, 0, 0},
	  {20, 20, 0, 0, 20, 20, 20, 1, 11},
	  {19, 19, 0, 0, 19, 19, 19, 1, 90}},
	 {{FULL, 61, 61, 0, 0, 0, 0}, {FULL, 20, 0, 11, 31, 0, 0}, {FULL, 19, 0, 50, 69, 0, 0}},
	 0},
	{"loans that stand are not shuffled for a new borrower",
	 100,
	 3,
	 {{60, 60, 40, 0, 20, 10, 10, 0, 0},
	  {20, 20, 0, 40, 60, 60, 60, 1, 50},
	  {20, 20, 0, 0, 20, 20, 20, 1, 50}},
	 {{FULL, 60, 50, 0, 10, 0, 0}, {FULL, 20, 0, 40, 60, 0, 0}, {FULL, 20, 0, 10, 30, 0, 0}},
	 0},
	{"who is granted nothing borrows nothing",
	 60,
	 2,
	 {{60, 60, 0, 0, 60, 20, 20, 5, 0}, {40, 0, 0, 0, 0, 0, 0, 5, 50}},
	 {{FULL, 60, 0, 0, 60, 0, 0}, {NO_ROOM, 0, 0, 0, 0, 40, 0}},
	 0},
	{"a donor that is short asks its own back and does not borrow",
	 150,
	 3,
	 {{60, 60, 20, 0, 40, 40, 58, 5, 50},
	  {40, 40, 0, 20, 60, 60, 60, 5, 20},
	  {20, 20, 0, 0, 20, 20, 0, 10, 0}},
	 {{FULL, 60, 20, 0, 40, 0, 0}, {FULL, 40, 0, 20, 40, 0, 1}, {FULL, 20, 0, 0, 20, 0, 0}},
	 1},
};

static const struct row recall[] = {
	{"a donor with a reserve of room calls nothing back",
	 100,
	 2,
	 {{60, 60, 30, 0, 30, 30, 25, 5, 0}, {40, 40, 0, 30, 70, 70, 60, 5, 50}},
	 {{FULL, 60, 30, 0, 30, 0, 0}, {FULL, 40, 0, 30, 70, 0, 0}},
	 0},
	{"with less it calls back until it has two; the borrower is lowered at once",
	 100,
	 2,
	 {{60, 60, 30, 0, 30, 30, 26, 5, 0}, {40, 40, 0, 30, 70, 70, 60, 5, 50}},
	 {{FULL, 60, 30, 0, 30, 0, 0}, {FULL, 40, 0, 30, 64, 0, 1}},
	 1},
	{"what began goes on when a part of it is back",
	 100,
	 2,
	 {{60, 60, 30, 0, 30, 30, 26, 5, 0}, {40, 40, 0, 30, 64, 68, 60, 5, 50}},
	 {{FULL, 60, 28, 0, 32, 0, 0}, {FULL, 40, 0, 28, 64, 0, 1}},
	 1},
	{"likewise in the next decision, when the donor has one reserve again",
	 100,
	 2,
	 {{60, 60, 28, 0, 32, 32, 26, 5, 0}, {40, 40, 0, 28, 64, 68, 60, 5, 50}},
	 {{FULL, 60, 28, 0, 32, 0, 0}, {FULL, 40, 0, 28, 64, 0, 1}},
	 1},
	{"and ends when all of it is",
	 100,
	 2,
	 {{60, 60, 28, 0, 32, 32, 26, 5, 0}, {40, 40, 0, 28, 64, 64, 60, 5, 50}},
	 {{FULL, 60, 24, 0, 36, 0, 0}, {FULL, 40, 0, 24, 64, 0, 0}},
	 0},
	{"one that the donor no longer needs is dropped",
	 100,
	 2,
	 {{60, 60, 30, 0, 30, 30, 10, 5, 0}, {40, 40, 0, 30, 64, 70, 60, 5, 30}},
	 {{FULL, 60, 30, 0, 30, 0, 0}, {FULL, 40, 0, 30, 70, 0, 0}},
	 0},
	{"what nobody uses goes first, though its borrower is the older",
	 100,
	 3,
	 {{20, 20, 0, 20, 40, 40, 20, 5, 50},
	  {20, 20, 0, 20, 40, 40, 40, 5, 50},
	  {60, 60, 40, 0, 20, 20, 16, 5, 0}},
	 {{FULL, 20, 0, 20, 34, 0, 1}, {FULL, 20, 0, 20, 40, 0, 0}, {FULL, 60, 40, 0, 20, 0, 0}},
	 1},
	{"then that of the youngest borrower",
	 100,
	 3,
	 {{20, 20, 0, 20, 40, 40, 40, 5, 50},
	  {20, 20, 0, 20, 40, 40, 38, 5, 50},
	  {60, 60, 40, 0, 20, 20, 16, 5, 0}},
	 {{FULL, 20, 0, 20, 40, 0, 0}, {FULL, 20, 0, 20, 34, 0, 1}, {FULL, 60, 40, 0, 20, 0, 0}},
	 1},
	{"a sibling with room takes the loan over and no borrower notices",
	 130,
	 3,
	 {{60, 60, 30, 0, 30, 30, 26, 5, 0},
	  {40, 40, 0, 30, 70, 70, 60, 5, 30},
	  {30, 30, 0, 0, 30, 20, 5, 5, 0}},
	 {{FULL, 60, 24, 0, 36, 0, 0}, {FULL, 40, 0, 30, 70, 0, 0}, {FULL, 30, 6, 0, 24, 0, 0}},
	 0},
	{"a borrower gives back when its own grant has two reserves of room",
	 100,
	 2,
	 {{60, 60, 30, 0, 30, 30, 10, 5, 0}, {40, 40, 0, 30, 70, 70, 30, 5, 50}},
	 {{FULL, 60, 30, 0, 30, 0, 0}, {FULL, 40, 0, 30, 40, 0, 0}},
	 1},
	{"and not before",
	 100,
	 2,
	 {{60, 60, 30, 0, 30, 30, 10, 5, 0}, {40, 40, 0, 30, 70, 70, 31, 5, 50}},
	 {{FULL, 60, 30, 0, 30, 0, 0}, {FULL, 40, 0, 30, 70, 0, 0}},
	 0},
	{"a limit that was lowered is given back",
	 100,
	 2,
	 {{60, 60, 30, 0, 30, 30, 10, 5, 0}, {40, 40, 0, 30, 70, 70, 70, 5, 10}},
	 {{FULL, 60, 30, 0, 30, 0, 0}, {FULL, 40, 0, 30, 50, 0, 0}},
	 1},
	{"a deleted quota's loan stays on the books while it is held",
	 100,
	 2,
	 {{60, 60, 30, 0, 30, 30, 10, 5, 0}, {0, 40, 0, 30, 70, 70, 70, 5, 0}},
	 {{FULL, 60, 30, 0, 30, 0, 0}, {FULL, 0, 0, 30, 0, 0, 0}},
	 1},
	{"a deleted donor's loan is called back",
	 100,
	 2,
	 {{0, 60, 30, 0, 30, 30, 10, 5, 0}, {40, 40, 0, 30, 70, 70, 70, 5, 50}},
	 {{FULL, 0, 30, 0, 0, 0, 0}, {FULL, 40, 0, 30, 40, 0, 1}},
	 1},
};

static const struct row restarts[] = {
	{"a loan that only the borrower's status tells of is carried by who has room",
	 100,
	 2,
	 {{60, 60, 0, 0, 60, 60, 10, 5, 0}, {40, 40, 0, 30, 70, 70, 70, 5, 30}},
	 {{FULL, 60, 30, 0, 30, 0, 0}, {FULL, 40, 0, 30, 70, 0, 0}},
	 0},
	{"where nobody has, it is no loan: nothing above its own grant is allowed",
	 100,
	 2,
	 {{60, 60, 0, 0, 60, 60, 60, 5, 0}, {40, 40, 0, 30, 70, 70, 70, 5, 30}},
	 {{FULL, 60, 0, 0, 60, 0, 0}, {FULL, 40, 0, 0, 40, 0, 0}},
	 0},
	{"what only the donor's status tells of was not lent",
	 100,
	 2,
	 {{60, 60, 30, 0, 30, 30, 10, 5, 0}, {40, 40, 0, 0, 40, 40, 20, 5, 30}},
	 {{FULL, 60, 0, 0, 60, 0, 0}, {FULL, 40, 0, 0, 40, 0, 0}},
	 0},
	{"one that says both is what is left of them",
	 100,
	 2,
	 {{60, 60, 30, 10, 40, 40, 10, 5, 0}, {40, 40, 0, 20, 60, 60, 40, 5, 20}},
	 {{FULL, 60, 20, 0, 40, 0, 0}, {FULL, 40, 0, 20, 60, 0, 0}},
	 0},
	{"grants that come to more than the ceiling are cut as by a cut",
	 100,
	 2,
	 {{70, 70, 0, 0, 70, 70, 0, 0, 0}, {60, 60, 0, 0, 60, 60, 0, 0, 0}},
	 {{FULL, 70, 0, 0, 70, 0, 0}, {NO_ROOM, 30, 0, 0, 30, 30, 0}},
	 0},
	{"nonsense is 0",
	 100,
	 1,
	 {{60, -5, -5, -5, -5, -5, -5, -5, -5}},
	 {{FULL, 60, 0, 0, 60, 0, 0}},
	 0},
	{"and the largest number no more than that",
	 100,
	 2,
	 {{60, INT64_MAX, INT64_MAX, 0, INT64_MAX, 60, 0, INT64_MAX, INT64_MAX},
	  {40, 40, 0, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}},
	 {{FULL, 60, INT64_MAX - 40, 0, 0, 0, 0}, {FULL, 40, 0, INT64_MAX - 40, 40, 0, 1}},
	 1},
};

static struct tenant_member member(const struct was *was, size_t i)
{
	static const char names[] = "abcdefgh";

	return (struct tenant_member){
		.name = {names + i, 1},
		.created_us = 100 + (int64_t)i,
		.asks = was->wants != 0,
		.wants = was->wants,
		.borrow_limit = was->limit,
		.granted = was->granted,
		.borrowed = was->borrowed,
		.lent = was->lent,
		.effective = was->effective,
		.enforced = was->enforced,
		.used = was->used,
		.reserve = was->reserve,
	};
}

static bool is_so(const struct tenant_grant *grant, const struct is *is)
{
	return grant->outcome == is->outcome && grant->granted == is->granted &&
	       grant->lent == is->lent && grant->borrowed == is->borrowed &&
	       grant->effective == is->effective && grant->missing == is->missing &&
	       grant->recalled == is->recalled;
}

static bool check_row(const struct row *row, struct arena *arena)
{
	struct tenant_member members[MOST];
	struct tenant_grant grants[MOST];
	struct tenant_sums sums;
	struct tenant_view view = {row->ceiling, AMOUNT_NONE, members, row->n, 0};
	bool good = true;

	for (size_t i = 0; i < row->n; i++)
		members[i] = member(&row->was[i], i);
	assert_int_equal(tenant_decide(&view, arena, grants, &sums, NULL), 0);
	for (size_t i = 0; i < row->n; i++) {
		const struct tenant_grant *g = &grants[i];

		if (is_so(g, &row->is[i]))
			continue;
		good = false;
		print_error("%s: %zu: outcome %d granted %lld lent %lld borrowed %lld effective "
			    "%lld missing %lld recalled %d\n",
			    row->sentence, i, (int)g->outcome, (long long)g->granted,
			    (long long)g->lent, (long long)g->borrowed, (long long)g->effective,
			    (long long)g->missing, g->recalled);
	}
	if (sums.moving != row->moving) {
		good = false;
		print_error("%s: moving is %d\n", row->sentence, sums.moving);
	}
	arena_reset(arena);
	return good;
}

static void check_rows(const struct row *rows, size_t n)
{
	CLEANUP(arena_clear) struct arena arena = {0};
	size_t bad = 0;

	for (size_t i = 0; i < n; i++)
		bad += !check_row(&rows[i], &arena);
	assert_int_equal(bad, 0);
}

static void test_acceptance(void **state)
{
	(void)state;
	check_rows(acceptance, ARRAY_SIZE(acceptance));
}

static void test_lending(void **state)
{
	(void)state;
	check_rows(lending, ARRAY_SIZE(lending));
}

static void test_recall(void **state)
{
	(void)state;
	check_rows(recall, ARRAY_SIZE(recall));
}

static void test_restarts(void **state)
{
	(void)state;
	check_rows(restarts, ARRAY_SIZE(restarts));
}

/* --- cards, order, limits */

static struct tenant_member cards(const char *name, int64_t wants, int64_t granted,
				  int64_t enforced)
{
	return (struct tenant_member){
		.name = str_from(name),
		.asks = true,
		.wants = 1,
		.wants_gpus = wants,
		.granted = granted ? 1 : 0,
		.granted_gpus = granted,
		.effective_gpus = enforced,
		.enforced_gpus = enforced,
	};
}

static void decide(const struct tenant_view *view, struct tenant_grant *ret_grants,
		   struct tenant_sums *ret_sums)
{
	CLEANUP(arena_clear) struct arena arena = {0};

	assert_int_equal(tenant_decide(view, &arena, ret_grants, ret_sums, NULL), 0);
}

static void test_memory_and_cards_are_granted_together_or_not(void **state)
{
	struct tenant_member members[] = {cards("a", 5, 0, 0), cards("b", 4, 0, 0),
					  cards("c", 3, 0, 0)};
	struct tenant_view view = {100, 8, members, 3, 0};
	struct tenant_grant grants[3];
	struct tenant_sums sums;

	(void)state;
	decide(&view, grants, &sums);
	assert_int_equal(grants[0].outcome, GRANT_FULL);
	assert_int_equal(grants[1].outcome, GRANT_NO_ROOM);
	assert_int_equal(grants[1].granted, 0);
	assert_int_equal(grants[1].missing, 0);
	assert_int_equal(grants[1].missing_gpus, 4);
	assert_int_equal(grants[2].effective_gpus, 3);
	assert_int_equal(sums.granted_gpus, 8);
	assert_int_equal(sums.granted, 2);
}

static void test_cards_wait_for_cards(void **state)
{
	struct tenant_member members[] = {cards("a", 2, 6, 6), cards("b", 6, 2, 2)};
	struct tenant_view view = {100, 8, members, 2, 0};
	struct tenant_grant grants[2];
	struct tenant_sums sums;

	(void)state;
	decide(&view, grants, &sums);
	assert_int_equal(grants[0].effective_gpus, 2);
	assert_int_equal(grants[1].outcome, GRANT_WAITS);
	assert_int_equal(grants[1].granted_gpus, 6);
	assert_int_equal(grants[1].effective_gpus, 2);
	assert_true(sums.moving);

	members[0].enforced_gpus = 2;
	members[0].used_gpus = 3;
	decide(&view, grants, &sums);
	assert_int_equal(grants[1].effective_gpus, 5);
}

static void test_cut_cards_are_the_youngest_s(void **state)
{
	struct tenant_member members[] = {cards("a", 3, 3, 3), cards("b", 3, 3, 3)};
	struct tenant_view view = {100, 4, members, 2, 0};
	struct tenant_grant grants[2];
	struct tenant_sums sums;

	(void)state;
	decide(&view, grants, &sums);
	assert_int_equal(grants[0].granted_gpus, 3);
	assert_int_equal(grants[1].granted_gpus, 1);
	assert_int_equal(grants[1].granted, 1);
	assert_int_equal(grants[1].missing_gpus, 2);
}

/* Its pods are there, their nodes are not: what the ceiling leaves nobody knows. */
static void test_nothing_is_raised_while_somebodys_use_is_unknown(void **state)
{
	struct tenant_member members[] = {
		{.name = STR("a"),
		 .asks = true,
		 .wants = 5,
		 .granted = 5,
		 .effective = 5,
		 .enforced = 5,
		 .unknown = true,
		 .assumed = 5},
		{.name = STR("b"), .asks = true, .wants = 5, .effective_gpus = 0}};
	struct tenant_view view = {20, AMOUNT_NONE, members, 2, 0};
	struct tenant_grant grants[2];
	struct tenant_sums sums;

	(void)state;
	decide(&view, grants, &sums);
	assert_int_equal(grants[0].effective, 5);
	assert_int_equal(grants[1].granted, 5);
	assert_int_equal(grants[1].effective, 0);
	assert_int_equal(grants[1].outcome, GRANT_WAITS);
	assert_true(sums.moving);
	members[0].wants = 9; /* nor what it asks for itself, whatever it is assumed to hold */
	members[0].assumed = 9;
	decide(&view, grants, &sums);
	assert_int_equal(grants[0].effective, 5);
	members[0].unknown = false;
	members[0].assumed = 0;
	decide(&view, grants, &sums);
	assert_int_equal(grants[0].effective, 9);
	assert_int_equal(grants[1].effective, 5);
}

static void test_ties_are_broken_by_name(void **state)
{
	struct tenant_member members[] = {cards("b", 5, 0, 0), cards("a", 5, 0, 0)};
	struct tenant_view view = {100, 8, members, 2, 0};
	struct tenant_grant grants[2];
	struct tenant_sums sums;

	(void)state;
	decide(&view, grants, &sums);
	assert_int_equal(grants[0].outcome, GRANT_NO_ROOM);
	assert_int_equal(grants[1].outcome, GRANT_FULL);
	members[0].created_us = -1;
	decide(&view, grants, &sums);
	assert_int_equal(grants[0].outcome, GRANT_FULL);
	assert_int_equal(grants[1].outcome, GRANT_NO_ROOM);
}

static void test_a_tenant_without_namespaces_has_sums_of_0(void **state)
{
	struct tenant_view view = {100, AMOUNT_NONE, NULL, 0, 0};
	struct tenant_sums sums = {.granted = 1, .moving = true};

	(void)state;
	decide(&view, NULL, &sums);
	assert_int_equal(sums.granted, 0);
	assert_false(sums.moving);
}

static void test_a_full_arena_is_an_error_and_nothing_is_touched(void **state)
{
	struct tenant_member members[] = {cards("a", 1, 0, 0)};
	struct tenant_view view = {100, AMOUNT_NONE, members, 1, 0};
	struct tenant_grant grant = {.granted = 77};
	struct tenant_sums sums = {.granted = 77};
	struct arena arena;
	struct error err;

	(void)state;
	arena_init(&arena, 16);
	assert_int_equal(tenant_decide(&view, &arena, &grant, &sums, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_int_equal(grant.granted, 77);
	assert_int_equal(sums.granted, 77);
	arena_clear(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_acceptance),
		cmocka_unit_test(test_lending),
		cmocka_unit_test(test_recall),
		cmocka_unit_test(test_restarts),
		cmocka_unit_test(test_memory_and_cards_are_granted_together_or_not),
		cmocka_unit_test(test_cards_wait_for_cards),
		cmocka_unit_test(test_cut_cards_are_the_youngest_s),
		cmocka_unit_test(test_nothing_is_raised_while_somebodys_use_is_unknown),
		cmocka_unit_test(test_ties_are_broken_by_name),
		cmocka_unit_test(test_a_tenant_without_namespaces_has_sums_of_0),
		cmocka_unit_test(test_a_full_arena_is_an_error_and_nothing_is_touched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
