/* SPDX-License-Identifier: MIT */
#ifndef GMT_CONTAINERS_VEC_H
#define GMT_CONTAINERS_VEC_H

/*
 * A growing array of any type: struct { GMT_VEC(struct gmt_frame) frames; }. Zero-initialise to make
 * one, gmt_vec_fini to give the memory back. Addresses of items move when it grows. One thread.
 */

#include <stdbool.h>
#include <stddef.h>

#define GMT_VEC(type) \
	struct { \
		type *items; \
		size_t count; \
		size_t capacity; \
	}

/* Room for `extra` more items; false, and nothing changed, when out of memory. */
#define gmt_vec_reserve(vec, extra) \
	((size_t)(extra) <= (vec)->capacity - (vec)->count || \
		gmt_vec_reserve_bytes((void **)&(vec)->items, &(vec)->capacity, (vec)->count, (extra), \
			sizeof(*(vec)->items)))

/*
 * Appends an item and yields its address, or NULL when out of memory. It is zero where the vector never
 * was longer; after `count` was set back it holds what was there.
 */
#define gmt_vec_push(vec) \
	(gmt_vec_reserve((vec), 1) ? &(vec)->items[(vec)->count++] : NULL)

/* The address of an item, or of what would be behind the last one; NULL where there never was any. */
#define gmt_vec_at(vec, index) ((vec)->items ? &(vec)->items[index] : NULL)

#define gmt_vec_fini(vec) \
	gmt_vec_free_bytes((void **)&(vec)->items, &(vec)->count, &(vec)->capacity, sizeof(*(vec)->items))

bool gmt_vec_reserve_bytes(void **items, size_t *capacity, size_t count, size_t extra, size_t item_bytes);
void gmt_vec_free_bytes(void **items, size_t *count, size_t *capacity, size_t item_bytes);

#endif
