/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_FILES_H
#define GPUQOS_TESTS_FILES_H

#include "base/buf.h"

/* Appends the whole file to @text; the test fails where there is none, or it is larger than that.
 */
void file_read(const char *path, struct buf *text);

#endif
