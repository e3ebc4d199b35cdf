/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_OPTIMIZER_NUMBERS_H
#define GMT_MARKS_OPTIMIZER_NUMBERS_H

#include <stdint.h>

/*
 * Returns the number of an optimizer. No two optimizers of a process have the same number, even if
 * a later optimizer gets the address of an earlier one: Python's weak references distinguish them.
 * If an optimizer cannot have a weak reference, its number is its address.
 *
 * *ret_steps is the number of calls for this optimizer, including this one; 0: unknown. Needs the
 * GIL. Leaves no exception set.
 */
uint64_t gmt_optimizer_number(void *optimizer, uint64_t *ret_steps);

#endif
