/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_PACK_CRASHES_H
#define GPUQOS_API_PACK_CRASHES_H

#include "api/wire_pod.h"
#include "model/pod.h"

/* Which containers of a pod crash over and over, init containers and sidecars too, as
 * model/crashes.h says. Inside api only. */
struct pod_crashes pack_crashes(const struct wire_pod_status *status);

#endif
