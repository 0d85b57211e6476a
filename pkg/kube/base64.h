/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_KUBE_BASE64_H
#define GPUQOS_KUBE_BASE64_H

#include "base/buf.h"

/* Appends @bytes in the standard alphabet with padding (RFC 4648, section 4). Inside kube only. */
void base64_add(struct buf *buf, struct str bytes);

#endif
