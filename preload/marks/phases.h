/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_PHASES_H
#define GMT_MARKS_PHASES_H

/*
 * The phases that are open now. In the flow: marks of the program, NVTX -> phases -> producer/mark.
 *
 * A recording begins with the first allocation, and phases often before it: those that are open by then
 * are kept here, and told, with the time at which they began, before the first event of their thread.
 * The child of a fork goes on inside the phases of the thread that forked. The store has a fixed size;
 * phases that do not fit into it are counted, so that the ends of others stay theirs.
 *
 * Any thread, any time, also before the constructor; no lock, no memory.
 */

#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

/* From the constructor. */
void gmt_phase_init(void);

/*
 * A phase begins on this thread. `object` tells the stacks of one source apart (NVTX's domains). Returns
 * how many of that stack were open before.
 */
int gmt_phase_push(enum gmt_mark_source source, const char *name, size_t length, uint64_t object);

/* The innermost of that stack ends. Returns how many are open then; -1 when none was. */
int gmt_phase_pop(enum gmt_mark_source source, uint64_t object);

/* A phase begins, and ends in any thread; `object` is its number. */
void gmt_phase_start(enum gmt_mark_source source, const char *name, size_t length, uint64_t object);
void gmt_phase_stop(enum gmt_mark_source source, uint64_t object);

/* The process ends: tells what this thread has not told yet, when something is recorded. */
void gmt_phase_end(void);

/* In the child of a fork. */
void gmt_phase_reset(void);

#endif
