/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_DEPTH_LIMITS_H
#define GMT_UNWIND_DEPTH_LIMITS_H

/*
 * Limits for a stack that is deeper than the depth limit, native or Python. The recorder keeps its
 * inner end and its outer end.
 */

enum {
	GMT_OUTER_END_DIVISOR = 4, /* the outer end gets 1 / 4 of the depth */
	/* The search for the outer end passes at most so many frames. */
	GMT_OUTER_END_MAX_SEARCHED_FRAMES = 32768,
};

#endif
