/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_MODULES_H
#define GMT_WRITER_MODULES_H

/*
 * The map of loaded objects, so that the reader can turn addresses into names on any machine. Names
 * and build-ids are read from memory; no file is opened.
 *
 * When an object is unloaded its addresses may be given to another one. So each unloading starts a
 * new generation, stacks carry the generation they were taken in, and what is loaded is noted down
 * before anything goes. A program that loads and unloads for weeks is bounded: what no stack is about is not noted
 * down, what comes back to its place is known, and the map has a last line.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/hidden.h"

/* What that looks at each time: hardly anything of it ever changes. */
extern GMT_HIDDEN struct gmt_modules_use {
	_Atomic uint32_t generation;
	_Atomic uint32_t used_generation; /* the newest that a stack was taken in */
	_Atomic bool is_used_since_scan;
	_Atomic bool is_full;
} gmt_modules_used;

/*
 * The generation that a stack taken now belongs to, from 1; 0: the map is full, and no stack is to be taken. Any
 * thread, each stack.
 */
uint32_t gmt_modules_use(void);

/* The same, where nothing has to be noted down for it; else 0, and that is to be asked. */
static inline uint32_t gmt_modules_use_again(void)
{
	/* Pairs with the release in gmt_modules_unloaded. */
	uint32_t now = atomic_load_explicit(&gmt_modules_used.generation, memory_order_acquire);

	return __builtin_expect(atomic_load_explicit(&gmt_modules_used.used_generation, memory_order_relaxed) == now &&
		atomic_load_explicit(&gmt_modules_used.is_used_since_scan, memory_order_relaxed) &&
		!atomic_load_explicit(&gmt_modules_used.is_full, memory_order_relaxed), 1) ? now : 0;
}

/*
 * Notes down all objects that are loaded and not yet known, where a stack was taken since the last time. Any
 * thread; gives up after a bounded wait when another one is at it. Allocates pages, never the host's heap.
 */
void gmt_modules_scan(void);

/*
 * The same, before objects are unloaded: what is not noted down now has no name for ever. Waits for a second at most, longer with
 * overflow=wait, and leaves a note where that was in vain.
 */
void gmt_modules_scan_before_unload(void);

/* How many objects the loader has unloaded so far; 0 where it does not count. */
uint64_t gmt_modules_unload_count(void);

/* An object was unloaded: a new generation begins, where a stack was taken in this one. */
void gmt_modules_unloaded(void);

struct gmt_module_info {
	uint32_t generation;
	uint64_t start;
	uint64_t end;
	uint64_t bias;
	char build_id[65]; /* hexadecimal */
	char path[1024];
};

/* Copies the known object number `index`; false when there are not that many. */
bool gmt_modules_get(uint32_t index, struct gmt_module_info *ret_module);

/* In the child of a fork: a thread that is not there any more may have held the lock. */
void gmt_modules_reset_lock(void);

#endif
