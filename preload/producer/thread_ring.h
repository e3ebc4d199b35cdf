/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_THREAD_RING_H
#define GMT_PRODUCER_THREAD_RING_H

/*
 * Connects threads and rings. A thread claims a ring for its first event, pushes its events into
 * the ring, waits for room in it, and leaves it when the thread ends. In the flow: event ->
 * thread_ring -> ring.
 */

#include "shared_memory/ring_event.h"

/* Registers the destructor that leaves a ring. Called from the constructor. */
void gmt_thread_ring_init(void);

/* Pushes an event of the calling thread. If the ring is full, waits, then drops and counts it. */
void gmt_thread_ring_push(const struct gmt_ring_event *event);

/*
 * Sets `work`, which each thread calls before its first event of a recording, while it is in the
 * recorder. Called once.
 */
void gmt_thread_ring_call_at_first_event(void (*work)(void));

/* Sets `work`, which each thread calls from now on when it has claimed a ring. */
void gmt_thread_ring_call_at_claim(void (*work)(void));

#endif
