/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_SYMBOLS_SYMBOLS_DWARF_H
#define GMT_READER_SYMBOLS_SYMBOLS_DWARF_H

/*
 * Finds lines and inlined functions in a file's DWARF. Opening reads only the table from addresses
 * to compilation units. If the table lacks an address, all units are read. The functions of a unit
 * are listed on the first query for an address in it.
 *
 * For one thread.
 */

#include <stddef.h>
#include <stdint.h>

struct Elf;
struct gmt_symbols_dwarf;

struct gmt_symbols_dwarf_frame {
	/* the linker's name if DWARF has it, else the name in the source; may be NULL */
	const char *function;
	const char *file;     /* may be NULL */
	uint32_t line;        /* 0: unknown */
};

/* Reads `elf`, which must stay open. Returns NULL if it has no DWARF, or when out of memory. */
struct gmt_symbols_dwarf *gmt_symbols_dwarf_open(struct Elf *elf);

/*
 * Fills the frames at `address`: innermost inlined function first, real function last. If there are
 * more than `limit`, fills the innermost frames. Returns the number of frames, or 0 if DWARF lacks
 * the address. Strings are valid until gmt_symbols_dwarf_close.
 */
size_t gmt_symbols_dwarf_find(struct gmt_symbols_dwarf *dwarf, uint64_t address,
	struct gmt_symbols_dwarf_frame *ret_frames, size_t limit);

/* Closes the DWARF. `dwarf` may be NULL. */
void gmt_symbols_dwarf_close(struct gmt_symbols_dwarf *dwarf);

#endif
