/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_OPTIMIZER_STEPS_H
#define GMT_MARKS_OPTIMIZER_STEPS_H

#include <stdatomic.h>
#include <stdbool.h>

/*
 * Finds the steps of a training without a change to the program. After PyTorch has handed out its
 * first blocks, the recorder installs its hooks (marks/install_optimizer_hook.h). Until that
 * succeeds or fails for good, each block may cause another try. In the flow: torch_blocks.c ->
 * optimizer_steps -> interpreter -> install_optimizer_hook; later: optimizer -> hook -> mark.
 */

extern _Atomic bool gmt_optimizer_is_settled; /* the hooks are installed, or never will be */

/* Slow path of gmt_optimizer_on_block. */
void gmt_optimizer_on_early_block(void);

/*
 * Call after PyTorch's allocator has reported an event and the recorder has recorded it. Any
 * thread, with or without the GIL; the thread may hold any of the allocator's locks. Costs one load
 * once the hooks are settled. Keeps errno.
 */
static inline void gmt_optimizer_on_block(void)
{
	if (__builtin_expect(!atomic_load_explicit(&gmt_optimizer_is_settled, memory_order_relaxed), 0))
		gmt_optimizer_on_early_block();
}

#endif
