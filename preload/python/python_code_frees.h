/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_CODE_FREES_H
#define GMT_PYTHON_PYTHON_CODE_FREES_H

/*
 * Counts the code objects that Python frees. Code objects do not change. So while the count is
 * unchanged, an address that held a code object still holds the same one. The recorder need not
 * read it again. Needed where code objects have no number of their own (before 3.12). Internal to
 * python*.c.
 *
 * The type of code objects holds a pointer to the function that frees a code object. The recorder
 * replaces this word atomically by its own function, which counts and then calls the original.
 *
 * The count needs no further synchronization, because the GIL orders it. Suppose a thread's frames
 * hold a new code object at the address of a freed one. Then this thread has run under the GIL
 * after the free. The free also happened under the GIL. So this thread sees the new count.
 *
 * The option watch_code=off leaves the interpreter's type unchanged. Then there is no count. The
 * recorder compares a remembered code object with the present one, including its table of lines
 * (gmt_python_code_hash).
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "python/python_layout.h"
#include "runtime/hidden.h"

extern GMT_HIDDEN bool gmt_python_watches_code; /* set before gmt_python_init; default true */

extern _Atomic uint64_t gmt_python_code_free_count; /* 0: no count is kept; else counts from 1 */

/*
 * Starts to count, once, for as long as the process lives. `find` is the original
 * dlsym(RTLD_DEFAULT, name).
 */
void gmt_python_code_frees_watch(gmt_python_find *find);

/* Returns the number of dead code objects plus 1; 0: not known. */
static inline uint64_t gmt_python_code_frees(void)
{
	/* The GIL orders the accesses, see above. */
	return atomic_load_explicit(&gmt_python_code_free_count, memory_order_relaxed);
}

#endif
