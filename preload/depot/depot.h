/* SPDX-License-Identifier: MIT */
#ifndef GMT_DEPOT_DEPOT_H
#define GMT_DEPOT_DEPOT_H

/*
 * The depot keeps one copy of everything that events refer to by number: native stacks, Python
 * stacks, Python frames, Python functions, names of marks. In the flow: capture -> depot -> (id in
 * the event) -> writer. The writer looks an id up when an event names it for the first time.
 *
 * Any thread may intern at any time, also several threads at once: no lock, no allocation, no
 * system call. Entries never move, change or disappear. They lie in memory that the caller
 * provides, usually a shared file mapping. An entry is complete before its id is returned, so
 * before any event with this id is published. It stays readable after the process was killed.
 *
 * The hash table that finds equal entries is private to the process. Its loss loses no data.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared_memory/depot_entry.h"

struct gmt_depot;

/* Limit for all entries, so that a table of offsets needs only 32 bits. */
#define GMT_DEPOT_MAX_BYTES ((uint64_t)8 << 30)

/*
 * Makes a depot in `arena` (zeroed, 8-byte aligned). `ready_bytes` may be written now, up to
 * `size_bytes` after gmt_depot_set_ready. Returns NULL if there is no memory for its hash table.
 * The arena stays the caller's.
 */
struct gmt_depot *gmt_depot_open(void *arena, uint64_t size_bytes, uint64_t ready_bytes);

/* Frees the table. Ids become meaningless. No other thread may still use the depot. */
void gmt_depot_close(struct gmt_depot *depot);

/* Makes more of the arena writable. The writer allocates file space ahead of its use. */
void gmt_depot_set_ready(struct gmt_depot *depot, uint64_t ready_bytes);

/*
 * Sets a function that is called once, when the arena has more than `used_bytes` in use. The
 * interning thread calls it. `work` must keep errno. Call this before the depot is used.
 */
void gmt_depot_set_high_water_callback(struct gmt_depot *depot, uint64_t used_bytes,
	void (*work)(void));

uint64_t gmt_depot_used_bytes(const struct gmt_depot *depot);

/*
 * Returns the id of the entry with these `length` bytes. Makes the entry if it is new. Returns 0 if
 * the arena or the table is full: the caller counts a lost stack and still records the event. Equal
 * bytes of one kind always give one id. If two threads add the same entry at the same moment, both
 * get the id of the same copy.
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
