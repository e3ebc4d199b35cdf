/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_CODE_FREES_H
#define GMT_PYTHON_PYTHON_CODE_FREES_H

/*
 * Counts the code objects that Python frees. Code objects do not change. So while the count is
 * unchanged, an address that held a code object still holds the same object, and the recorder need
 * not read it again. Used before 3.12, where code objects have no version number. Internal to
 * python*.c.
 *
 * The type of code objects holds a pointer to the function that frees a code object. The recorder
 * replaces this word atomically by its own function, which counts and then calls the original.
 *
 * The GIL orders the count. If a thread's frames hold a new code object at the address of a freed
 * object, this thread has held the GIL after the free. The free also happened under the GIL. So
 * this thread sees the new count.
 *
 * With watch_code=off, the interpreter's type stays unchanged and the count is 0. The recorder then
 * compares the hash of a remembered code object with that of the present object, including its
 * table of lines (gmt_python_code_hash).
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "python/python_layout.h"
#include "runtime/hidden.h"

extern GMT_HIDDEN bool gmt_python_watches_code; /* set before gmt_python_init; default true */

extern _Atomic uint64_t gmt_python_code_free_count; /* freed code objects + 1; 0: not counted */

/*
 * Starts to count, once, for as long as the process lives. `find` is the original
 * dlsym(RTLD_DEFAULT, name).
 */
void gmt_python_code_frees_watch(gmt_python_find *find);

/* Returns the number of freed code objects plus 1; 0: not counted. */
static inline uint64_t gmt_python_code_frees(void)
{
	/* The GIL orders the accesses, see above. */
	return atomic_load_explicit(&gmt_python_code_free_count, memory_order_relaxed);
}

#endif
