/*
 * Read by clang-tidy in front of each file, never compiled.
 *
 * The analyser looks at one file at a time and cannot know that error_set() and its kin always
 * return -1: after `return error_set(...)` it would follow the caller's path of success, with
 * outputs that nobody set. These macros say it.
 */

#ifndef GPUQOS_ANALYSER_H
#define GPUQOS_ANALYSER_H

#include "base/error.h"

static inline int analyser_failed(int result)
{
	(void)result;
	return -1;
}

#define error_set(...)       analyser_failed(error_set(__VA_ARGS__))
#define error_set_errno(...) analyser_failed(error_set_errno(__VA_ARGS__))
#define error_wrap(...)      analyser_failed(error_wrap(__VA_ARGS__))

#endif
