/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_RING_H
#define GMT_PRODUCER_RING_H

/*
 * The ring between one application thread and the writer thread.
 *
 * In the flow: capture -> ring -> writer. One ring per thread, one producer (the thread that owns
 * it) and one consumer (the writer, or a reader that opens the file after the process was killed).
 * No locks, no allocation, no system call; safe in a signal handler of the producer only if the
 * handler did not interrupt gmt_ring_push itself (thread.h's guard ensures it).
 *
 * The memory (struct gmt_ring) is given by the caller and is a shared file mapping: an event is part of the ring from
 * the moment at which `published` passes it, and stays readable when the process is gone. Nothing
 * half-written is ever visible.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared_memory/shared_recording.h"

/* Bytes that a ring of `capacity` events needs. `capacity` must be a power of two. */
uint64_t gmt_ring_size_bytes(uint32_t capacity);

/*
 * Makes an empty ring of the calling thread in `memory` (64-byte aligned, gmt_ring_size_bytes(capacity) long), which stays
 * the caller's. Returns `memory` as a ring.
 */
struct gmt_ring *gmt_ring_init(void *memory, uint32_t capacity, uint32_t thread, uint32_t tid);

/* Consumer. Whether gmt_ring_init has been through with this memory, and gmt_ring_fini has not. */
bool gmt_ring_is_made(const struct gmt_ring *ring);

/* Consumer, when the producer has gone: the memory may become another ring. */
void gmt_ring_fini(struct gmt_ring *ring);

/*
 * Producer only. Where the next event is to be made, which nobody looks at before gmt_ring_publish; NULL when the ring is full.
 * `capacity` is the ring's. Here, because it runs once an event.
 */
static inline struct gmt_ring_event *gmt_ring_next(struct gmt_ring *ring, uint32_t capacity)
{
	/* Only this thread writes `published`, so a plain look at it is exact. */
	uint64_t published = atomic_load_explicit(&ring->published, memory_order_relaxed);

	/*
	 * `consumed` is looked at only when the ring seems full: reading it each time would move its
	 * cache line between the two cores for every event. Pairs with the release in gmt_ring_consume: a
	 * slot seen as consumed is no longer being read.
	 */
	if (__builtin_expect(published - ring->consumed_seen == capacity, 0)) {
		ring->consumed_seen = atomic_load_explicit(&ring->consumed, memory_order_acquire);
		if (published - ring->consumed_seen == capacity)
			return NULL;
	}
	return &ring->events[published & (capacity - 1)];
}

/* Whether so many events are the end of another half a ring of `capacity`. */
static inline bool gmt_ring_ends_half(uint64_t published, uint32_t capacity)
{
	return (published & (capacity / 2 - 1)) == 0;
}

/*
 * Producer only. The event that was made there is in the ring. True once every half a ring of `capacity` events: time to wake the
 * consumer.
 */
static inline bool gmt_ring_publish(struct gmt_ring *ring, uint32_t capacity)
{
	uint64_t published = atomic_load_explicit(&ring->published, memory_order_relaxed) + 1;

	/*
	 * The event exists from here on. Pairs with the acquire in gmt_ring_ready; and, because x86 and
	 * ARM write a release store to memory after what precedes it, with whoever maps the file after
	 * a SIGKILL.
	 */
	atomic_store_explicit(&ring->published, published, memory_order_release);
	/* The writer's core had the next slot last; by the next event it is here. */
	__builtin_prefetch(&ring->events[published & (capacity - 1)], 1);
	return gmt_ring_ends_half(published, capacity);
}

/* Producer only. Copies `event` in; false when the ring is full. */
static inline bool gmt_ring_push(struct gmt_ring *ring, const struct gmt_ring_event *event)
{
	struct gmt_ring_event *place = gmt_ring_next(ring, ring->capacity);

	if (!place)
		return false;
	*place = *event;
	gmt_ring_publish(ring, ring->capacity);
	return true;
}

/* Producer only. True once every half a ring of `capacity` events: time to wake the consumer. */
static inline bool gmt_ring_is_half_way(const struct gmt_ring *ring, uint32_t capacity)
{
	return gmt_ring_ends_half(atomic_load_explicit(&ring->published, memory_order_relaxed), capacity);
}

/* Producer only. Counts an event that gmt_ring_push refused and nobody will offer again. */
void gmt_ring_count_drop(struct gmt_ring *ring, const struct gmt_ring_event *event);

/* Consumer only. Events that wait. */
uint64_t gmt_ring_ready(const struct gmt_ring *ring);

/*
 * Consumer only. Copies at most `limit` of the oldest events to `ret_events`; they stay in the ring.
 * Returns how many; 0 when the ring is empty.
 */
uint32_t gmt_ring_peek(const struct gmt_ring *ring, struct gmt_ring_event *ret_events, uint32_t limit);

/* Consumer only. How many events were ever taken, once `count` more are. */
uint64_t gmt_ring_position_after(const struct gmt_ring *ring, uint32_t count);

/* Consumer only. Takes the oldest `count` events, which are safe elsewhere, and frees their slots. */
void gmt_ring_consume(struct gmt_ring *ring, uint32_t count);

#endif
