/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_BASE_MACROS_H
#define GPUQOS_BASE_MACROS_H

#include <stddef.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* The struct of which @ptr points at @member. */
#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* <sys/param.h> may have defined these already. Arguments are evaluated twice. */
#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif

#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define UNUSED                 __attribute__((unused))
#define MUST_CHECK             __attribute__((warn_unused_result))

/*
 * Runs @fn(&variable) when the variable leaves its scope. Declare the destructor with
 * DEFINE_CLEANUP.
 */
#define CLEANUP(fn) __attribute__((cleanup(fn##_cleanup)))

/* DEFINE_CLEANUP(struct buf *, buf_free): the cleanup for an owning pointer; @fn accepts NULL. */
#define DEFINE_CLEANUP(type, fn)                        \
	UNUSED static inline void fn##_cleanup(type *p) \
	{                                               \
		fn(*p);                                 \
	}

/*
 * DEFINE_CLEAR(struct buf, buf_clear): the cleanup for an embedded object; @fn accepts a zeroed
 * one.
 */
#define DEFINE_CLEAR(type, fn)                          \
	UNUSED static inline void fn##_cleanup(type *p) \
	{                                               \
		fn(p);                                  \
	}

/* Moves an owning pointer out of a variable with CLEANUP: the variable is NULL afterwards. */
#define TAKE(ptr)                            \
	__extension__({                      \
		__auto_type taken__ = (ptr); \
		(ptr) = NULL;                \
		taken__;                     \
	})

#endif
