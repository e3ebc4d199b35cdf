/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_OPTIMIZER_H
#define GMT_MARKS_OPTIMIZER_H

#include <stdatomic.h>
#include <stdbool.h>

/*
 * Steps of a training, found without a change to it: once PyTorch has handed out a block, its optimizers
 * get a hook of ours that they call at the end of each step, and Python's atexit gets one for the moment
 * when the program is over. In the flow: torch.c -> optimizer -> interpreter; later optimizers -> mark.
 */

extern _Atomic bool gmt_optimizer_is_settled; /* registered, or never to be */

/* For gmt_optimizer_see_block. */
void gmt_optimizer_see_first_blocks(void);

/*
 * PyTorch's allocator reported something, and this has been recorded. Any thread, holding whatever locks
 * the allocator holds, with the GIL or without. One load once all is settled. errno is kept.
 */
static inline void gmt_optimizer_see_block(void)
{
	if (__builtin_expect(!atomic_load_explicit(&gmt_optimizer_is_settled, memory_order_relaxed), 0))
		gmt_optimizer_see_first_blocks();
}

/* In the child of a fork: hooks that are registered stay, all else begins anew. */
void gmt_optimizer_forget_threads(void);

#endif
