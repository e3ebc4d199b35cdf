/* SPDX-License-Identifier: MIT */
#include "producer/ring.h"

#include <string.h>
#include <sys/prctl.h>

uint64_t gmt_ring_size_bytes(uint32_t capacity)
{
	return sizeof(struct gmt_ring) + (uint64_t)capacity * sizeof(struct gmt_ring_event);
}

struct gmt_ring *gmt_ring_init(void *memory, uint32_t capacity, uint32_t thread, uint32_t tid)
{
	struct gmt_ring *ring = memory;

	/*
	 * The memory may hold an older ring that a consumer still reads. Invalidates that ring first.
	 */
	atomic_store_explicit(&ring->magic, 0, memory_order_release);
	memset((char *)ring + sizeof(ring->magic), 0, sizeof(*ring) - sizeof(ring->magic));
	ring->capacity = capacity;
	ring->thread = thread;
	ring->tid = tid;
	prctl(PR_GET_NAME, ring->thread_name, 0, 0, 0);
	/* Pairs with the acquire in gmt_ring_is_initialized. */
	atomic_store_explicit(&ring->magic, GMT_RING_MAGIC, memory_order_release);
	return ring;
}

bool gmt_ring_is_initialized(const struct gmt_ring *ring)
{
	return atomic_load_explicit(&ring->magic, memory_order_acquire) == GMT_RING_MAGIC;
}

void gmt_ring_fini(struct gmt_ring *ring)
{
	atomic_store_explicit(&ring->magic, 0, memory_order_relaxed);
}

void gmt_ring_count_drop(struct gmt_ring *ring, const struct gmt_ring_event *event)
{
	_Atomic uint64_t *count = &ring->dropped[gmt_drop_reason_of_ring_kind(event->kind)];

	/*
	 * The ring has one producer, so load and store are enough. A locked add would cost 20 cycles
	 * more.
	 */
	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1,
		memory_order_relaxed);
}

uint64_t gmt_ring_event_count(const struct gmt_ring *ring)
{
	/* Pairs with the release in gmt_ring_publish: all events counted here are complete. */
	uint64_t published = atomic_load_explicit(&ring->published, memory_order_acquire);

	return published - atomic_load_explicit(&ring->consumed, memory_order_relaxed);
}

uint32_t gmt_ring_peek(const struct gmt_ring *ring, struct gmt_ring_event *ret_events,
	uint32_t limit)
{
	uint64_t ready = gmt_ring_event_count(ring);
	uint64_t consumed = atomic_load_explicit(&ring->consumed, memory_order_relaxed);
	uint32_t count = ready < limit ? (uint32_t)ready : limit;
	uint32_t start = (uint32_t)(consumed & (ring->capacity - 1));
	uint32_t before_wrap = ring->capacity - start < count ? ring->capacity - start : count;

	memcpy(ret_events, &ring->events[start], before_wrap * sizeof(*ret_events));
	memcpy(ret_events + before_wrap, &ring->events[0], (count - before_wrap) * sizeof(*ret_events));
	return count;
}

uint64_t gmt_ring_position_after(const struct gmt_ring *ring, uint32_t count)
{
	return atomic_load_explicit(&ring->consumed, memory_order_relaxed) + count;
}

void gmt_ring_consume(struct gmt_ring *ring, uint32_t count)
{
	/*
	 * Pairs with the acquire in gmt_ring_next: the producer may reuse the slots only after the
	 * copies. A reader of the file after a kill finds the content of these slots elsewhere.
	 */
	atomic_store_explicit(&ring->consumed, gmt_ring_position_after(ring, count),
		memory_order_release);
}
