/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_WHERE_H
#define GMT_ANALYSIS_WHERE_H

/*
 * Where the memory went: what only a second replay can tell, because it needs to know the peaks
 * beforehand. PyTorch's segments at the peak and at the end of the program's work, its allocator's
 * statistics, what each peak is made of by step and phase of birth, short-lived giants.
 */

#include "analysis/allocator.h"
#include "analysis/births.h"
#include "analysis/giants.h"
#include "analysis/owner_peaks.h"
#include "analysis/segments.h"

/* So many accounts have their peaks taken apart; no machine has more. */
enum { GMT_WHERE_ACCOUNTS = 64 };

struct gmt_where {
	struct gmt_allocator allocator;
	struct gmt_births births;
	struct gmt_giants giants;
	struct gmt_owner_peaks owner_peaks;
	GMT_VEC(struct gmt_segments) segments; /* of layer torch's devices; by device, peak before end */
	GMT_VEC(uint64_t) largest_bytes;       /* by site: its largest block */
	bool has_torch; /* else `allocator` and `segments` are empty */
};

/*
 * `replay` is a finished one until `until_ns`, with the same traces. Fails only for lack of memory.
 * `ret_where` (zeroed) is the caller's, stays where it is, and borrows from all of these; end it with
 * gmt_where_fini.
 */
enum gmt_status gmt_where_init(struct gmt_where *ret_where, const struct gmt_snapshot *snapshot,
	const struct gmt_traces *traces, const struct gmt_timeline *timeline, const struct gmt_replay *replay,
	uint64_t until_ns, struct gmt_error *error);

void gmt_where_fini(struct gmt_where *where);

#endif
