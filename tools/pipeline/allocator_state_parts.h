/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_ALLOCATOR_STATE_PARTS_H
#define GMT_TOOLS_PIPELINE_ALLOCATOR_STATE_PARTS_H

/* What the report's sections on where the memory went are made from. */

#include "render/allocator_state.h"
#include "tools/pipeline/pipeline.h"

struct gmt_where_parts {
	struct gmt_temporaries temporaries;
	struct gmt_table by;
	struct gmt_where_view view; /* of all of these; limit and color are the caller's to set */
};

/* Words of option --by, in the order of enum gmt_table_key. */
#define GMT_WHERE_PARTS_BY "line|function|operator|module|owner|library|category|part|phase|step"

/*
 * `parts` were made with wants_where; `by` is an enum gmt_table_key, or below 0: none. `ret_where` (zeroed) stays where
 * it is, borrows from `parts`, and is ended with gmt_where_parts_fini, also after a failure.
 */
enum gmt_status gmt_where_parts_init(struct gmt_where_parts *ret_where, const struct gmt_parts *parts, int by,
	enum gmt_sites_key key, struct gmt_error *error);

void gmt_where_parts_fini(struct gmt_where_parts *where);

#endif
