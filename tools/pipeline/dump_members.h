/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_DUMP_MEMBERS_H
#define GMT_TOOLS_PIPELINE_DUMP_MEMBERS_H

/* Which parts of a file `dump` need not even decompress. In the flow: file/members -> dump_members -> dump_choice. */

#include <stdbool.h>

#include "tools/pipeline/dump_choice.h"

/*
 * Finds the parts of the file at `path` that say what they have. None is left out yet. False, and said, when out of
 * memory. `ret_members` (zeroed) is the caller's in any case.
 */
bool gmt_dump_members_find(const char *path, struct gmt_members *ret_members);

/*
 * Makes choice->clocks those that the chosen times are told by: of a file whose parts are described, of few of them. Returns
 * 0, or the exit code when something is wrong (and said). choice->from and until are what the user said; they stay so.
 */
int gmt_dump_members_read_clocks(struct gmt_dump_choice *choice, const char *path);

/* Sets which parts have no rows that are wanted. */
void gmt_dump_members_leave_out(struct gmt_dump_choice *choice);

#endif
