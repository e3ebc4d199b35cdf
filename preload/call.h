/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRELOAD_CALL_H
#define GMT_PRELOAD_CALL_H

/*
 * What a wrapper does around the real function. In the flow: wrapper -> call -> capture -> ring.
 *
 * The outermost hooked call of a thread is the event (cudaMalloc, not the cuMemAlloc_v2 inside it).
 * A free is stamped before the real call, all else after it (record/clock.h). Nothing is recorded of
 * a call that failed, except that it failed. errno is the real function's afterwards.
 *
 *	bool outermost = gmt_call_begin();
 *	uint64_t stamp = outermost ? gmt_clock_stamp() : 0;      (frees)
 *	result = real(...);
 *	if (outermost)
 *		gmt_call_alloc(...) or gmt_call_free(...);
 *	gmt_call_end();
 */

#include <stdbool.h>
#include <stdint.h>

#include "hooks.h"
#include "thread.h"
#include "wire/format.h"

/* True when this call is to be recorded. Always paired with gmt_call_end. */
static inline bool gmt_call_begin(void)
{
	return gmt_this_thread.depth++ == 0 && !gmt_this_thread.is_ours;
}

static inline void gmt_call_end(void)
{
	gmt_this_thread.depth--;
}

/* An allocation returned `result` (0 is success). `address` 0 on success: nothing was allocated. */
void gmt_call_alloc(enum gmt_hook hook, uint32_t result, enum gmt_space space, uint64_t address,
	uint64_t size_bytes, uint64_t stream);

/* A free returned `result`; `stamp` was taken before it. `address` 0: nothing was freed. */
void gmt_call_free(enum gmt_hook hook, uint32_t result, enum gmt_space space, uint64_t address,
	uint64_t stream, uint64_t stamp);

#endif
