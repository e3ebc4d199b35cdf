/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_PATCHED_ORIGINALS_H
#define GMT_INTERPOSE_PATCHED_ORIGINALS_H

/*
 * The driver's own functions, which interpose/patch_dynsym.h has replaced with the wrappers in the
 * driver's symbol table. If the driver is unloaded and loaded again, the new functions replace the
 * old ones. Any thread.
 */

#include "hooks/hooks.h"

/* Stores the driver's function. Call it before the table gets the wrapper. */
void gmt_patched_originals_set(enum gmt_hook hook, void *function);

/*
 * Returns the driver's own function if `found` is the wrapper for `symbol`; otherwise returns
 * `found`.
 */
void *gmt_patched_originals_undo(void *found, const char *symbol);

#endif
