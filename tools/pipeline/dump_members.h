/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_DUMP_MEMBERS_H
#define GMT_TOOLS_PIPELINE_DUMP_MEMBERS_H

/*
 * Finds the gzip members (file/find_members.h) of a recording that `dump` need not decompress. In
 * the flow: file/members -> dump_members -> dump_filter.
 */

#include <stdbool.h>

#include "tools/pipeline/dump_filter.h"

/*
 * Finds the members of the file at `path` that have a description. Marks no member as left out.
 * When out of memory, prints an error and returns false. The caller ends `ret_members` (zeroed)
 * with gmt_members_fini in both cases.
 */
bool gmt_dump_members_find(const char *path, struct gmt_members *ret_members);

/*
 * Fills filter->clocks with the clocks that are needed to convert the filter's times. Reads all
 * members without a description, and only a few of the others. Returns 0, or an exit code after an
 * error message.
 */
int gmt_dump_members_read_clocks(struct gmt_dump_filter *filter, const char *path);

/* Marks the described members without selected rows as left out. */
void gmt_dump_members_leave_out(struct gmt_dump_filter *filter);

#endif
