/* SPDX-License-Identifier: MIT */
#ifndef GMT_BASE_PAGES_H
#define GMT_BASE_PAGES_H

/*
 * Memory for everything in src/: whole pages from the kernel, never malloc. The shim's writer uses
 * these rooms inside a host whose malloc may be traced, replaced or locked by a fork; the CLI gets
 * blocks that grow without a copy (mremap moves page tables, not bytes).
 *
 * Threads: any. Errors: NULL when the kernel or the limit refuses; the old block stays valid.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Makes a block of `old_bytes` (0 and NULL: none yet) at least `new_bytes` long, zero beyond what it
 * held. Returns its address, which may have moved. Both sizes are rounded up to pages, so pass the
 * same `old_bytes` that was asked for.
 */
void *gmt_pages_grow(void *block, size_t old_bytes, size_t new_bytes);

/* Gives a block back; `block` may be NULL. */
void gmt_pages_free(void *block, size_t bytes);

/* All blocks together may have so many bytes from now on; there is no limit at first, and none in a recorder. */
void gmt_pages_set_limit(uint64_t bytes);

/* Whether any block was refused so far, by that limit or by the kernel. */
bool gmt_pages_has_refused(void);

/* Whether that limit, not the kernel, has refused a block. */
bool gmt_pages_is_limit_met(void);

#endif
