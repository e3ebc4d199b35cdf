/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_PUSH_H
#define GMT_PRODUCER_PUSH_H

/*
 * The rings of threads: a thread claims one for its first event, pushes into it, waits for room in it, and leaves it when it
 * ends. In the flow: commit -> push -> ring. session.h declares gmt_session_push, which hooks call.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "producer/recording_memory.h"

/*
 * From the session's own init. All are borrowed for the life of the process: where rings lie; whether the file takes nothing
 * more; whether the recording ends, which is not 0 then.
 */
void gmt_push_init(struct gmt_recording_memory *area, const _Atomic bool *is_stalled, const _Atomic uint32_t *is_ending);

/* `work` is called by each thread when it gets its ring, from now on. */
void gmt_push_call_at_thread(void (*work)(void));

/* In the child of a fork: its threads are counted from the first again. */
void gmt_push_after_fork(void);

#endif
