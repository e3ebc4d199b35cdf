/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_WHERE_PARTS_H
#define GMT_TOOLS_WHERE_PARTS_H

/* What the report's sections on where the memory went are made from. */

#include "render/where.h"

struct gmt_where_parts {
	struct gmt_where where;
	struct gmt_temporaries temporaries;
	struct gmt_table by;
	struct gmt_where_view view; /* of all of these; limit and color are the caller's to set */
};

/* Words of option --by, in the order of enum gmt_table_key. */
#define GMT_WHERE_PARTS_BY "line|function|operator|module|owner|library|category|part|phase|step"

/*
 * `replay` is of `history` and went until `until_ns`; `by` is an enum gmt_table_key, or below 0: none.
 * `parts` (zeroed) stays where it is; end it with gmt_where_parts_fini, also after a failure.
 */
enum gmt_status gmt_where_parts_init(struct gmt_where_parts *parts, const struct gmt_snapshot *snapshot,
	const struct gmt_traces *traces, const struct gmt_timeline *timeline, const struct gmt_replay *replay,
	const struct gmt_history *history, const struct gmt_sites *sites, uint64_t until_ns, int by,
	enum gmt_sites_key key, struct gmt_error *error);

void gmt_where_parts_fini(struct gmt_where_parts *parts);

#endif
