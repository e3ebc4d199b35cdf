/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_DEATHS_H
#define GMT_PYTHON_PYTHON_DEATHS_H

/*
 * Counts the code objects that Python frees. While the count stays, an address that held a code object holds it still,
 * so what was found out about it once need not be looked at again: code objects do not change. Needed where they
 * have no number of their own (before 3.12). Internal to python*.c.
 *
 * The type of code objects names the function that frees one; it is a word, which is replaced at once by ours, and ours
 * counts and goes on to theirs. A thread whose frames hold a code object at an address that was freed before has run since,
 * under the GIL as who freed it did: it sees the count.
 *
 * The option watch_code=off leaves the interpreter's type as it is. No count is kept then. A remembered code object is
 * compared with the one that is there now, its table of lines included (gmt_python_code_hash).
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "python/python_layout.h"
#include "runtime/hidden.h"

extern GMT_HIDDEN bool gmt_python_watches_code; /* set before gmt_python_init, else true */

extern _Atomic uint64_t gmt_python_death_count; /* 0: nobody counts; else from 1 */

/* Begins to count, once; `find` is the real dlsym(RTLD_DEFAULT, name). It goes on for as long as the process. */
void gmt_python_deaths_watch(gmt_python_find *find);

/* As many have died, plus 1; 0: not known. */
static inline uint64_t gmt_python_deaths(void)
{
	/* The GIL orders, see above. */
	return atomic_load_explicit(&gmt_python_death_count, memory_order_relaxed);
}

#endif
