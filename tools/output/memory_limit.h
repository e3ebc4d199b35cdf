/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_MEMORY_LIMIT_H
#define GMT_TOOLS_OUTPUT_MEMORY_LIMIT_H

/*
 * The memory limit of this program. A small file may expand to a huge number of rows, and the
 * reader must not exhaust the machine. The default is half of the memory that this process may use:
 * the machine's memory, or the memory limit of its container (cgroup) if that is smaller.
 */

#include <stdbool.h>

/*
 * Sets the limit. `text` is a size, "none", or NULL for the default. Returns false if `text` is not
 * valid.
 */
bool gmt_memory_limit_set(const char *text);

/*
 * Divides the limit equally among `processes` processes: this process may use one share of it. Call
 * gmt_memory_limit_set first.
 */
void gmt_memory_limit_divide(unsigned processes);

/*
 * Returns the text that follows "out of memory" in an error message: how to raise the limit, or ""
 * if the limit was not reached. The text is in static memory.
 */
const char *gmt_memory_limit_advice(void);

#endif
