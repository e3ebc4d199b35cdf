/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_OBJECT_MAP_H
#define GMT_UNWIND_OBJECT_MAP_H

/*
 * The map of loaded objects (shared libraries and the program), by which the reader turns addresses
 * into names on any machine. The recorder reads names and build-ids from memory and opens no file.
 *
 * After an object is unloaded, another object may get its addresses. So each unload starts a new
 * generation, and each stack carries the generation in which it was taken. The recorder adds all
 * loaded objects to the map before any object is unloaded.
 *
 * The map stays small in a program that loads and unloads for weeks. The recorder does not add an
 * object that no stack can refer to, or an object that returns to its previous place. The map also
 * has a maximum number of rows.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/hidden.h"

/* The data that each stack reads. It hardly ever changes. */
extern GMT_HIDDEN struct gmt_object_map_state {
	_Atomic uint32_t generation;
	_Atomic uint32_t used_generation; /* the newest generation in which a stack was taken */
	_Atomic bool is_used_since_scan;
	_Atomic bool is_full;
} gmt_object_map_state;

/*
 * Returns the generation of a stack that is taken now. Generations begin with 1. Returns 0 if the
 * map is full: the caller then takes no stack. Any thread; called for each stack.
 */
uint32_t gmt_object_map_mark_used(void);

/*
 * Fast path: returns the same if gmt_object_map_mark_used has nothing to store for this stack.
 * Otherwise returns 0, and the caller must call gmt_object_map_mark_used.
 */
static inline uint32_t gmt_object_map_generation_fast(void)
{
	/* Pairs with the release in gmt_object_map_on_unload. */
	uint32_t now = atomic_load_explicit(&gmt_object_map_state.generation, memory_order_acquire);

	return __builtin_expect(atomic_load_explicit(&gmt_object_map_state.used_generation,
								memory_order_relaxed) == now &&
				   atomic_load_explicit(&gmt_object_map_state.is_used_since_scan,
					   memory_order_relaxed) &&
				   !atomic_load_explicit(&gmt_object_map_state.is_full, memory_order_relaxed),
			   1)
		? now
		: 0;
}

/*
 * Adds all loaded objects to the map that are not yet in it. Does nothing if no stack was taken
 * since the last scan. Any thread. Gives up after a bounded wait if another thread holds the lock.
 * Allocates pages, never from the host's heap.
 */
void gmt_object_map_scan(void);

/*
 * Same as above, before objects are unloaded: an object that is not added now never gets a name.
 * Waits for the lock at most one second, or longer with overflow=wait. If the wait fails, adds a
 * note to the recording.
 */
void gmt_object_map_scan_before_unload(void);

/*
 * Returns how many objects the loader has unloaded so far. Returns 0 if the loader does not count.
 */
uint64_t gmt_object_map_unload_count(void);

/* Starts a new generation after an unload, if a stack was taken in the current generation. */
void gmt_object_map_on_unload(void);

struct gmt_object_map_row {
	uint32_t generation;
	uint64_t start;
	uint64_t end;
	uint64_t bias;
	char build_id[65]; /* hexadecimal */
	char path[1024];
};

/*
 * Copies row number `index` of the map. Returns false if the map has fewer rows, or if the lock was
 * not free in time.
 */
bool gmt_object_map_get(uint32_t index, struct gmt_object_map_row *ret_row);

#endif
