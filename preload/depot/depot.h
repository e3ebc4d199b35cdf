/* SPDX-License-Identifier: MIT */
#ifndef GMT_DEPOT_DEPOT_H
#define GMT_DEPOT_DEPOT_H

/*
 * The depot keeps one copy of everything that events refer to by number: native stacks, Python
 * stacks, Python frames, Python functions, names of marks. A thread interns a stack and puts its id
 * into the event. The writer looks an id up when the id first appears in an event.
 *
 * Any thread may intern at any time: without a lock, an allocation or a system call. Entries never
 * move, change or disappear. They lie in memory that the caller provides, usually a shared file
 * mapping, and stay readable after the process was killed. An entry is complete before its id is
 * returned, so before any thread publishes an event with this id.
 *
 * The hash table that finds equal entries is private to the process. The data does not need it.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared_memory/depot_entry.h"

struct gmt_depot;

/* Most bytes of all entries together, so that an id needs only 32 bits. */
#define GMT_DEPOT_MAX_BYTES ((uint64_t)8 << 30)

/*
 * Makes a depot in `arena` (zeroed, 8-byte aligned, `size_bytes` long). The depot writes only to
 * the first `ready_bytes`; see gmt_depot_set_ready. Returns NULL if there is no memory for the hash
 * table. The arena stays the caller's.
 */
struct gmt_depot *gmt_depot_open(void *arena, uint64_t size_bytes, uint64_t ready_bytes);

/* Frees the hash table. No other thread may still use the depot. */
void gmt_depot_close(struct gmt_depot *depot);

/* Lets the depot use more of the arena. The writer allocates file space before that. */
void gmt_depot_set_ready(struct gmt_depot *depot, uint64_t ready_bytes);

/*
 * Sets a function that an interning thread calls once, when the depot uses more than `used_bytes`.
 * `work` must not change errno. Call this function before the depot is used.
 */
void gmt_depot_set_high_water_callback(struct gmt_depot *depot, uint64_t used_bytes,
	void (*work)(void));

uint64_t gmt_depot_used_bytes(const struct gmt_depot *depot);

/*
 * Returns the id of the entry with these `length` bytes. Makes the entry if it is new. Equal bytes
 * of one kind always have the same id, also if two threads add them at the same time. Returns 0 if
 * the arena or the table is full: the caller then counts a lost stack and still records the event.
 */
uint32_t gmt_depot_intern(struct gmt_depot *depot, enum gmt_depot_kind kind, const void *bytes,
	uint32_t length);

/*
 * Same as above, with a hash that the caller computes. All entries of one kind must use the same
 * hash function.
 */
uint32_t gmt_depot_intern_hashed(struct gmt_depot *depot, enum gmt_depot_kind kind,
	const void *bytes, uint32_t length, uint64_t hash);

/* Returns the entry of an id from gmt_depot_intern. The entry's bytes follow it. */
struct gmt_depot_entry *gmt_depot_get(const struct gmt_depot *depot, uint32_t id);

#endif
