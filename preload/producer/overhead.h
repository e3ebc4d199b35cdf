/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_OVERHEAD_H
#define GMT_PRODUCER_OVERHEAD_H

/*
 * Measures the cost of recording, which the recorder writes into its file. Each thread times one of
 * GMT_OVERHEAD_EVERY calls. The other calls pay only for counting.
 */

#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"

/*
 * A prime number. Otherwise a loop with as many calls would time the same call in each round. The
 * first calls of a thread are not timed, because they create and map things once.
 */
enum { GMT_OVERHEAD_EVERY = 1021 };

/*
 * Begins a call of the calling thread. Returns whether this call is timed. `*calls` counts the
 * calls since the last timed call.
 */
static inline bool gmt_overhead_is_timed(uint32_t *calls)
{
	if (__builtin_expect(++*calls < GMT_OVERHEAD_EVERY, 1))
		return false;
	*calls = 0;
	return true;
}

/* Ends a timed call that began at stamp `begin`. Any thread. */
void gmt_overhead_end(uint64_t begin);

/*
 * Returns the measurements so far, including the processor time of the calling thread. Writer only.
 */
struct gmt_overhead gmt_overhead_now(void);

#endif
