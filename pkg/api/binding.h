/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_BINDING_H
#define GPUQOS_API_BINDING_H

/*
 * What all our policy bindings have alike, for who writes them and who reads them back. Inside api
 * only.
 */
#define BINDING_LABEL_NAME  "app.kubernetes.io/name"
#define BINDING_LABEL_VALUE "gpuqos"
#define BINDING_DENIES      "Deny"
#define BINDING_WARNS       "Warn"

/*
 * Where the parameter is not found. It is the TenantQoS that owns the binding, so it is missing
 * only from its deletion until the garbage collector (or we) take the binding too, and for a moment
 * after it was made, until that API server has seen it. Neither lasts, so a pod waits it out;
 * allowing it would let any class of pod by in that moment, which a tenant can wait for.
 */
#define BINDING_NOT_FOUND "Deny"

#endif
