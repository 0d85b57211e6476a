/* SPDX-License-Identifier: Apache-2.0 */
/* Which device is of which class. */
#include "model/claim.h"

bool device_driver_is_gpu(struct str driver)
{
	return str_starts_with(driver, STR("gpu."));
}

/*
 * A class that asks for another domain's type than the driver's own asks for an attribute that is
 * not looked at here; so does a device without a type of its own.
 */
bool class_may_have(const struct class_facts *class, struct str driver,
		    const struct slice_device *device)
{
	if (!str_empty(class->driver) && !str_equal(class->driver, driver))
		return false;
	if (str_empty(class->type) || !str_equal(class->type_domain, driver))
		return true;
	return str_empty(device->type) || str_equal(class->type, device->type);
}
