/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_OPTIMIZER_NUMBER_H
#define GMT_MARKS_OPTIMIZER_NUMBER_H

#include <stdint.h>

/*
 * The number of an optimizer: never given twice in a process, though a later optimizer may lie where an
 * older one did. Python's weak references tell them apart; where there can be none, the number is the
 * object's address. With the GIL; lets no exception out. *ret_steps is how often it was asked for, with this time; 0: not known.
 */
uint64_t gmt_optimizer_number(void *optimizer, uint64_t *ret_steps);

#endif
