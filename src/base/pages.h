/* SPDX-License-Identifier: MIT */
#ifndef GMT_BASE_PAGES_H
#define GMT_BASE_PAGES_H

/*
 * Memory for everything in src/: whole pages from the kernel, never malloc. The recorder's writer
 * runs inside a host process whose malloc may be traced, replaced, or locked by a fork. The command
 * line program gets blocks that grow without a copy (mremap moves page tables, not bytes).
 *
 * Any thread may call these functions. They return NULL if the kernel or the limit refuses; then
 * the old block stays valid.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Resizes a block from `old_bytes` to at least `new_bytes`. For a new block, pass NULL and 0. The
 * added bytes are zero. Returns the block's address, which may have changed. Both sizes are rounded
 * up to whole pages, so pass as `old_bytes` the size that was requested before.
 */
void *gmt_pages_grow(void *block, size_t old_bytes, size_t new_bytes);

/* Frees a block; `block` may be NULL. */
void gmt_pages_free(void *block, size_t bytes);

/*
 * Limits the sum of all blocks from now on. There is no limit at first, and never one in a
 * recorder.
 */
void gmt_pages_set_limit(uint64_t bytes);

/* Returns whether the limit or the kernel has refused any block so far. */
bool gmt_pages_has_refused(void);

/* Returns whether the limit, not the kernel, has refused a block. */
bool gmt_pages_has_met_limit(void);

#endif
