/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_UNIT_AGENT_EXPORTS_H
#define GPUQOS_TESTS_UNIT_AGENT_EXPORTS_H

#include "agent/machine.h"
#include "base/buf.h"

/* Exports of real machines in tests/data/topology, as they are and edited. */

/* A whole file into @text, initialised by the caller; fails the test when there is none. */
void export_text(const char *name, const char *suffix, struct buf *text);

/* The layout of an export; fails the test when it cannot be read. */
void export_read(const char *name, struct arena *arena, struct layout *ret_layout);

/* The same of @text, by way of a file. Returns what machine_read() does. */
int export_read_text(struct str text, struct arena *arena, struct layout *ret_layout,
		     struct error *err);

/* Replaces the first @from in @text, which must be there, by @to. */
void export_edit(struct buf *text, const char *from, const char *to);

/* Reads the export after the edits: pairs of what is replaced and by what, NULL ends them. */
void export_read_edited(const char *name, const char *const *edits, struct arena *arena,
			struct layout *ret_layout);

#endif
