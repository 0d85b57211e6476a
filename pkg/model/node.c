/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of model/node.h. */
#include "model/node.h"

const char *device_sharing_text(enum device_sharing sharing)
{
	switch (sharing) {
#define X(name, text)       \
	case DEVICE_##name: \
		return text;
		DEVICE_SHARINGS(X)
#undef X
	}
	return "Unknown";
}
