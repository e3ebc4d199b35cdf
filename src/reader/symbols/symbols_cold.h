/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_SYMBOLS_SYMBOLS_COLD_H
#define GMT_READER_SYMBOLS_SYMBOLS_COLD_H

/*
 * Where the interpreter's loop goes on that compilers cut in two. What a profile found to be rare lies far from the rest, as
 * a part with a name of its own (`_PyEval_EvalFrameDefault.cold`), and of Debian's 3.14 that is all but the prologue. A
 * stripped file does not have that name; but only a part of a function is jumped into at another place than its
 * beginning. In the flow: ELF file -> cold -> symbols_elf. x86-64 only. One thread.
 */

#include <stdbool.h>
#include <stdint.h>

struct Elf; /* libelf's */

/* The loop's own name; its parts have one more behind a point. */
#define GMT_SYMBOLS_LOOP "_PyEval_EvalFrameDefault"

/* Zero-initialise to make one for a file. */
struct gmt_symbols_cold {
	bool is_read;
	uint64_t start, end; /* equal: it has none */
};

/* The name of the loop's part at an address that no symbol has; NULL: it is something else. Reads the file the first time. */
const char *gmt_symbols_cold_find(struct gmt_symbols_cold *cold, struct Elf *elf, uint64_t address);

#endif
