/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_MEMORY_H
#define GMT_TOOLS_OUTPUT_MEMORY_H

/*
 * What this program may take of the machine's memory: a small file may hold rows without end, and the machine is
 * not to suffer from reading it. Half of the machine's, or of the container's, unless told otherwise.
 */

#include <stdbool.h>

/* Sets the limit: `text` is a size, "none", or NULL for the default. False: it is none of these. From main. */
bool gmt_memory_limit(const char *text);

/* This process is one of so many that have that limit together. Behind gmt_memory_limit. */
void gmt_memory_share(unsigned processes);

/* What is to be said behind "out of memory" where the limit was met: how to allow more; "" otherwise. Static memory. */
const char *gmt_memory_advice(void);

#endif
