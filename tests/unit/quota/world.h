/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_UNIT_QUOTA_WORLD_H
#define GPUQOS_TESTS_UNIT_QUOTA_WORLD_H

#include "quota/decide.h"

/* A world of one namespace: what the tests of quota_decide() change and what follows from it. */
struct world {
	struct quota_spec spec;
	struct quota_share share; /* the view takes it when the test says so */
	struct quota_view view;
	struct arena arena;
	struct quota_plan plan;
};

/*
 * Handles of the names. The world offers two kinds of whole cards, one of slices and one that
 * nothing prices; FRACTION, KAI and CLASS are only offered by tests that say so.
 */
enum world_name {
	NONE,
	GPU,      /* nvidia.com/gpu */
	MIG,      /* nvidia.com/mig-1g.10gb */
	OTHER,    /* amd.com/gpu */
	FRACTION, /* nvidia.com/gpumem */
	KAI,      /* kai.scheduler/gpu-memory */
	CLASS,    /* gpu.example.com.deviceclass.resource.k8s.io/devices */
	H100,
	T4,
	A100,
	WORLD_NAMES
};

#define WORLD_NOW_REAL_US (1700000000 * USEC_PER_SEC)

/* For cmocka: a quota of 320 GiB that nobody uses, seen the first time. */
int world_setup(void **state);
int world_teardown(void **state);

void world_decide(struct world *w);
/* Makes the server hold what the plan says. */
void world_settle(struct world *w);
/* Decides and settles until nothing is left to write, and asserts that. */
void world_converge(struct world *w);
/* On both clocks. */
void world_wait(struct world *w, int64_t us);

int64_t world_hard(const struct world *w, const char *resource); /* -1: there is no such key */
/* Fails where there is none. */
const struct quota_row *world_row(const struct world *w, const char *resource, const char *product);
bool world_has_row(const struct world *w, const char *resource);

void assert_condition(const struct world *w, enum quota_condition which,
		      enum condition_status status, enum quota_reason reason);
void assert_says(const struct world *w, enum quota_condition which, const char *words);
/* Every sentence ends, and says something; lists are sorted. */
void world_assert_sane(const struct world *w);

#endif
