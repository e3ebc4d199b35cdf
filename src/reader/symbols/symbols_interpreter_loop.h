/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_SYMBOLS_SYMBOLS_INTERPRETER_LOOP_H
#define GMT_READER_SYMBOLS_SYMBOLS_INTERPRETER_LOOP_H

/*
 * Finds the second part of the interpreter's loop, if the compiler split the loop. Code that a
 * profile found to be rare lies far from the rest, in a part with its own name
 * (`_PyEval_EvalFrameDefault.cold`). In Debian's Python 3.14, this part is everything except the
 * prologue. A stripped file lacks that name. But jumps lead into the middle of such a part, and
 * never into the middle of a whole function.
 *
 * In the flow: ELF file -> interpreter_loop -> symbols_elf.
 *
 * Only for x86-64. For one thread.
 */

#include <stdbool.h>
#include <stdint.h>

struct Elf; /* libelf's */

/* The name of the loop. Its parts have this name, a dot and a suffix. */
#define GMT_INTERPRETER_LOOP "_PyEval_EvalFrameDefault"

/* Where the second part lies in one file. Initialize with zeros. */
struct gmt_interpreter_loop {
	bool is_read;
	uint64_t cold_start, cold_end; /* equal: there is no such part */
};

/*
 * Returns the name of the loop's second part if `address` lies in it, else NULL. For addresses
 * without a symbol. The first call reads the file.
 */
const char *gmt_interpreter_loop_find_cold(struct gmt_interpreter_loop *loop, struct Elf *elf,
	uint64_t address);

#endif
