/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_SELFTEST_H
#define GMT_PYTHON_PYTHON_SELFTEST_H

/*
 * Compares captured stacks, which were built from remembered data (python/python_trace.h,
 * python/python_cache.h), with the interpreter's frames, which it reads again without that data.
 * Internal to python*.c, except gmt_python_selftest_every and gmt_python_selftest.
 */

#include <stdbool.h>
#include <stdint.h>

#include "depot/depot.h"
#include "python/python_layout.h"

/* Each thread compares one of so many stacks; 0: no comparison. Set it before the first capture. */
extern uint32_t gmt_python_selftest_every;

/*
 * Compares the stack `id` with the frames of `thread`, the calling thread: functions, files and
 * lines. `depth` is that of the capture. Counts the result. May add frames to the depot.
 */
void gmt_python_selftest_compare(const struct gmt_python_layout *layout, const char *thread,
	struct gmt_depot *depot, uint32_t depth, uint32_t id);

/*
 * Writes a line: how many stacks were compared and how many differ. Returns false if no stack was
 * compared.
 */
bool gmt_python_selftest(char *ret_text, uint32_t bytes);

#endif
