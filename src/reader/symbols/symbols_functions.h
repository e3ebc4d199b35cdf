/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_SYMBOLS_SYMBOLS_FUNCTIONS_H
#define GMT_READER_SYMBOLS_SYMBOLS_FUNCTIONS_H

/*
 * The functions of one file's symbol table. In the flow: symbol table -> functions -> symbols_elf. A report asks for
 * some hundred addresses of libraries with hundreds of thousands of functions, so only those are kept that begin near
 * an address that is asked for: the table is passed over once to count what begins where, and once to take what may
 * be an answer. Names are not looked at before: their pages are the most of such a file. One thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/vec.h"

struct Elf; /* libelf's */

struct gmt_symbols_function {
	uint64_t start;
	uint32_t size_bytes; /* 0: not said, reaches to the next one */
	uint32_t order;      /* of several at one address the highest is shown */
	uint32_t name;       /* in the section of strings */
	uint32_t names;      /* that section */
};

/* Pieces of a file's addresses, equally long, with a byte for each. */
struct gmt_symbols_cells {
	uint8_t *bytes; /* NULL: nothing was read yet */
	size_t count;
	unsigned shift; /* from an address to its cell */
	uint64_t end;   /* addresses behind are in the last cell */
};

/* Zero-initialise to make one. */
struct gmt_symbols_functions {
	GMT_VEC(uint64_t) expected; /* addresses */
	GMT_VEC(struct gmt_symbols_function) items; /* by start and order; in kept cells, all of them */
	struct gmt_symbols_cells cells;
	unsigned reads; /* of the table */
};

/* Says that an address will be asked for. False when out of memory: it is one that nobody said. */
bool gmt_symbols_functions_expect(struct gmt_symbols_functions *functions, uint64_t address);

/*
 * The name of the function at an address, mangled, or NULL. Reads the table when it must: again where nobody said
 * before that this address would be asked for. `type` is that of the sections to read: SHT_SYMTAB or SHT_DYNSYM. `end`
 * is about where the file's addresses end: with a wrong one it takes longer. The name is good as long as `elf` is
 * open. NULL also when memory is out.
 */
const char *gmt_symbols_functions_find(struct gmt_symbols_functions *functions, struct Elf *elf, uint32_t type,
	uint64_t end, uint64_t address);

void gmt_symbols_functions_fini(struct gmt_symbols_functions *functions);

#endif
