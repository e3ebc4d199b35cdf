/* SPDX-License-Identifier: MIT */
#ifndef GMT_CAPTURE_DEPOT_H
#define GMT_CAPTURE_DEPOT_H

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

enum gmt_depot_kind {
	GMT_DEPOT_STACK = 1, /* struct gmt_depot_stack */
	GMT_DEPOT_FRAMES,    /* struct gmt_depot_frames */
	GMT_DEPOT_FRAME,     /* struct gmt_depot_frame */
	GMT_DEPOT_CODE,      /* struct gmt_depot_code */
	GMT_DEPOT_NAME,      /* text */
};

/* A native stack. */
struct gmt_depot_stack {
	uint32_t generation; /* of the module map; equal addresses of another generation are another stack */
	uint32_t truncated;  /* 1: cut at the depth limit */
	uint64_t addresses[]; /* leaf first */
};

/* A Python stack. */
struct gmt_depot_frames {
	uint32_t truncated;
	uint32_t items[]; /* leaf first; frame id * 2 + entry bit (records.def, `frames`) */
};

struct gmt_depot_frame {
	uint32_t code; /* id */
	uint32_t line; /* 0: not known */
};

struct gmt_depot_code {
	uint32_t first_line;
	uint32_t function_length;
	uint32_t file_length;
	char text[]; /* function, then file; UTF-8, no NULs */
};

/* What stands in the arena before each entry's bytes; 8-byte aligned. */
struct gmt_depot_entry {
	uint32_t length; /* of the bytes behind, without padding */
	uint8_t kind;
	uint8_t reserved[3];
	_Atomic uint32_t file_id; /* the writer's own mark: what the file calls it; 0: not written yet */
	uint32_t hash;
};

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

/* Bytes of the arena in use. */
uint64_t gmt_depot_used_bytes(const struct gmt_depot *depot);

/*
 * The id of the entry with these `length` bytes, made when it is new. 0 when the arena or the table
 * is full: the caller counts that as a lost stack, the event itself goes on. Equal bytes of a kind
 * always give one id, except that two threads which add the same entry at the same moment agree on
 * one of the two copies.
 */
uint32_t gmt_depot_intern(struct gmt_depot *depot, enum gmt_depot_kind kind, const void *bytes, uint32_t length);

/* The entry of an id that gmt_depot_intern returned; its bytes follow it. */
struct gmt_depot_entry *gmt_depot_get(const struct gmt_depot *depot, uint32_t id);

#endif
