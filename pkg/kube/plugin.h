/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_KUBE_PLUGIN_H
#define GPUQOS_KUBE_PLUGIN_H

#include "base/buf.h"
#include "kube/config.h"
#include "loop/loop.h"

/*
 * One run of an exec credential plugin (client.authentication.k8s.io), as a child of its own
 * process group: it is told of the cluster by KUBERNETES_EXEC_INFO, has no terminal and no standard
 * input, and is killed with its children after LIMIT_EXEC_US, at LIMIT_EXEC_OUTPUT bytes of
 * answer, or when its owner lets go of it. Inside kube only.
 */
struct kube_plugin;

struct kube_plugin_answer {
	char *token;              /* NULL: none */
	char *cert_pem, *key_pem; /* both or none */
	int64_t expires_us;       /* real time; TIME_NEVER where the plugin does not say */
};

/* Wipes and releases. */
void kube_plugin_answer_clear(struct kube_plugin_answer *answer);

/*
 * @fn is called once, in a later turn, and may free the plugin. @answer is the callee's to take,
 * or NULL with @err: what was wrong, and the end of what the plugin wrote to standard error.
 */
struct kube_plugin_handler {
	void (*fn)(void *context, struct kube_plugin_answer *answer, const struct error *err);
	void *context;
};

int kube_plugin_start(struct loop *loop, const struct kube_config *config,
		      const struct kube_plugin_handler *handler, struct kube_plugin **ret_plugin,
		      struct error *err);
/* Kills it where it still runs. */
void kube_plugin_free(struct kube_plugin *plugin);

/* What is said to it and what it answers; @version is the apiVersion that both must have. */
int kube_plugin_input(const struct kube_config *config, struct buf *ret_json, struct error *err);
int kube_plugin_parse(struct str output, const char *version, struct kube_plugin_answer *ret_answer,
		      struct error *err);

DEFINE_CLEANUP(struct kube_plugin *, kube_plugin_free)
DEFINE_CLEAR(struct kube_plugin_answer, kube_plugin_answer_clear)

#endif
