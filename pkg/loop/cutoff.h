/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_LOOP_CUTOFF_H
#define GPUQOS_LOOP_CUTOFF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

/*
 * A moment after which nothing more leaves through some TCP sockets, kept by the kernel. Who looks
 * at the clock and then sends may be stopped in between (SIGSTOP, a suspended machine, another
 * program's turn) and send minutes later. Here a timer of CLOCK_BOOTTIME raises a signal, which
 * comes before the next instruction of the program wherever that was stopped, and its handler
 * disconnects the sockets: the peer gets a RST, and what lay in send buffers is dropped.
 *
 * One at a time in a process; used by the thread of the loop alone, while other threads block all
 * signals (loop_job() does).
 */
struct cutoff;

struct cutoff *cutoff_new(void);
void cutoff_free(struct cutoff *cutoff);

/* The moment (µs of CLOCK_BOOTTIME); TIME_NEVER for none. In the past: at once. */
void cutoff_set(struct cutoff *cutoff, int64_t at_us);
void cutoff_now(struct cutoff *cutoff);

/* False when there are too many sockets: the caller must then not use this one. */
bool cutoff_add(struct cutoff *cutoff, int fd);
void cutoff_remove(struct cutoff *cutoff, int fd); /* before it is closed; any may be asked */

DEFINE_CLEANUP(struct cutoff *, cutoff_free)

#endif
