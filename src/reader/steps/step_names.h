/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_STEP_NAMES_H
#define GMT_READER_STEPS_STEP_NAMES_H

/* Rules about the names of steps and ranges. Pure functions; any thread. */

#include <stdbool.h>

/*
 * Returns whether a range is named like a step: "Training Step 12". A step may load several
 * batches, so loaders do not count.
 */
bool gmt_is_step_name(const char *name);

struct gmt_name_without_digits {
	char text[256];
};

/*
 * Returns a name without its digits, at most 255 bytes: "step 1" and "step 2" belong to the same
 * counter.
 */
struct gmt_name_without_digits gmt_name_without_digits(const char *name);

#endif
