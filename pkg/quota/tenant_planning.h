/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_QUOTA_TENANT_PLANNING_H
#define GPUQOS_QUOTA_TENANT_PLANNING_H

#include "quota/tenant_plan.h"

/* A plan in the making. Inside quota only. */
struct planning {
	const struct tenant_plan_view *view;
	struct arena *arena;
	struct tenant_plan plan;
	bool in_force;
};

/* All conditions, of a status that is otherwise complete. */
void tenant_set_conditions(struct planning *p);

/* tenant_throttle.c: one of them each. They always fill @c and return true. */
bool tenant_say_abnormal(struct planning *p, struct condition *c);
bool tenant_say_throttled(struct planning *p, struct condition *c);
bool tenant_say_idle(struct planning *p, struct condition *c);

/* tenant_objectives.c: likewise. */
bool tenant_say_objectives(struct planning *p, struct condition *c);

#endif
