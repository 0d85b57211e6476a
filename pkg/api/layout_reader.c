/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a layout, each checked where it is taken over. */
#include "api/layout_reader.h"

#include <inttypes.h>

#include "api/quantity.h"

int layout_locate(const struct layout_reader *r, const char *field)
{
	if (!r->list)
		return error_wrap(r->err, "%s: %s", API_LAYOUT_ANNOTATION, field);
	if (r->part)
		return error_wrap(r->err, "%s: %s[%zu].%s[%zu].%s", API_LAYOUT_ANNOTATION, r->list,
				  r->index, r->part, r->part_index, field);
	return error_wrap(r->err, "%s: %s[%zu].%s", API_LAYOUT_ANNOTATION, r->list, r->index,
			  field);
}

int layout_check_text(const struct layout_reader *r, const char *field, struct str text)
{
	if (text.len > LIMIT_LAYOUT_TEXT)
		return LAYOUT_REFUSE(r, field, "has %zu bytes, more than %d", text.len,
				     LIMIT_LAYOUT_TEXT);
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] < ' ' || text.data[i] > '~')
			return LAYOUT_REFUSE(r, field, "byte %zu is no printable ASCII", i);
	return 0;
}

int layout_read_amount(const struct layout_reader *r, const char *field, struct str text,
		       int64_t *ret_amount)
{
	int64_t amount;

	if (str_empty(text)) {
		*ret_amount = AMOUNT_UNKNOWN;
		return 0;
	}
	if (!quantity_parse(text, &amount))
		return LAYOUT_REFUSE(r, field, "no quantity, or too large to be counted");
	if (amount < 0)
		return LAYOUT_REFUSE(r, field, "is negative");
	if (amount > LIMIT_LAYOUT_AMOUNT)
		return LAYOUT_REFUSE(r, field, "is more than %lld", LIMIT_LAYOUT_AMOUNT);
	*ret_amount = amount;
	return 0;
}

int layout_read_positive(const struct layout_reader *r, const char *field, struct str text,
			 int64_t *ret_amount)
{
	int64_t amount;

	if (layout_read_amount(r, field, text, &amount) < 0)
		return -1;
	if (amount == 0)
		return LAYOUT_REFUSE(r, field, "is 0; what is not known is left out");
	*ret_amount = amount;
	return 0;
}

int layout_read_index(const struct layout_reader *r, const char *field, const int64_t *value,
		      size_t n, uint32_t *ret_index)
{
	if (value && (*value < 0 || *value >= (int64_t)n))
		return LAYOUT_REFUSE(r, field, "%" PRId64 " names none of the %zu there", *value,
				     n);
	*ret_index = value ? (uint32_t)*value : LAYOUT_NONE;
	return 0;
}

int layout_read_choice(const struct layout_reader *r, const char *field, struct str text,
		       const char *const *texts, size_t n)
{
	if (layout_check_text(r, field, text) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (str_equal(text, str_from(texts[i])))
			return (int)i;
	return str_empty(text) ? 0
			       : LAYOUT_REFUSE(r, field, "\"%.*s\" is not known", STR_ARGS(text));
}

static bool take_hex(struct str text, size_t min, size_t max, uint64_t *address)
{
	uint64_t value = 0;

	if (text.len < min || text.len > max || (text.len > min && text.data[0] == '0'))
		return false;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];

		if (str_hex_digit(c) < 0 || (c >= 'A' && c <= 'F'))
			return false;
		value = value << 4 | (uint64_t)str_hex_digit(c);
	}
	*address = *address << (4 * min) | value;
	return true;
}

/* As Linux writes it: "%04x:%02x:%02x.%d", in a domain of up to 32 bits. */
static bool parse_pci(struct str text, uint64_t *ret_address)
{
	struct str domain, bus, device, function;
	uint64_t address = 0;

	if (!str_split(text, ':', &domain, &text) || !str_split(text, ':', &bus, &text) ||
	    !str_split(text, '.', &device, &function) || !take_hex(domain, 4, 8, &address) ||
	    !take_hex(bus, 2, 2, &address) || !take_hex(device, 2, 2, &address) ||
	    !take_hex(function, 1, 1, &address))
		return false;
	if (device.data[0] > '1' || function.data[0] > '7')
		return false;
	*ret_address = address;
	return true;
}

int layout_read_pci(struct layout_reader *r, struct str text, struct str *ret_pci)
{
	uint64_t address;

	if (!parse_pci(text, &address))
		return LAYOUT_REFUSE(r, "pci", "no address like 0000:3b:00.0 in lower case");
	for (size_t i = 0; i < r->n_addresses; i++)
		if (r->addresses[i] == address)
			return LAYOUT_REFUSE(r, "pci", "%.*s occurs twice", STR_ARGS(text));
	r->addresses[r->n_addresses++] = address;
	*ret_pci = text;
	return 0;
}

int layout_take_array(struct layout_reader *r, struct wire_list list, size_t max, size_t size,
		      void *ret_array)
{
	void *array;

	if (list.len > max)
		return error_set(r->err, ERROR_LIMIT, "%s: %s has %zu elements, more than %zu",
				 API_LAYOUT_ANNOTATION, r->list, list.len, max);
	array = arena_alloc(r->arena, list.len * size);
	if (!array)
		return error_set(r->err, ERROR_LIMIT, "%s: takes more than %zu bytes of memory",
				 API_LAYOUT_ANNOTATION, r->arena->limit);
	memcpy(ret_array, &array, sizeof(array));
	return 0;
}
