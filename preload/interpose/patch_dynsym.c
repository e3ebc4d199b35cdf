/* SPDX-License-Identifier: MIT */
#include "interpose/patch_dynsym.h"

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/config.h"
#include "hooks/hooks.h"
#include "interpose/dlsym.h"
#include "interpose/originals.h"
#include "interpose/elf_tables.h"
#include "interpose/loaded_objects.h"
#include "interpose/patched_originals.h"
#include "runtime/stages.h"

static struct {
	atomic_flag is_patching;
	_Atomic bool is_read_only; /* a table of libc or of the driver cannot be made writable */
	/* The loader's count of unloads, plus 1, when the driver was last patched; 0: never */
	_Atomic uint64_t patched_at_unload;
} tables = { .is_patching = ATOMIC_FLAG_INIT };

/* A symbol table, and the pages of it that the recorder writes. */
struct table {
	struct gmt_elf_tables tables;
	uintptr_t start; /* of the pages with the replaced symbols */
	uintptr_t end;
	int protection;  /* of the segment that contains them */
};

/* Finds the protection of the segment with the symbols. Returns false if no segment has them. */
static bool find_protection(const struct dl_phdr_info *info, struct table *table)
{
	uint64_t symbols = (uint64_t)table->tables.symbols;

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD || symbols < start || symbols >= start + segment->p_memsz)
			continue;
		table->protection = (segment->p_flags & PF_R ? PROT_READ : 0) |
			(segment->p_flags & PF_W ? PROT_WRITE : 0) | (segment->p_flags & PF_X ? PROT_EXEC : 0);
		return true;
	}
	return false;
}

static bool is_plain_function(const ElfW(Sym) * entry)
{
	return ELF64_ST_TYPE(entry->st_info) == STT_FUNC && entry->st_shndx != SHN_ABS;
}

/* Extends the page range by one symbol, unless the symbol already has its wrapper. */
static int include_entry(const ElfW(Sym) * entry, void *argument)
{
	struct table *table = argument;

	if (!is_plain_function(entry) || gmt_object_self_has(table->tables.base + entry->st_value))
		return 0;

	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)entry & ~(page - 1);
	uintptr_t end = ((uintptr_t)(entry + 1) + page - 1) & ~(page - 1);

	if (!table->end || start < table->start)
		table->start = start;
	if (end > table->end)
		table->end = end;
	return 0;
}

/*
 * Makes the table writable. Executable pages stay executable, because another thread may run code
 * of these pages.
 */
static bool make_writable(const struct table *table)
{
	if (!table->end)
		return false; /* nothing to write */
	if (table->protection & PROT_WRITE)
		return true;

	int kept_errno = errno;
	if (!mprotect((void *)table->start, table->end - table->start, table->protection | PROT_WRITE))
		return true;
	atomic_store(&tables.is_read_only, true);
	errno = kept_errno;
	return false;
}

static void restore_protection(const struct table *table)
{
	int kept_errno = errno;

	if (!(table->protection & PROT_WRITE))
		mprotect((void *)table->start, table->end - table->start, table->protection);
	errno = kept_errno;
}

static void replace_address(const struct table *table, const ElfW(Sym) * entry,
	const void *function)
{
	/*
	 * The loader adds the base again, so the sum wraps around to `function`. A concurrent look-up
	 * sees the old or the new value.
	 */
	__atomic_store_n((ElfW(Addr) *)((uintptr_t)entry + offsetof(ElfW(Sym), st_value)),
		(uint64_t)function - table->tables.base, __ATOMIC_RELEASE);
}

/* One hooked name, while the driver's table is writable. */
struct driver_patch {
	struct table *table;
	unsigned hook;
};

static int patch_function(const ElfW(Sym) * entry, void *argument)
{
	const struct driver_patch *patch = argument;
	uint64_t found = patch->table->tables.base + entry->st_value;

	/* The table already has the wrapper if this process was forked while its parent wrote it. */
	if (!is_plain_function(entry) || gmt_object_self_has(found))
		return 0;
	gmt_patched_originals_set((enum gmt_hook)patch->hook, (void *)found);
	gmt_original_store(patch->hook, (void *)found);
	replace_address(patch->table, entry, gmt_hooks[patch->hook].wrapper);
	return 0;
}

static bool is_driver_hook(unsigned hook)
{
	return gmt_hooks[hook].library == GMT_LIBRARY_CUDA;
}

static int patch_if_driver(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct table table = { 0 };
	struct driver_patch patch = { .table = &table };

	(void)size;
	if (!gmt_path_name_begins_with(info->dlpi_name, "libcuda.so") ||
		!gmt_elf_tables_read(info, &table.tables) || !find_protection(info, &table))
		return 0;
	*(bool *)argument = true;
	for (unsigned hook = GMT_HOOK_NONE + 1; hook < GMT_HOOK_COUNT; hook++)
		if (is_driver_hook(hook))
			gmt_elf_tables_visit(&table.tables, gmt_hooks[hook].symbol, include_entry, &table);
	if (!make_writable(&table))
		return 1;
	for (patch.hook = GMT_HOOK_NONE + 1; patch.hook < GMT_HOOK_COUNT; patch.hook++)
		if (is_driver_hook(patch.hook))
			gmt_elf_tables_visit(&table.tables, gmt_hooks[patch.hook].symbol, patch_function,
				&patch);
	restore_protection(&table);
	return 1; /* A second driver keeps its table. */
}

static int read_unload_count(struct dl_phdr_info *info, size_t size, void *argument)
{
	(void)size;
	*(uint64_t *)argument = info->dlpi_subs + 1;
	return 1;
}

void gmt_dynsym_patch_driver(void)
{
	uint64_t now = 1;
	bool found = false;

	if (!gmt_config.dynsym)
		return;
	gmt_objects_visit(read_unload_count, &now);
	if (atomic_load_explicit(&tables.patched_at_unload, memory_order_acquire) == now ||
		atomic_flag_test_and_set_explicit(&tables.is_patching, memory_order_acquire))
		return;
	gmt_objects_visit(patch_if_driver, &found);
	if (found)
		atomic_store_explicit(&tables.patched_at_unload, now, memory_order_release);
	atomic_flag_clear_explicit(&tables.is_patching, memory_order_release);
}

/* The functions by their private names, because another preload may define the exported names. */
static const struct libc_replacement {
	const char *name;
	const void *function;
} libc_replacements[] = {
	{ "dlsym", gmt_wrap_dlsym },
	{ "dlvsym", gmt_wrap_dlvsym },
	{ "dlerror", (const void *)gmt_wrap_dlerror },
};

enum { LIBC_REPLACEMENTS = sizeof(libc_replacements) / sizeof(*libc_replacements) };

struct libc_patch {
	const struct table *table;
	const void *function;
};

static int patch_libc_function(const ElfW(Sym) * entry, void *argument)
{
	const struct libc_patch *patch = argument;

	if (is_plain_function(entry))
		replace_address(patch->table, entry, patch->function);
	return 0;
}

static int patch_if_libc(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct table table = { 0 };

	(void)size;
	(void)argument;
	if (!gmt_path_name_begins_with(info->dlpi_name, "libc.so.6") ||
		!gmt_elf_tables_read(info, &table.tables) || !find_protection(info, &table))
		return 0;
	for (size_t i = 0; i < LIBC_REPLACEMENTS; i++)
		gmt_elf_tables_visit(&table.tables, libc_replacements[i].name, include_entry, &table);
	if (!make_writable(&table))
		return 1;
	for (size_t i = 0; i < LIBC_REPLACEMENTS; i++) {
		struct libc_patch patch = { &table, libc_replacements[i].function };

		gmt_elf_tables_visit(&table.tables, libc_replacements[i].name, patch_libc_function, &patch);
	}
	restore_protection(&table);
	return 1;
}

void gmt_dynsym_patch_libc(void)
{
	if (gmt_config.dynsym)
		gmt_objects_visit(patch_if_libc, NULL);
}

bool gmt_dynsym_is_read_only(void)
{
	return atomic_load_explicit(&tables.is_read_only, memory_order_relaxed);
}

/* Resets the lock in the child of a fork: the thread that held it does not exist there. */
static void after_fork(void)
{
	atomic_flag_clear(&tables.is_patching);
}

GMT_AT_STAGE(after_fork, INTERPOSE, after_fork);
