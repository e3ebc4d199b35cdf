/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_SYMBOLS_SYMBOLS_ELF_H
#define GMT_READER_SYMBOLS_SYMBOLS_ELF_H

/*
 * One ELF file: its build-id and its functions. Reads only the headers until the first query for a
 * function. Then reads the part of the symbol table that may be needed (symbols_functions.h).
 *
 * For one thread.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct Elf; /* libelf's */
struct gmt_symbols_elf;

/*
 * Opens a regular ELF file. Returns NULL if it is not one or is unreadable, or when out of memory.
 */
struct gmt_symbols_elf *gmt_symbols_elf_open(const char *path);

/* Identifies the contents of a file: changes if the file changes. */
struct gmt_symbols_elf_stamp {
	uint64_t size_bytes;
	int64_t modified_ns; /* since the Unix epoch */
	int64_t changed_ns;  /* since the Unix epoch; change of the inode: programs cannot set it */
};

struct gmt_symbols_elf_stamp gmt_symbols_elf_stamp_of(const struct stat *status);

/* Returns the stamp of the file at the time it was opened. */
const struct gmt_symbols_elf_stamp *gmt_symbols_elf_stamp(const struct gmt_symbols_elf *elf);

/* Returns the build-id in lower-case hexadecimal, or "" if the file has no build-id. */
const char *gmt_symbols_elf_build_id(const struct gmt_symbols_elf *elf);

/* Returns whether the file also has local functions (.symtab), not only exported functions. */
bool gmt_symbols_elf_has_all_functions(const struct gmt_symbols_elf *elf);

/* Returns whether the file has DWARF with lines. */
bool gmt_symbols_elf_has_lines(const struct gmt_symbols_elf *elf);

/*
 * Returns whether part of its DWARF is in another file (.gnu_debugaltlink), which may exist or not.
 */
bool gmt_symbols_elf_has_altlink(const struct gmt_symbols_elf *elf);

/* Returns whether a file is the Python interpreter or its library, according to its path. */
bool gmt_symbols_elf_is_python(const char *path);

/*
 * Announces a query of gmt_symbols_elf_find_function for an address. All announced addresses
 * together cost one read.
 */
void gmt_symbols_elf_expect(struct gmt_symbols_elf *elf, uint64_t address);

/*
 * Returns the mangled symbol of the function at `address` (as in the file's symbol table), or NULL.
 * Valid while the file is open.
 */
const char *gmt_symbols_elf_find_function(struct gmt_symbols_elf *elf, uint64_t address);

/* Returns libelf's handle, for libdw. It still belongs to `elf`. */
struct Elf *gmt_symbols_elf_handle(const struct gmt_symbols_elf *elf);

/* Closes the file. `elf` may be NULL. */
void gmt_symbols_elf_close(struct gmt_symbols_elf *elf);

#endif
