/* SPDX-License-Identifier: MIT */
/*
 * Ring and depot under ThreadSanitizer. Threads push and intern while another thread pops and
 * reads. Threads end, and new threads reuse their rings. No event may be lost, doubled or torn, and
 * no access may race.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../helpers/demand.h"
#include "depot/depot.h"
#include "producer/ring.h"

enum {
	PRODUCERS = 4,
	GENERATIONS = 8,
	EVENTS = 4000,
	CAPACITY = 64,
	STACKS = 200,
	ARENA_BYTES = 16 << 20
};

static struct gmt_depot *depot;
static void *memory[PRODUCERS];
static _Atomic(struct gmt_ring *) rings[PRODUCERS]; /* NULL: free */
static _Atomic bool left[PRODUCERS];
static _Atomic unsigned running;

static void *produce(void *slot_of)
{
	size_t slot = (size_t)slot_of;
	struct gmt_ring *ring = gmt_ring_init(memory[slot], CAPACITY, (uint32_t)slot + 1, 1);

	atomic_store_explicit(&rings[slot], ring, memory_order_release);
	for (uint64_t i = 0; i < EVENTS; i++) {
		uint64_t stack[8] = { i % STACKS, ~(i % STACKS) };
		struct gmt_ring_event event = {
			.stamp = i,
			.address = ~i,
			.stack = gmt_depot_intern(depot, GMT_DEPOT_STACK, stack, sizeof(stack)),
		};

		demand(event.stack != 0, "the depot is full");
		while (!gmt_ring_push(ring, &event))
			sched_yield();
	}
	/* The same order as when a thread leaves a session: after all its pushes. */
	atomic_store_explicit(&left[slot], true, memory_order_release);
	return NULL;
}

static void *come_and_go(void *slot_of)
{
	size_t slot = (size_t)slot_of;

	for (unsigned generation = 0; generation < GENERATIONS; generation++) {
		pthread_t thread;

		while (atomic_load_explicit(&rings[slot], memory_order_acquire))
			sched_yield();
		demand(!pthread_create(&thread, NULL, produce, slot_of), "no thread");
		pthread_join(thread, NULL);
	}
	atomic_fetch_sub(&running, 1);
	return NULL;
}

/* Takes all events of the ring. Checks that each event is complete and follows the previous one. */
static void drain(size_t slot, uint64_t *next)
{
	struct gmt_ring *ring = atomic_load_explicit(&rings[slot], memory_order_acquire);
	struct gmt_ring_event events[16];
	bool is_last = atomic_load_explicit(&left[slot], memory_order_acquire);
	uint32_t count;

	while (ring && (count = gmt_ring_peek(ring, events, 16))) {
		for (uint32_t i = 0; i < count; i++, ++*next) {
			uint64_t stack[8];

			demand(events[i].stamp == *next && events[i].address == ~*next,
				"an event is lost or torn");
			memcpy(stack, gmt_depot_get(depot, events[i].stack) + 1, sizeof(stack));
			demand(stack[0] == *next % STACKS && stack[1] == ~stack[0], "a stack is another one");
		}
		gmt_ring_consume(ring, count);
	}
	if (!ring || !is_last)
		return;
	demand(*next == EVENTS, "a ring was left with events in it");
	*next = 0;
	gmt_ring_fini(ring);
	atomic_store_explicit(&left[slot], false, memory_order_relaxed);
	atomic_store_explicit(&rings[slot], NULL, memory_order_release);
}

int main(void)
{
	static uint64_t next[PRODUCERS];
	pthread_t threads[PRODUCERS];
	void *arena =
		mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool is_empty;

	demand(arena != MAP_FAILED && (depot = gmt_depot_open(arena, ARENA_BYTES, ARENA_BYTES)),
		"no memory");
	atomic_store(&running, PRODUCERS);
	for (size_t i = 0; i < PRODUCERS; i++) {
		memory[i] = aligned_alloc(64, (gmt_ring_size_bytes(CAPACITY) + 63) & ~(uint64_t)63);
		demand(memory[i], "no memory");
		memset(memory[i], 0, gmt_ring_size_bytes(CAPACITY));
		demand(!pthread_create(&threads[i], NULL, come_and_go, (void *)i), "no thread");
	}
	do {
		is_empty = !atomic_load(&running);
		for (size_t i = 0; i < PRODUCERS; i++)
			drain(i, &next[i]);
		sched_yield();
	} while (!is_empty);
	for (size_t i = 0; i < PRODUCERS; i++) {
		pthread_join(threads[i], NULL);
		demand(!next[i] && !atomic_load(&rings[i]), "a ring was not emptied");
		free(memory[i]);
	}
	gmt_depot_close(depot);
	munmap(arena, ARENA_BYTES);
	return 0;
}
