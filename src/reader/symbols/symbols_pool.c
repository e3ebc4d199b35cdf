/* SPDX-License-Identifier: MIT */
#include "reader/symbols/symbols_pool.h"

#include <string.h>

#include "containers/intern.h"
#include "base/pages.h"
#include "containers/vec.h"

struct gmt_symbols_pool {
	struct gmt_intern paths; /* ids are indexes in `files` */
	GMT_VEC(struct gmt_elf *) files; /* NULL: could not be opened */
};

struct gmt_symbols_pool *gmt_symbols_pool_open(void)
{
	return gmt_pages_grow(NULL, 0, sizeof(struct gmt_symbols_pool));
}

struct gmt_elf *gmt_symbols_pool_get(struct gmt_symbols_pool *pool, const char *path)
{
	uint32_t id;

	if (!pool)
		return gmt_elf_open(path);
	/* Reserve room before the path gets its id: a path with an id must have its file. */
	if (!gmt_vec_reserve(&pool->files, 1) || !gmt_intern_text(&pool->paths, path, &id))
		return NULL;
	if (id == pool->files.count)
		pool->files.items[pool->files.count++] = gmt_elf_open(path);
	return pool->files.items[id];
}

void gmt_symbols_pool_put(struct gmt_symbols_pool *pool, struct gmt_elf *elf)
{
	if (!pool)
		gmt_elf_close(elf);
}

void gmt_symbols_pool_close(struct gmt_symbols_pool *pool)
{
	if (!pool)
		return;
	for (size_t i = 0; i < pool->files.count; i++)
		gmt_elf_close(pool->files.items[i]);
	gmt_vec_fini(&pool->files);
	gmt_intern_fini(&pool->paths);
	gmt_pages_free(pool, sizeof(*pool));
}
