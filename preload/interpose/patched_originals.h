/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_PATCHED_ORIGINALS_H
#define GMT_INTERPOSE_PATCHED_ORIGINALS_H

/*
 * The driver's own functions whose entries in the driver's symbol table now lead to our wrappers
 * (interpose/dynsym.h). Any thread. A driver that is unloaded and loaded again overwrites them.
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
