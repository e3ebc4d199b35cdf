/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_MEMORY_LIMIT_H
#define GMT_TOOLS_OUTPUT_MEMORY_LIMIT_H

/*
 * The memory limit of this program. A small file may expand to a huge number of rows, and reading
 * it must not exhaust the machine. The default is half of the machine's or the container's memory.
 */

#include <stdbool.h>

/*
 * Sets the limit. `text` is a size, "none", or NULL for the default. Returns false if `text` is
 * invalid. Called by main.
 */
bool gmt_memory_limit(const char *text);

/*
 * Divides the limit between this many processes, for this process. Call it after gmt_memory_limit.
 */
void gmt_memory_share(unsigned processes);

/*
 * Returns the text to print after "out of memory": how to raise the limit if it was reached, else
 * "". Static memory.
 */
const char *gmt_memory_advice(void);

#endif
