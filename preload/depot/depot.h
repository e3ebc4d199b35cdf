/* SPDX-License-Identifier: MIT */
#ifndef GMT_DEPOT_DEPOT_H
#define GMT_DEPOT_DEPOT_H

/*
 * The depot keeps one copy of everything that events refer to by number: native stacks, Python
 * stacks, Python frames, Python functions, names of marks. In the flow: capture -> depot -> (id in the event) ->
 * writer, which looks an id up when an event first names it.
 *
 * Any thread may intern at any time, also several at once: no lock, no allocation, no system call.
 * Entries never move, change or go away. They lie in memory that the caller gives, meant to be a
 * shared file mapping: an entry is whole before its id is returned, so before any event that names
 * it is published, and stays readable when the process was killed.
 *
 * The hash table that finds equal entries is private to the process; losing it loses nothing.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared_memory/depot_entry.h"

struct gmt_depot;

/* Entries are limited to this, so that a table of offsets has 32 bits. */
#define GMT_DEPOT_MAX_BYTES ((uint64_t)8 << 30)

/*
 * Makes a depot over `arena` (zeroed, 8-byte aligned), of which `ready_bytes` may be written now and
 * `size_bytes` after gmt_depot_set_ready. Returns NULL when memory for its hash table cannot be had.
 * The arena stays the caller's.
 */
struct gmt_depot *gmt_depot_open(void *arena, uint64_t size_bytes, uint64_t ready_bytes);

/* Frees the table; ids become meaningless. No other thread may still use the depot. */
void gmt_depot_close(struct gmt_depot *depot);

/* More of the arena may be written (the writer allocates file space ahead of use). */
void gmt_depot_set_ready(struct gmt_depot *depot, uint64_t ready_bytes);

/*
 * `work` is called once, when more than `used_bytes` of the arena are in use, by the thread that interns. It keeps errno. Before the
 * depot is used.
 */
void gmt_depot_call_at(struct gmt_depot *depot, uint64_t used_bytes, void (*work)(void));

/* Bytes of the arena in use. */
uint64_t gmt_depot_used_bytes(const struct gmt_depot *depot);

/*
 * The id of the entry with these `length` bytes, made when it is new. 0 when the arena or the table
 * is full: the caller counts that as a lost stack, the event itself goes on. Equal bytes of a kind
 * always give one id, except that two threads which add the same entry at the same moment agree on
 * one of the two copies.
 */
uint32_t gmt_depot_intern(struct gmt_depot *depot, enum gmt_depot_kind kind, const void *bytes, uint32_t length);

/* The same, by a hash of the caller's own: all entries of that kind must have it. */
uint32_t gmt_depot_intern_hashed(struct gmt_depot *depot, enum gmt_depot_kind kind, const void *bytes, uint32_t length,
	uint64_t hash);

/* The entry of an id that gmt_depot_intern returned; its bytes follow it. */
struct gmt_depot_entry *gmt_depot_get(const struct gmt_depot *depot, uint32_t id);

#endif
