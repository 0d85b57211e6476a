/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_LAYOUT_READER_H
#define GPUQOS_API_LAYOUT_READER_H

#include "api/layout.h"
#include "codec/schema.h"

/*
 * What the readers of a layout's lists share. A reader keeps what must occur once, and knows where
 * it is: list[index].part[part_index].field, so that a refusal is one line. Inside api only.
 */
struct layout_reader {
	struct arena *arena;
	struct error *err;
	struct layout layout;
	const char *list; /* NULL: in none */
	size_t index;
	const char *part; /* NULL: in none */
	size_t part_index;
	uint64_t addresses[LIMIT_LAYOUT_BRIDGES + LIMIT_LAYOUT_GPUS]; /* seen */
	size_t n_addresses;
	uint64_t cpus[LIMIT_LAYOUT_CPUS / 64]; /* seen */
	uint64_t linked[LIMIT_LAYOUT_GPUS];    /* by card: the cards it has a link to */
};

/* Puts where the reader is before the error's message. Returns -1. */
int layout_locate(const struct layout_reader *r, const char *field);

#define LAYOUT_REFUSE(r, field, ...) \
	(error_set((r)->err, ERROR_INVALID, __VA_ARGS__), layout_locate((r), (field)))

/* Printable, and not long. A refusal may quote what passed. */
int layout_check_text(const struct layout_reader *r, const char *field, struct str text);

/* A quantity from 0, and one above 0: of a thing that is there. AMOUNT_UNKNOWN where it is absent.
 */
int layout_read_amount(const struct layout_reader *r, const char *field, struct str text,
		       int64_t *ret_amount);
int layout_read_positive(const struct layout_reader *r, const char *field, struct str text,
			 int64_t *ret_amount);

/* An index among @n things, or LAYOUT_NONE where it is absent: @value is NULL. */
int layout_read_index(const struct layout_reader *r, const char *field, const int64_t *value,
		      size_t n, uint32_t *ret_index);

static inline const int64_t *layout_present(const void *object, unsigned int field,
					    const int64_t *value)
{
	return wire_has(object, field) ? value : NULL;
}

/* Which of @n texts it is, or -1; the first where it is absent. */
int layout_read_choice(const struct layout_reader *r, const char *field, struct str text,
		       const char *const *texts, size_t n);

/* A PCI address that was not seen before. */
int layout_read_pci(struct layout_reader *r, struct str text, struct str *ret_pci);

/* Room for a list of at most @max elements: @ret_array is the address of a pointer. */
int layout_take_array(struct layout_reader *r, struct wire_list list, size_t max, size_t size,
		      void *ret_array);

/* Into r->layout, after its NUMA nodes and bridges. */
int layout_read_gpus(struct layout_reader *r, struct wire_list list);

#endif
