/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_SYMBOLS_SYMBOLS_DWARF_H
#define GMT_READER_SYMBOLS_SYMBOLS_DWARF_H

/*
 * Lines and inlined functions from a file's DWARF. Opening reads only the table of which
 * compilation unit has which addresses, or later, where that does not say, all units; a unit's functions are listed when an
 * address in it is first asked for. One thread.
 */

#include <stddef.h>
#include <stdint.h>

struct Elf;
struct gmt_dwarf;

struct gmt_dwarf_frame {
	const char *function; /* as the linker names it where DWARF says, else as the source; may be NULL */
	const char *file;     /* may be NULL */
	uint32_t line;        /* 0: not known */
};

/* Reads `elf`, which must stay open; NULL when it has no DWARF or memory is out. */
struct gmt_dwarf *gmt_dwarf_open(struct Elf *elf);

/*
 * The frames at `address`, innermost inlined function first, the real function last; at most
 * `limit` (the innermost ones). Returns how many; 0 when DWARF does not know the address. Strings
 * are good until gmt_dwarf_close.
 */
size_t gmt_dwarf_find(struct gmt_dwarf *dwarf, uint64_t address, struct gmt_dwarf_frame *ret_frames,
	size_t limit);

/* `dwarf` may be NULL. */
void gmt_dwarf_close(struct gmt_dwarf *dwarf);

#endif
