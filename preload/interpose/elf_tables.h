/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_ELF_TABLES_H
#define GMT_INTERPOSE_ELF_TABLES_H

/*
 * Reads the symbol tables and hash tables of one loaded object, without the loader. Any thread;
 * allocates nothing; not for the hot path.
 */

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* The needed parts of an object's dynamic section. Valid while the object is loaded. */
struct gmt_elf_tables {
	uint64_t base;
	const ElfW(Dyn) * dynamic;
	const ElfW(Sym) * symbols;
	const char *names;
	const uint32_t *gnu_hash;
	const uint32_t *sysv_hash;
	const char *soname; /* NULL: it has no soname */
};

/* Returns false for an object without a dynamic section or without symbols. */
bool gmt_elf_tables_read(const struct dl_phdr_info *info, struct gmt_elf_tables *ret_tables);

/* Same as above, by the addresses of an object and its dynamic section. */
bool gmt_elf_tables_read_at(uint64_t base, const void *dynamic, struct gmt_elf_tables *ret_tables);

/*
 * Calls `visit` with each definition of `symbol` in one object until it returns a value other than
 * 0. Returns that value, or 0. Each version of a name is a definition.
 */
int gmt_elf_tables_visit(const struct gmt_elf_tables *tables, const char *symbol,
	int (*visit)(const ElfW(Sym) * entry, void *argument), void *argument);

/* Returns the number of symbols, definitions and references. */
uint32_t gmt_elf_tables_symbol_count(const struct gmt_elf_tables *tables);

#endif
