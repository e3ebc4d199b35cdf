/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_PUSH_H
#define GMT_PRODUCER_PUSH_H

/*
 * The rings of threads. A thread claims a ring for its first event, pushes events into it, waits
 * for room in it, and leaves it when the thread ends. In the flow: record event -> push -> ring.
 * session.h declares gmt_session_push, which hooks call.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "producer/recording_memory.h"

/*
 * Called by the session's init. All pointers are borrowed for the life of the process. `area` holds
 * the rings. `is_stalled` is true while the file accepts no more data. `is_ending` is not 0 while
 * the recording ends.
 */
void gmt_push_init(struct gmt_recording_memory *area, const _Atomic bool *is_stalled,
	const _Atomic uint32_t *is_ending);

/* Sets a function that each thread calls when it gets its ring, from now on. */
void gmt_push_call_at_thread(void (*work)(void));

/* Restarts the numbering of threads at 1 in the child of a fork. */
void gmt_push_after_fork(void);

#endif
