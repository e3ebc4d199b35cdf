/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_OPEN_PHASES_H
#define GMT_MARKS_OPEN_PHASES_H

/*
 * The phases that are open now. In the flow: marks of the program, NVTX -> open_phases ->
 * producer/mark.
 *
 * A recording begins at the first allocation, but phases often begin earlier. This file stores the
 * open phases. It records those that began before the recording, with their begin times, before the
 * first event of their thread. The child of a fork continues inside the phases of the thread that
 * forked. The store has a fixed size. Phases that do not fit are only counted, so that each pop
 * still matches its own push.
 *
 * Any thread, any time, also before the constructor. No lock, no allocation.
 */

#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

/* Call from the constructor. */
void gmt_phase_init(void);

/*
 * Begins a phase on the calling thread. The open phases of one source and one `object` (an NVTX
 * domain) form a stack. Returns how many phases of that stack were open before.
 */
int gmt_phase_push(enum gmt_mark_source source, const char *name, size_t length, uint64_t object);

/*
 * Ends the innermost phase of that stack. Returns how many phases are then open, or -1 if the stack
 * was empty.
 */
int gmt_phase_pop(enum gmt_mark_source source, uint64_t object);

/* Begins a phase that any thread may end. `object` is its number. */
void gmt_phase_start(enum gmt_mark_source source, const char *name, size_t length, uint64_t object);
void gmt_phase_stop(enum gmt_mark_source source, uint64_t object);

/*
 * Call at the end of the process. Records the calling thread's phases that are not recorded yet, if
 * a recording is active.
 */
void gmt_phase_end(void);

#endif
