/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_DYNSYM_H
#define GMT_INTERPOSE_DYNSYM_H

/*
 * The road that no preload reaches: a library opened with RTLD_DEEPBIND looks in itself and in what it
 * was linked to before it looks in the global scope, and so finds libcuda's functions and the C library's
 * dlsym instead of ours. What it finds them by are these libraries' symbol tables in memory; there the
 * values of the hooked names are changed to our wrappers. Whoever looks later is given these, by
 * whatever road; what is bound already stays.
 *
 * Only the tables are written, and each value at once; where memory cannot be made writable all stays
 * as it was. The option dynsym=off leaves them alone.
 */

#include <stdbool.h>

#include "interpose/objects.h"

/* Puts dlsym, dlvsym and dlerror into the C library's table. Once, from the constructor. */
void gmt_dynsym_take_libc(void);

/*
 * Puts the driver's hooked functions into its table and learns the real ones, if a driver is loaded that
 * was not seen yet. Idempotent, cheap when there is nothing to do; any thread; takes no lock of the loader's
 * that is held while constructors run.
 */
void gmt_dynsym_take_driver(void);

/* Whether a table could not be written to, so that what libraries opened with RTLD_DEEPBIND do may not be seen. */
bool gmt_dynsym_is_refused(void);

/* The driver's own function where `found` is our wrapper for `symbol`; else `found` itself. */
void *gmt_dynsym_undo(void *found, const char *symbol);

/* In the child of a fork: who was at it is not there any more. */
void gmt_dynsym_reset_locks(void);

#endif
