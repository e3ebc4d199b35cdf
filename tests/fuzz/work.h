/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FUZZ_WORK_H
#define TESTS_FUZZ_WORK_H

/*
 * A limit on the work that the reader does for one input, in basic blocks of the reader's code that
 * run. Slow code is a finding then, however fast the machine is. Without a compiler that counts
 * them (-fsanitize-coverage=trace-pc), nothing is counted.
 */

#include <stddef.h>

/*
 * From here on an input of `size` bytes is tried. A reader that does more than such an input may
 * cost ends the program by abort().
 */
void fuzz_work_begin(size_t size);

/* The input has been tried. */
void fuzz_work_end(void);

/* Prints the most that an input cost, and how many bytes it had. */
void fuzz_work_print(void);

#endif
