/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_SYMBOLS_SYMBOLS_ELF_H
#define GMT_READER_SYMBOLS_SYMBOLS_ELF_H

/*
 * One ELF file: its build-id and its functions. Reads nothing but the headers until functions are
 * asked for; then of the symbol table what may be an answer (reader/symbols/symbols_functions.h). One thread.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct Elf; /* libelf's */
struct gmt_elf;

/* Opens a regular file that is ELF; NULL when it is not, cannot be read, or memory is out. */
struct gmt_elf *gmt_elf_open(const char *path);

/* By which a file that changed is known. */
struct gmt_elf_stamp {
	uint64_t size_bytes;
	int64_t modified_ns; /* of the Unix epoch */
	int64_t changed_ns;  /* likewise, of the inode: nobody can set it */
};

struct gmt_elf_stamp gmt_elf_stamp_of(const struct stat *about);

/* As it was when the file was opened. */
const struct gmt_elf_stamp *gmt_elf_stamp(const struct gmt_elf *elf);

/* Lower-case hexadecimal; "" when the file has none. */
const char *gmt_elf_build_id(const struct gmt_elf *elf);

const char *gmt_elf_path(const struct gmt_elf *elf);

/* Whether it has local functions too (.symtab), or only exported ones. */
bool gmt_elf_has_all_functions(const struct gmt_elf *elf);

/* Whether it has DWARF with lines. */
bool gmt_elf_has_lines(const struct gmt_elf *elf);

/* Whether its DWARF is in part in another file (.gnu_debugaltlink), which may be there or not. */
bool gmt_elf_refers_further(const struct gmt_elf *elf);

/* Whether a file is the Python interpreter, or its library, by its path. */
bool gmt_elf_is_python(const char *path);

/* Says that gmt_elf_find_function will be asked about an address: many that are known before cost one reading. */
void gmt_elf_expect(struct gmt_elf *elf, uint64_t address);

/*
 * The symbol of the function at `address` (as in the file's symbol table), mangled, or NULL. Good
 * as long as the file is open.
 */
const char *gmt_elf_find_function(struct gmt_elf *elf, uint64_t address);

/* libelf's handle, for libdw; stays this file's. */
struct Elf *gmt_elf_handle(const struct gmt_elf *elf);

/* `elf` may be NULL. */
void gmt_elf_close(struct gmt_elf *elf);

#endif
