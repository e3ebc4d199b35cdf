/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_PATCHED_ORIGINALS_H
#define GMT_INTERPOSE_PATCHED_ORIGINALS_H

/*
 * Keeps the driver's own functions, after interpose/dynsym.h has replaced them by our wrappers in
 * the driver's symbol table. If the driver is unloaded and loaded again, the new functions
 * overwrite the old ones. Any thread.
 */

#include "hooks/hooks.h"

/*
 * Stores the driver's function before its table gets the wrapper. So a thread that finds the
 * wrapper in the table finds the function here.
 */
void gmt_patched_originals_set(enum gmt_hook hook, void *function);

/*
 * Returns the driver's own function if `found` is our wrapper for `symbol`; otherwise returns
 * `found`.
 */
void *gmt_patched_originals_undo(void *found, const char *symbol);

#endif
