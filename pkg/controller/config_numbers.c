/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of numbers in --config. */
#include "controller/config_numbers.h"

static int read_number(const struct config_number *number, struct error *err)
{
	if (!wire_has(number->object, number->index))
		return 0;
	if (number->value < number->min || number->value > number->max)
		return error_set(err, ERROR_INVALID, "%s: %lld is not in %lld to %lld",
				 number->name, (long long)number->value, (long long)number->min,
				 (long long)number->max);
	*number->to = number->value * number->unit;
	return 0;
}

int config_read_numbers(const struct config_number *numbers, size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i++)
		if (read_number(&numbers[i], err) < 0)
			return -1;
	return 0;
}
