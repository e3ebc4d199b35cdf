/* SPDX-License-Identifier: MIT */
#include "record/modules.h"

#include <elf.h>
#include <link.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "record/session.h"
#include "routes/objects.h"

enum { LOCK_TRIES = 2000, MODULES_MAX = 8192 };

static _Atomic uint32_t generation = 1;
static atomic_flag locked = ATOMIC_FLAG_INIT;
static struct {
	GMT_VEC(struct gmt_module_info) list;
	unsigned long long adds; /* the loader's counters at the last scan */
	unsigned long long subs;
	bool is_full; /* told */
} modules;

uint32_t gmt_modules_generation(void)
{
	/* Pairs with the release in gmt_modules_next_generation. */
	return atomic_load_explicit(&generation, memory_order_acquire);
}

void gmt_modules_next_generation(void)
{
	atomic_fetch_add_explicit(&generation, 1, memory_order_release);
}

static bool has_counters(size_t size)
{
	return size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(((struct dl_phdr_info *)NULL)->dlpi_subs);
}

static int read_unload_count(struct dl_phdr_info *info, size_t size, void *ret_count)
{
	if (has_counters(size))
		*(uint64_t *)ret_count = info->dlpi_subs;
	return 1; /* every object tells the same */
}

uint64_t gmt_modules_unload_count(void)
{
	uint64_t count = 0;

	gmt_objects_visit(read_unload_count, &count);
	return count;
}

static bool lock(void)
{
	for (int tries = 0; tries < LOCK_TRIES; tries++) {
		if (!atomic_flag_test_and_set_explicit(&locked, memory_order_acquire))
			return true;
		sched_yield();
	}
	return false;
}

static void unlock(void)
{
	atomic_flag_clear_explicit(&locked, memory_order_release);
}

void gmt_modules_reset_lock(void)
{
	unlock();
}

static void read_build_id(const ElfW(Phdr) *segment, uint64_t bias, struct gmt_module_info *module)
{
	const char *at = (const char *)(bias + segment->p_vaddr);
	const char *end = at + segment->p_memsz;

	while (at + sizeof(ElfW(Nhdr)) <= end) {
		const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
		const char *name = at + sizeof(*note);
		const unsigned char *value = (const unsigned char *)name + ((note->n_namesz + 3u) & ~3u);

		at = (const char *)value + ((note->n_descsz + 3u) & ~3u);
		if (at > end || note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4 || memcmp(name, "GNU", 4) != 0)
			continue;
		for (unsigned i = 0; i < note->n_descsz && i < sizeof(module->build_id) / 2; i++)
			snprintf(module->build_id + 2 * i, 3, "%02x", value[i]);
		return;
	}
}

static void describe(const struct dl_phdr_info *info, struct gmt_module_info *module)
{
	module->start = UINT64_MAX;
	module->bias = info->dlpi_addr;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t low = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD)
			continue;
		module->start = low < module->start ? low : module->start;
		module->end = low + segment->p_memsz > module->end ? low + segment->p_memsz : module->end;
	}
	for (unsigned i = 0; i < info->dlpi_phnum && !module->build_id[0]; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t low = info->dlpi_addr + segment->p_vaddr;

		/* Only what is mapped can be read. */
		if (segment->p_type == PT_NOTE && low >= module->start && low + segment->p_memsz <= module->end)
			read_build_id(segment, info->dlpi_addr, module);
	}
}

/* The program has no name, and one that was loaded by a relative path is found from here only. */
static void set_path(const char *name, struct gmt_module_info *module)
{
	size_t used = 0;

	if (!name[0]) {
		ssize_t length = readlink("/proc/self/exe", module->path, sizeof(module->path) - 1);

		module->path[length > 0 ? length : 0] = 0;
		return;
	}
	if (name[0] != '/' && strchr(name, '/') && getcwd(module->path, sizeof(module->path) / 2)) {
		used = strlen(module->path);
		module->path[used++] = '/';
	}
	snprintf(module->path + used, sizeof(module->path) - used, "%s", name);
}

static bool is_known(const struct gmt_module_info *module, const char *name)
{
	/* The newest first: an address range may have had several owners. */
	for (size_t i = modules.list.count; i-- > 0;) {
		const struct gmt_module_info *known = &modules.list.items[i];

		if (known->start >= module->end || module->start >= known->end)
			continue;

		const char *base = strrchr(name, '/');
		const char *known_base = strrchr(known->path, '/');
		bool same_name = !name[0] || strcmp(base ? base + 1 : name, known_base ? known_base + 1 : known->path) == 0;

		return known->start == module->start && known->end == module->end && same_name &&
			strcmp(known->build_id, module->build_id) == 0;
	}
	return false;
}

static int note_down(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct gmt_module_info module = { .generation = gmt_modules_generation() };
	bool *first = argument;

	if (*first && has_counters(size)) {
		/* The loader counts its doings: when nothing came or went there is nothing to read. */
		if (modules.list.count && info->dlpi_adds == modules.adds && info->dlpi_subs == modules.subs)
			return 1;
		modules.adds = info->dlpi_adds;
		modules.subs = info->dlpi_subs;
	}
	*first = false;

	describe(info, &module);
	if (module.end && !is_known(&module, info->dlpi_name)) {
		/* A program that loads objects at new addresses for weeks would fill the memory with them. */
		if (modules.list.count == MODULES_MAX) {
			if (!modules.is_full)
				gmt_session_note("so many objects were loaded that the later ones have no names");
			modules.is_full = true;
			return 1;
		}
		set_path(info->dlpi_name, &module);

		struct gmt_module_info *added = gmt_vec_push(&modules.list);
		if (added)
			*added = module;
	}
	return 0;
}

void gmt_modules_scan(void)
{
	bool first = true;

	if (!lock())
		return;
	gmt_objects_visit(note_down, &first);
	unlock();
}

bool gmt_modules_get(uint32_t index, struct gmt_module_info *ret_module)
{
	bool found = false;

	if (!lock())
		return false;
	if (index < modules.list.count) {
		*ret_module = modules.list.items[index];
		found = true;
	}
	unlock();
	return found;
}
