/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_DUMP_MEMBERS_H
#define GMT_TOOLS_PIPELINE_DUMP_MEMBERS_H

/*
 * Finds the parts of a file that `dump` need not decompress. In the flow: file/members ->
 * dump_members -> dump_choice.
 */

#include <stdbool.h>

#include "tools/pipeline/dump_choice.h"

/*
 * Finds the parts of the file at `path` that describe their content. No part is left out yet. If
 * memory is exhausted, prints an error and returns false. In both cases `ret_members` (zeroed)
 * belongs to the caller.
 */
bool gmt_dump_members_find(const char *path, struct gmt_members *ret_members);

/*
 * Fills choice->clocks with the clocks that are needed to convert the chosen times. If the file's
 * parts are described, reads only a few of them. Returns 0, or an exit code after an error message.
 */
int gmt_dump_members_read_clocks(struct gmt_dump_choice *choice, const char *path);

/* Marks the parts without wanted rows as left out. */
void gmt_dump_members_leave_out(struct gmt_dump_choice *choice);

#endif
