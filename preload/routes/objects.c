/* SPDX-License-Identifier: MIT */
#include "routes/objects.h"

#include <link.h>
#include <stdatomic.h>
#include <string.h>

struct search {
	uint64_t address;
	struct gmt_object *found;
	bool is_first;
	bool done;
};

static bool covers(const struct dl_phdr_info *info, uint64_t address, uint64_t *ret_start, uint64_t *ret_end)
{
	uint64_t start = UINT64_MAX, end = 0;

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD)
			continue;
		uint64_t low = info->dlpi_addr + segment->p_vaddr;
		start = low < start ? low : start;
		end = low + segment->p_memsz > end ? low + segment->p_memsz : end;
	}
	*ret_start = start;
	*ret_end = end;
	return address >= start && address < end;
}

static int look_at(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct search *search = argument;
	uint64_t start, end;

	(void)size;
	if (covers(info, search->address, &start, &end)) {
		search->found->start = start;
		search->found->end = end;
		/* glibc lists the program first, under an empty name. */
		search->found->is_program = search->is_first;
		strncpy(search->found->path, info->dlpi_name, GMT_OBJECT_PATH_BYTES - 1);
		search->found->path[GMT_OBJECT_PATH_BYTES - 1] = 0;
		search->done = true;
		return 1;
	}
	search->is_first = false;
	return 0;
}

bool gmt_object_of(const void *address, struct gmt_object *ret_object)
{
	struct search search = { .address = (uint64_t)address, .found = ret_object, .is_first = true };

	dl_iterate_phdr(look_at, &search);
	return search.done;
}

const struct gmt_object *gmt_object_self(void)
{
	static struct gmt_object self;
	static _Atomic int ready; /* 0 unknown, 1 being filled, 2 filled */
	struct gmt_object mine;

	/* Pairs with the release below. */
	if (atomic_load_explicit(&ready, memory_order_acquire) == 2)
		return &self;

	int expected = 0;
	gmt_object_of((const void *)gmt_object_self, &mine);
	if (atomic_compare_exchange_strong(&ready, &expected, 1)) {
		self = mine;
		atomic_store_explicit(&ready, 2, memory_order_release);
	}
	while (atomic_load_explicit(&ready, memory_order_acquire) != 2)
		;
	return &self;
}

bool gmt_path_names(const char *path, const char *prefix)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, prefix, strlen(prefix)) == 0;
}
