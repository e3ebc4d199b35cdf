/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_COMPACT_CALLS_H
#define GMT_TOOLS_PIPELINE_COMPACT_CALLS_H

#include "containers/vec.h"
#include "format/format.h"

/* Marks for a fold. */
struct gmt_compact_calls {
	GMT_VEC(struct gmt_mark) marks;
};

/*
 * Tells the ends of calls of modules from the events of a recording, as reports do: of a folded recording reports cannot. No
 * marks where its own say what a step is, where a part of it was folded before, where it is no regular file, and where it
 * cannot be told.
 */
void gmt_compact_calls_tell(struct gmt_compact_calls *ret_calls, const char *path);

void gmt_compact_calls_fini(struct gmt_compact_calls *calls);

#endif
