/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_DUMP_SKIP_H
#define GMT_TOOLS_PIPELINE_DUMP_SKIP_H

/*
 * Finds the parts (gzip members, file/members.h) of a recording that `dump` need not decompress. In
 * the flow: file/members -> dump_skip -> dump_choice.
 */

#include <stdbool.h>

#include "tools/pipeline/dump_choice.h"

/*
 * Finds those parts of the file at `path` for which the file has a description. Marks no part as
 * left out yet. When out of memory, prints an error and returns false. In both cases the caller
 * owns `ret_members` (zeroed) and ends it with gmt_members_fini.
 */
bool gmt_dump_skip_find_parts(const char *path, struct gmt_members *ret_members);

/*
 * Fills choice->clocks with the clocks that are needed to convert the chosen times. Reads only a
 * few of the described parts, but all parts without a description. Returns 0, or an exit code after
 * an error message.
 */
int gmt_dump_skip_read_clocks(struct gmt_dump_choice *choice, const char *path);

/* Marks the described parts without wanted rows as left out. */
void gmt_dump_skip_mark_parts(struct gmt_dump_choice *choice);

#endif
