/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_SELFTEST_H
#define GMT_PYTHON_PYTHON_SELFTEST_H

/*
 * Compares stacks that were put together from what is remembered (python/python_trace.h, python/python_cache.h) with
 * the interpreter's frames, read anew without it. Internal to python*.c, but for the option and the result.
 */

#include <stdbool.h>
#include <stdint.h>

#include "depot/depot.h"
#include "python/python_layout.h"

/* Each so many stacks of a thread; 0: none. Set before the first capture. */
extern uint32_t gmt_python_selftest_every;

/*
 * Whether the stack `id` has the frames of `thread`, the calling one, of which at most `depth` were taken: functions, files
 * and lines. Counts. May add entries to the depot: frames that are not there.
 */
void gmt_python_selftest_compare(const struct gmt_python_layout *layout, const char *thread, struct gmt_depot *depot,
	uint32_t depth, uint32_t id);

/* How many stacks were compared and how many differ, as a line. False when none were. */
bool gmt_python_selftest(char *ret_text, uint32_t bytes);

#endif
