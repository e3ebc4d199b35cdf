/* SPDX-License-Identifier: MIT */
#include "interpose/patched_originals.h"

#include <stdatomic.h>
#include <stddef.h>

#include "interpose/loaded_objects.h"

static _Atomic(void *) originals[GMT_HOOK_COUNT]; /* NULL: the table has no wrapper */

void gmt_patched_originals_set(enum gmt_hook hook, void *function)
{
	/* Pairs with the acquire in gmt_patched_originals_undo. */
	atomic_store_explicit(&originals[hook], function, memory_order_release);
}

void *gmt_patched_originals_undo(void *found, const char *symbol)
{
	if (!found || !gmt_object_self_has((uint64_t)found))
		return found;

	/*
	 * Pairs with the release in gmt_patched_originals_set. A thread that finds the wrapper in the
	 * table also finds the original here.
	 */
	void *original =
		atomic_load_explicit(&originals[gmt_hook_by_symbol(symbol)], memory_order_acquire);

	return original ? original : found;
}
