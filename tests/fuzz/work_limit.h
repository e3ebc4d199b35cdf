/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FUZZ_WORK_LIMIT_H
#define TESTS_FUZZ_WORK_LIMIT_H

/*
 * Limits the work of the reader for one input, counted in executed basic blocks of the reader's
 * code. So slow code is a finding on any machine. Counting requires a compiler with
 * -fsanitize-coverage=trace-pc.
 */

#include <stddef.h>

/*
 * Begins an input of `size` bytes. If the reader does more work than such an input may cost, the
 * program ends by abort().
 */
void fuzz_work_begin(size_t size);

/* Ends the input. */
void fuzz_work_end(void);

/* Prints the cost and the size of the most expensive input. */
void fuzz_work_print(void);

#endif
