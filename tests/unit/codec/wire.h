/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CODEC_WIRE_H
#define TESTS_UNIT_CODEC_WIRE_H

#include "base/buf.h"

/*
 * The recorded bytes tests/data/wire/@name, read from the root of the tree into @ret_file, which is
 * initialised here; the caller clears it. Ends the program where the file cannot be read.
 */
struct str wire_load(struct buf *ret_file, const char *name);

#endif
