/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_LOAD_BACKWARD_STACKS_H
#define GMT_READER_LOAD_BACKWARD_STACKS_H

#include <stdbool.h>

#include "reader/load/snapshot.h"

/*
 * Gives the events of autograd's threads the Python stack of the backward call that they work for.
 *
 * The rule: autograd's threads are those whose name begins with "pt_autograd". The thread that calls a
 * backward pass waits in it, and makes its first gradient there; so while exactly one other thread's
 * last Python stack lies in torch.autograd's backward() or grad(), what autograd's threads do is for
 * that call. Where none or several do (a gradient was given to the call, two threads train), nothing
 * is said. Once events are in order; false when out of memory.
 */
bool gmt_backward_adopt(struct gmt_snapshot *snapshot);

#endif
