/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_RING_H
#define GMT_PRODUCER_RING_H

/*
 * The ring between one application thread and the writer thread.
 *
 * In the flow: capture -> ring -> writer. Each ring has one producer, the thread that owns it. It
 * has one consumer: the writer, or a reader that opens the file after the process was killed. No
 * locks, no allocation, no system call. A signal handler of the producer may use the ring unless it
 * interrupted gmt_ring_push itself. The guard in thread_state.h prevents that.
 *
 * The caller provides the memory (struct gmt_ring), a shared file mapping. An event is part of the
 * ring as soon as `published` passes it, and stays readable after the process ended. A half-written
 * event is never visible.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared_memory/shared_recording_layout.h"

/* Returns the bytes that a ring of `capacity` events needs. `capacity` must be a power of two. */
uint64_t gmt_ring_size_bytes(uint32_t capacity);

/*
 * Makes an empty ring of the calling thread in `memory` and returns it as a ring. `memory` is
 * 64-byte aligned, gmt_ring_size_bytes(capacity) long, and stays the caller's.
 */
struct gmt_ring *gmt_ring_init(void *memory, uint32_t capacity, uint32_t thread, uint32_t tid);

/*
 * Consumer only. Returns whether gmt_ring_init has finished with this memory and gmt_ring_fini has
 * not been called.
 */
bool gmt_ring_is_initialized(const struct gmt_ring *ring);

/* Consumer only, after the producer has gone. The memory may then become another ring. */
void gmt_ring_fini(struct gmt_ring *ring);

/*
 * Producer only. Returns the slot for the next event. The consumer does not read the slot before
 * gmt_ring_publish. Returns NULL if the ring is full. `capacity` must be ring->capacity: a constant
 * is faster.
 */
static inline struct gmt_ring_event *gmt_ring_next(struct gmt_ring *ring, uint32_t capacity)
{
	/* Only this thread writes `published`, so a relaxed load is exact. */
	uint64_t published = atomic_load_explicit(&ring->published, memory_order_relaxed);

	/*
	 * Reads `consumed` only when the ring seems full. Reading it each time would move its cache
	 * line between the two cores for every event. Pairs with the release in gmt_ring_consume: the
	 * consumer no longer reads a slot that is seen as consumed.
	 */
	if (__builtin_expect(published - ring->consumed_seen == capacity, 0)) {
		ring->consumed_seen = atomic_load_explicit(&ring->consumed, memory_order_acquire);
		if (published - ring->consumed_seen == capacity)
			return NULL;
	}
	return &ring->events[published & (capacity - 1)];
}

/* Returns whether `published` events end another half of a ring of `capacity` events. */
static inline bool gmt_ring_ends_half(uint64_t published, uint32_t capacity)
{
	return (published & (capacity / 2 - 1)) == 0;
}

/*
 * Producer only. Adds the event at gmt_ring_next's slot to the ring. Returns true after every half
 * ring of `capacity` events: the caller then wakes the consumer.
 */
static inline bool gmt_ring_publish(struct gmt_ring *ring, uint32_t capacity)
{
	uint64_t published = atomic_load_explicit(&ring->published, memory_order_relaxed) + 1;

	/*
	 * The event exists from here on. Pairs with the acquire in gmt_ring_event_count. It also orders
	 * the data for a reader that maps the file after a SIGKILL. x86 and ARM write a release store
	 * to memory after the stores that precede it.
	 */
	atomic_store_explicit(&ring->published, published, memory_order_release);
	/*
	 * The writer's core used the next slot last. This fetches its cache line before the next event.
	 */
	__builtin_prefetch(&ring->events[published & (capacity - 1)], 1);
	return gmt_ring_ends_half(published, capacity);
}

/* Producer only. Copies `event` into the ring. Returns false if the ring is full. */
static inline bool gmt_ring_push(struct gmt_ring *ring, const struct gmt_ring_event *event)
{
	struct gmt_ring_event *slot = gmt_ring_next(ring, ring->capacity);

	if (!slot)
		return false;
	*slot = *event;
	gmt_ring_publish(ring, ring->capacity);
	return true;
}

/*
 * Producer only. Returns true after every half ring of `capacity` events: the caller then wakes the
 * consumer.
 */
static inline bool gmt_ring_is_half_way(const struct gmt_ring *ring, uint32_t capacity)
{
	return gmt_ring_ends_half(atomic_load_explicit(&ring->published, memory_order_relaxed),
		capacity);
}

/*
 * Producer only. Counts an event that gmt_ring_push refused and that the caller drops.
 */
void gmt_ring_count_drop(struct gmt_ring *ring, const struct gmt_ring_event *event);

/* Consumer only. Returns the number of waiting events. */
uint64_t gmt_ring_event_count(const struct gmt_ring *ring);

/*
 * Consumer only. Copies at most `limit` of the oldest events to `ret_events`. The events stay in
 * the ring. Returns the number of copied events, 0 if the ring is empty.
 */
uint32_t gmt_ring_peek(const struct gmt_ring *ring, struct gmt_ring_event *ret_events,
	uint32_t limit);

/* Consumer only. Returns the total number of events taken from the ring, plus `count`. */
uint64_t gmt_ring_position_after(const struct gmt_ring *ring, uint32_t count);

/*
 * Consumer only. Frees the slots of the oldest `count` events, which the caller has already stored
 * elsewhere.
 */
void gmt_ring_consume(struct gmt_ring *ring, uint32_t count);

#endif
