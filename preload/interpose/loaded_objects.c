/* SPDX-License-Identifier: MIT */
#include "interpose/loaded_objects.h"

#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "runtime/bounded_wait.h"
#include "interpose/elf_tables.h"
#include "runtime/stages.h"

enum { HOLD_WAIT_NS = 100000000 };

struct gmt_object gmt_object_own;

static atomic_flag visiting = ATOMIC_FLAG_INIT;
/* Depth of the thread's nested visits. Only the outermost visit takes the flag. */
static __thread int visit_depth __attribute__((tls_model("initial-exec")));

void gmt_objects_block_visits(void)
{
	struct gmt_bounded_wait wait = gmt_bounded_wait_begin(HOLD_WAIT_NS);

	while (atomic_flag_test_and_set_explicit(&visiting, memory_order_acquire))
		if (!gmt_bounded_wait_rest(&wait))
			return;
}

void gmt_objects_allow_visits(void)
{
	atomic_flag_clear_explicit(&visiting, memory_order_release);
}

typedef int iterate_function(int (*visit)(struct dl_phdr_info *info, size_t size, void *argument),
	void *argument);

static int take_first_entry(const ElfW(Sym) * entry, void *argument)
{
	*(const ElfW(Sym) **)argument = entry;
	return 1;
}

/*
 * Finds libc's own dl_iterate_phdr, even if another library replaces it. ThreadSanitizer's runtime
 * replaces it and looks up names during its own initialization. Until that is done, its version
 * jumps to address 0. Reads the loader's list without a lock: libc is in it from the start.
 */
static iterate_function *find_dl_iterate_phdr(void)
{
	static iterate_function *_Atomic found;
	iterate_function *iterate = atomic_load_explicit(&found, memory_order_relaxed);

	for (struct link_map *object = _r_debug.r_map; object && !iterate; object = object->l_next) {
		struct gmt_elf_tables tables;
		const ElfW(Sym) *entry = NULL;

		if (!object->l_name || !gmt_path_name_begins_with(object->l_name, "libc.so.6") ||
			!gmt_elf_tables_read_at(object->l_addr, object->l_ld, &tables))
			continue;
		gmt_elf_tables_visit(&tables, "dl_iterate_phdr", take_first_entry, &entry);
		if (entry)
			iterate = (iterate_function *)(tables.base + entry->st_value);
	}
	if (!iterate)
		iterate = dl_iterate_phdr;
	atomic_store_explicit(&found, iterate, memory_order_relaxed);
	return iterate;
}

void gmt_objects_visit(int (*visit)(struct dl_phdr_info *info, size_t size, void *argument),
	void *argument)
{
	if (!visit_depth++)
		gmt_objects_block_visits();
	find_dl_iterate_phdr()(visit, argument);
	if (!--visit_depth)
		gmt_objects_allow_visits();
}

struct search {
	uint64_t address;
	struct gmt_object *found;
	uint32_t order;
	bool is_found;
};

/* Returns whether the object contains `address`, and the range of its addresses. */
static bool contains(const struct dl_phdr_info *info, uint64_t address, uint64_t *ret_start,
	uint64_t *ret_end)
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

static int compare_object(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct search *search = argument;
	uint64_t start, end;

	(void)size;
	if (contains(info, search->address, &start, &end)) {
		search->found->start = start;
		search->found->end = end;
		/* glibc lists the program first, with an empty name. */
		search->found->is_program = search->order == 0;
		search->found->order = search->order;
		strncpy(search->found->path, info->dlpi_name, GMT_OBJECT_PATH_BYTES - 1);
		search->found->path[GMT_OBJECT_PATH_BYTES - 1] = 0;
		search->is_found = true;
		return 1;
	}
	search->order++;
	return 0;
}

bool gmt_object_find(const void *address, struct gmt_object *ret_object)
{
	struct search search = { .address = (uint64_t)address, .found = ret_object };

	gmt_objects_visit(compare_object, &search);
	return search.is_found;
}

void gmt_object_find_own(void)
{
	gmt_object_find((const void *)gmt_object_find_own, &gmt_object_own);
}

GMT_AT_STAGE(after_fork, INTERPOSE, gmt_objects_allow_visits);
GMT_AT_STAGE(before_fork, INTERPOSE, gmt_objects_block_visits);
GMT_AT_STAGE(fork_parent, INTERPOSE, gmt_objects_allow_visits);
