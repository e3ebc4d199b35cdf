/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_SYMBOLS_SYMBOLS_FUNCTIONS_H
#define GMT_READER_SYMBOLS_SYMBOLS_FUNCTIONS_H

/*
 * The functions in one file's symbol table. In the flow: symbol table -> functions -> symbols_elf.
 *
 * A report needs some hundred addresses, in libraries with hundreds of thousands of functions. So
 * only functions that begin near a requested address are kept. The table is read twice: to count
 * which functions begin where, and to keep the candidates. Names are not read in this step, because
 * they fill most pages of such a file.
 *
 * For one thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/vec.h"

struct Elf; /* libelf's */

struct gmt_symbols_function {
	uint64_t start;
	uint32_t size_bytes; /* 0: unknown, reaches to the next function */
	uint32_t order;      /* of several functions at one address, the highest is shown */
	uint32_t name;       /* offset in the string section */
	uint32_t names;      /* index of the string section */
};

/* The file's address range in cells of equal size, with one byte for each cell. */
struct gmt_symbols_cells {
	uint8_t *bytes; /* NULL: nothing was read yet */
	size_t count;
	unsigned shift; /* from an address to its cell */
	uint64_t end;   /* addresses after it are in the last cell */
};

/* Initialize with zeros. */
struct gmt_symbols_functions {
	GMT_VEC(uint64_t) expected; /* announced addresses */
	/* by start and order; complete for the kept cells */
	GMT_VEC(struct gmt_symbols_function) items;
	struct gmt_symbols_cells cells;
	unsigned reads; /* how often the table was read */
};

/*
 * Announces a query for an address. Returns false when out of memory: the address then counts as
 * not announced.
 */
bool gmt_symbols_functions_expect(struct gmt_symbols_functions *functions, uint64_t address);

/*
 * Returns the mangled name of the function at an address, or NULL. Reads the table if needed:
 * again, if the address was not announced. `type` is the type of the sections to read: SHT_SYMTAB
 * or SHT_DYNSYM. `end` is about where the file's addresses end; a wrong value only costs time. The
 * name is valid while `elf` is open. Also returns NULL when out of memory.
 */
const char *gmt_symbols_functions_find(struct gmt_symbols_functions *functions, struct Elf *elf,
	uint32_t type, uint64_t end, uint64_t address);

void gmt_symbols_functions_fini(struct gmt_symbols_functions *functions);

#endif
