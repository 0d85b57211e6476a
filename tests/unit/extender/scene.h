/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_EXTENDER_SCENE_H
#define GPUQOS_TESTS_EXTENDER_SCENE_H

#include "extender/extender.h"
#include "lib/fake_kube.h"
#include "lib/layouts.h"

/*
 * An extender over a real cluster object, with an API server that does what the test says
 * (lib/fake_kube.h) and requests that come as bytes (served.h). Its one namespace is "a".
 */
struct scene {
	struct fake_kube_world kube;
	struct cluster *cluster;
	struct placement_weights weights;
	struct recorder *recorder;
	struct extender *extender;
	struct machine machine;
	bool may_answer; /* at first true */
	int touched;     /* how often namespaces were called dirty */
	struct buf text; /* of the answer last asked for */
};

/* Setup and teardown of cmocka. */
int scene_setup(void **state);
int scene_teardown(void **state);

/*
 * Nodes of 8 cards in two NUMA nodes. STRICT: kubelet aligns by NUMA node; LOOSE: it does not;
 * UNKNOWN: no layout is published; OTHER: likewise, and they are amd.com/gpu; SHARED: as STRICT,
 * and they are parts, nvidia.com/gpu.shared.
 */
enum scene_node { SCENE_STRICT, SCENE_LOOSE, SCENE_UNKNOWN, SCENE_OTHER, SCENE_SHARED };

void scene_add_node(struct scene *s, const char *name, enum scene_node kind);
void scene_remove_node(struct scene *s, const char *name);
/* A watch shows "a". It is there from the start. */
void scene_show_namespace(struct scene *s);
/* The quota of "a". */
void scene_set_quota(struct scene *s, int64_t bytes);

/* A pod of "a", whose uid is its name. */
struct scene_pod {
	const char *name;
	const char *resource; /* NULL: "nvidia.com/gpu" */
	int cards;            /* 0: it asks for none */
	const char *policy;   /* gpuqos.io/topology-policy; NULL: none */
	bool burstable;       /* else Guaranteed, with whole CPUs */
	const char *node;     /* NULL: pending */
	const char *devices;  /* ids that kubelet gave it, as JSON strings; NULL: it says nothing */
	const char *requests; /* more of them: ",\"x\":\"1\"" */
	const char *spec;     /* more of it, with a comma after it */
};

/* As kube-scheduler and the API have it. Valid until the next call. */
const char *scene_pod_json(const struct scene_pod *pod);
/* A watch shows the pod. */
void scene_show(struct scene *s, const struct scene_pod *pod);
void scene_show_gone(struct scene *s, const char *name);

/* The answer of 200, borrowed until the next call. names: JSON, as ["a", "b"]. */
const char *scene_filter(struct scene *s, const struct scene_pod *pod, const char *names);
const char *scene_prioritize(struct scene *s, const struct scene_pod *pod, const char *names);
const char *scene_post(struct scene *s, const char *path, const char *body, int status);

/* A call of bind, which may wait. */
struct served *scene_bind(struct scene *s, const char *pod, const char *node);
/* It has answered so: "" is bound. Frees it. */
void scene_expect(struct served *served, const char *error);
/* bind that needs no API server to say no. */
void scene_refuses(struct scene *s, const char *pod, const char *node, const char *error);

#endif
