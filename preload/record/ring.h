/* SPDX-License-Identifier: MIT */
#ifndef GMT_RECORD_RING_H
#define GMT_RECORD_RING_H

/*
 * The ring between one application thread and the writer thread.
 *
 * In the flow: capture -> ring -> writer. One ring per thread, one producer (the thread that owns
 * it) and one consumer (the writer, or a reader that opens the file after the process was killed).
 * No locks, no allocation, no system call; safe in a signal handler of the producer only if the
 * handler did not interrupt gmt_ring_push itself (thread.h's guard ensures it).
 *
 * The memory is given by the caller and is a shared file mapping: an event is part of the ring from
 * the moment at which `published` passes it, and stays readable when the process is gone. Nothing
 * half-written is ever visible.
 */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/ring_event.h"

enum { GMT_RING_MAGIC = 0x31474e52 }; /* "RNG1" in the file, little endian */

/*
 * Layout in the file. Producer and consumer words stand on cache lines of their own: with both on
 * one line, each push would take the line away from the writer's core and back.
 */
struct gmt_ring {
	_Atomic uint32_t magic;            /* set last: the ring is whole */
	uint32_t capacity;                 /* events; a power of two */
	uint32_t thread;                   /* what the file calls the thread */
	uint32_t tid;                      /* kernel's, for the report */
	char thread_name[16];              /* at its first event */
	alignas(64) _Atomic uint64_t published; /* events ever pushed; written by the producer */
	uint64_t consumed_seen;            /* what the producer last saw of `consumed` */
	_Atomic uint64_t dropped;          /* events refused because the ring was full; producer */
	alignas(64) _Atomic uint64_t consumed;  /* events ever taken; written by the consumer */
	alignas(64) struct gmt_ring_event events[];
};

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

/* Producer only. Copies `event` in; false when the ring is full. */
bool gmt_ring_push(struct gmt_ring *ring, const struct gmt_ring_event *event);

/* Producer only. Counts an event that gmt_ring_push refused and nobody will offer again. */
void gmt_ring_count_drop(struct gmt_ring *ring);

/* Producer only. True once every half a ring of events: time to wake the consumer. */
bool gmt_ring_is_half_way(const struct gmt_ring *ring);

/* Consumer only. Events that wait. */
uint64_t gmt_ring_ready(const struct gmt_ring *ring);

/*
 * Consumer only. Copies at most `limit` of the oldest events to `ret_events` and frees their
 * slots. Returns how many; 0 when the ring is empty.
 */
uint32_t gmt_ring_pop(struct gmt_ring *ring, struct gmt_ring_event *ret_events, uint32_t limit);

#endif
