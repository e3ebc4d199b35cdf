/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_THREAD_RING_H
#define GMT_PRODUCER_THREAD_RING_H

/*
 * The rings of threads. A thread claims a ring for its first event, pushes events into it, waits
 * for room in it, and leaves it when the thread ends. In the flow: record event -> push -> ring.
 */

#include "shared_memory/ring_event.h"

/* Prepares the end of threads. Called from the constructor. */
void gmt_thread_ring_init(void);

/* Pushes an event of the calling thread. Waits, drops and counts as configured. */
void gmt_thread_ring_event(const struct gmt_ring_event *event);

/*
 * Sets `work`, which each thread calls before its first event of a recording, while it is in the
 * recorder. Called once.
 */
void gmt_thread_ring_call_at_first(void (*work)(void));

/* Sets a function that each thread calls when it gets its ring, from now on. */
void gmt_thread_ring_call_at_thread(void (*work)(void));

#endif
