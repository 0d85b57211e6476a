/* SPDX-License-Identifier: Apache-2.0 */
/* The order of asks. */
#include "model/pod.h"

int device_ask_compare(const void *a, const void *b)
{
	const struct device_ask *left = a, *right = b;
	int order = str_compare(left->resource, right->resource);

	return order != 0 ? order : str_compare(left->device, right->device);
}
