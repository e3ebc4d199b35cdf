/* SPDX-License-Identifier: MIT */
#ifndef GMT_CONTAINERS_VEC_H
#define GMT_CONTAINERS_VEC_H

/*
 * A growing array of any type: struct { GMT_VEC(struct gmt_frame) frames; }. Zero-initialise before
 * use; gmt_vec_fini frees the memory. Addresses of items change when the array grows. One thread.
 */

#include <stdbool.h>
#include <stddef.h>

#define GMT_VEC(type) \
	struct { \
		type *items; \
		size_t count; \
		size_t capacity; \
	}

/* Makes room for `extra` more items. Yields false when out of memory; then nothing has changed. */
#define gmt_vec_reserve(vec, extra) \
	((size_t)(extra) <= (vec)->capacity - (vec)->count || \
		gmt_vec_reserve_bytes((void **)&(vec)->items, &(vec)->capacity, (vec)->count, (extra), \
			sizeof(*(vec)->items)))

/*
 * Appends an item and yields its address, or NULL when out of memory. The item is zero if the
 * vector never was this long before. If `count` was reduced, the item holds its old content.
 */
#define gmt_vec_push(vec) (gmt_vec_reserve((vec), 1) ? &(vec)->items[(vec)->count++] : NULL)

/*
 * Makes the array at least `new_count` items long. Yields false when out of memory. The new items
 * are zero if the vector never was this long before.
 */
#define gmt_vec_grow_to(vec, new_count) \
	((size_t)(new_count) <= (vec)->count || \
		(gmt_vec_reserve((vec), (size_t)(new_count) - (vec)->count) && \
			((vec)->count = (new_count), true)))

/*
 * Yields the address of an item, or the address after the last item; NULL if the vector never held
 * an item.
 */
#define gmt_vec_at(vec, index) ((vec)->items ? &(vec)->items[index] : NULL)

#define gmt_vec_fini(vec) \
	gmt_vec_free_bytes((void **)&(vec)->items, &(vec)->count, &(vec)->capacity, \
		sizeof(*(vec)->items))

bool gmt_vec_reserve_bytes(void **items, size_t *capacity, size_t count, size_t extra,
	size_t item_bytes);
void gmt_vec_free_bytes(void **items, size_t *count, size_t *capacity, size_t item_bytes);

#endif
