/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_EXTENDER_ARGS_H
#define GPUQOS_EXTENDER_ARGS_H

#include "api/wire.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/*
 * What kube-scheduler asks its extender (k8s.io/kube-scheduler/extender/v1, types.go): JSON with
 * the keys of Go's own struct fields, a Pod of core/v1 inside. Total and bounded for any bytes.
 *
 * Keys that are not named here are skipped, checked for syntax; one that is named may come once.
 * All outputs are borrowed from @body and @arena: a string without escapes is not copied. Errors:
 * INVALID with a message that can be answered, as "Pod: spec.containers[0]: ..."; LIMIT for what
 * json_decode() limits, and for more than LIMIT_EXTENDER_NAMES names.
 */

/* Of filter and prioritize: ExtenderArgs. */
struct extender_args {
	struct wire_pod pod;
	const struct str *names; /* NodeNames, in their order, duplicates and all */
	size_t n_names;
	/*
	 * The same as it stands in the body, brackets included: a pod that is none of our business
	 * gets it back byte for byte (extender_write_filter_text()).
	 */
	struct str names_text;
	/*
	 * The pod would rather be on some nodes than on others, by what kube-scheduler alone
	 * scores: preferred affinity of any kind, or constraints on how its like are spread.
	 */
	bool has_wishes;
};

/* INVALID also when there are Nodes but no NodeNames: the extender is nodeCacheCapable or nothing.
 */
int extender_read_args(struct str body, struct arena *arena, struct extender_args *ret_args,
		       struct error *err);

/* Of bind: ExtenderBindingArgs. None is empty or longer than LIMIT_NAME. */
struct extender_bind_args {
	struct str pod_name, pod_namespace, pod_uid, node;
};

int extender_read_bind(struct str body, struct arena *arena, struct extender_bind_args *ret_args,
		       struct error *err);

/* Of preempt: ExtenderPreemptionArgs. */
struct extender_preempt_args {
	struct wire_pod pod;
	struct str victims_text; /* NodeNameToMetaVictims as it stands in the body; "{}" for null */
};

/* INVALID also when there are NodeNameToVictims but no NodeNameToMetaVictims. */
int extender_read_preempt(struct str body, struct arena *arena,
			  struct extender_preempt_args *ret_args, struct error *err);

#endif
