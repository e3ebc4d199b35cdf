/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_BOTH_ENDS_H
#define GMT_UNWIND_BOTH_ENDS_H

/* What is kept of a stack that is deeper than the limit, native or Python. */

enum {
	GMT_BOTH_ENDS_OUTER_PART = 4,     /* of what is kept, so much is the outer end */
	GMT_BOTH_ENDS_FARTHEST = 32768,   /* frames on the way to it: bounds what a stack costs */
};

#endif
