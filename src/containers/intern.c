/* SPDX-License-Identifier: MIT */
#include "containers/intern.h"

#include <assert.h>
#include <string.h>

bool gmt_intern(struct gmt_intern *intern, const void *bytes, size_t length, uint32_t *ret_id)
{
	uint64_t hash = gmt_hash_bytes(bytes, length);
	uint64_t newest;
	uint32_t next_plus_1 = 0;

	if (length > UINT32_MAX - 1 || intern->entries.count >= UINT32_MAX - 1)
		return false;
	if (gmt_map_find(&intern->ids, hash, &newest)) {
		next_plus_1 = (uint32_t)newest + 1;
		for (uint32_t at = next_plus_1; at; at = intern->entries.items[at - 1].next_plus_1) {
			const struct gmt_interned *entry = &intern->entries.items[at - 1];

			if (entry->length == length && (!length || memcmp(entry->bytes, bytes, length) == 0)) {
				*ret_id = at - 1;
				return true;
			}
		}
	}

	const char *copy = gmt_arena_copy(&intern->arena, bytes, length);
	struct gmt_interned *entry = copy ? gmt_vec_push(&intern->entries) : NULL;
	if (!entry)
		return false;

	uint32_t id = (uint32_t)intern->entries.count - 1;
	*entry = (struct gmt_interned){
		.bytes = copy,
		.length = (uint32_t)length,
		.next_plus_1 = next_plus_1,
	};
	if (!gmt_map_put(&intern->ids, hash, id)) {
		intern->entries.count--;
		return false;
	}
	*ret_id = id;
	return true;
}

bool gmt_intern_text(struct gmt_intern *intern, const char *text, uint32_t *ret_id)
{
	return gmt_intern(intern, text, strlen(text), ret_id);
}

const struct gmt_interned *gmt_intern_get(const struct gmt_intern *intern, uint32_t id)
{
	assert(id < intern->entries.count);
	return &intern->entries.items[id];
}

void gmt_intern_fini(struct gmt_intern *intern)
{
	gmt_vec_fini(&intern->entries);
	gmt_map_fini(&intern->ids);
	gmt_arena_fini(&intern->arena);
}
