/* SPDX-License-Identifier: Apache-2.0 */
/* The memory policy: every request succeeds or the program ends with one line. */
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* No stdio here: it may want memory itself. */
static void __attribute__((noreturn)) out_of_memory(void)
{
	static const char line[] = "gpuqos: out of memory, ending\n";
	ssize_t n = write(STDERR_FILENO, line, sizeof(line) - 1);

	(void)n;
	abort();
}

static size_t product(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		out_of_memory();
	return bytes > 0 ? bytes : 1;
}

void *mem_alloc(size_t size)
{
	return mem_alloc_array(1, size);
}

void *mem_alloc_array(size_t count, size_t size)
{
	void *block = calloc(1, product(count, size));

	if (!block)
		out_of_memory();
	return block;
}

void *mem_realloc_array(void *block, size_t count, size_t size)
{
	void *moved = realloc(block, product(count, size));

	if (!moved)
		out_of_memory();
	return moved;
}

char *mem_strdup(const char *s)
{
	size_t size = strlen(s) + 1;
	char *copy = mem_realloc_array(NULL, size, 1);

	memcpy(copy, s, size);
	return copy;
}

char *mem_strndup(const char *s, size_t len)
{
	size_t used = len > 0 ? strnlen(s, len) : 0;
	char *copy = mem_realloc_array(NULL, used + 1, 1);

	if (used > 0)
		memcpy(copy, s, used);
	copy[used] = '\0';
	return copy;
}

void mem_free(void *block)
{
	free(block);
}

void mem_wipe(void *block, size_t len)
{
	if (len > 0)
		explicit_bzero(block, len);
}

void mem_free_secret(char *text)
{
	if (text)
		mem_wipe(text, strlen(text));
	mem_free(text);
}

/* The pointer is copied in and out, since the caller's has another type than void *. */
void mem_grow(void **array, size_t *capacity, size_t want, size_t size)
{
	size_t larger = *capacity > 0 ? *capacity : 8;
	void *block;

	if (want <= *capacity)
		return;
	while (larger < want)
		if (__builtin_mul_overflow(larger, (size_t)2, &larger))
			out_of_memory();
	memcpy(&block, array, sizeof(block));
	block = mem_realloc_array(block, larger, size);
	memcpy(array, &block, sizeof(block));
	*capacity = larger;
}
