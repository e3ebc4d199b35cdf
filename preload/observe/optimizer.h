/* SPDX-License-Identifier: MIT */
#ifndef GMT_OBSERVE_OPTIMIZER_H
#define GMT_OBSERVE_OPTIMIZER_H

/*
 * Steps of a training, found without a change to it: once PyTorch has handed out a block, its optimizers
 * get a hook of ours that they call at the end of each step, and Python's atexit gets one for the moment
 * when the program is over. In the flow: torch.c -> optimizer -> interpreter; later optimizers -> mark.
 */

/*
 * PyTorch's allocator reported something, and this has been recorded. Any thread, holding whatever locks
 * the allocator holds, with the GIL or without. One load once all is settled.
 */
void gmt_optimizer_see_block(void);

/* In the child of a fork: hooks that are registered stay, all else begins anew. */
void gmt_optimizer_forget_threads(void);

#endif
