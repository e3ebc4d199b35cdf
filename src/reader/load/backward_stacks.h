/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_LOAD_BACKWARD_STACKS_H
#define GMT_READER_LOAD_BACKWARD_STACKS_H

#include <stdbool.h>

#include "reader/load/recording.h"

/*
 * Gives events of autograd's threads the Python stack of the backward call that they work for.
 *
 * Autograd's threads are the threads whose name begins with "pt_autograd". A thread that calls a
 * backward pass makes its first gradient inside the call, and then waits there. So the last Python
 * stack of that thread lies in torch.autograd's backward() or grad(). While this is true of exactly
 * one other thread, autograd's threads work for that thread's call.
 *
 * No stack is given while no thread is in such a call, or several are. Examples: the program passed
 * a gradient to the call; two threads train.
 *
 * Call after the events are in order. Returns false when out of memory.
 */
bool gmt_backward_stacks_attribute(struct gmt_recording *recording);

#endif
