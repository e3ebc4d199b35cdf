/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_OPTIMIZER_NUMBERS_H
#define GMT_MARKS_OPTIMIZER_NUMBERS_H

#include <stdint.h>

/*
 * Returns the number of an optimizer. A process never uses a number twice, even if a later
 * optimizer has the same address. Python's weak references tell the optimizers apart. If an
 * optimizer cannot have a weak reference, its number is its address.
 *
 * *ret_steps is how often this number was asked for, including this call; 0: unknown. Needs the
 * GIL. Leaves no exception set.
 */
uint64_t gmt_optimizer_number(void *optimizer, uint64_t *ret_steps);

#endif
