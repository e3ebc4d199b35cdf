/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_OVERHEAD_H
#define GMT_PRODUCER_OVERHEAD_H

/*
 * What recording itself takes, as the recorder states it in its file: one call in GMT_OVERHEAD_EVERY of each thread is
 * timed on its way through the recorder, the others pay for counting to that.
 */

#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"

/*
 * A prime number, or a loop of as many calls would have the same ones timed each round. A thread's first calls are not:
 * they make and map things once.
 */
enum { GMT_OVERHEAD_EVERY = 1021 };

/* A call of the calling thread begins. Whether it is timed; `*calls` are those since the last one that was. */
static inline bool gmt_overhead_is_timed(uint32_t *calls)
{
	if (__builtin_expect(++*calls < GMT_OVERHEAD_EVERY, 1))
		return false;
	*calls = 0;
	return true;
}

/* It ends, and began at that stamp. Any thread. */
void gmt_overhead_end(uint64_t begin);

/* What is known up to now. From the writer's thread, whose processor time is told. */
struct gmt_overhead gmt_overhead_now(void);

/* In the child of a fork: what its parent took. */
void gmt_overhead_forget(void);

#endif
