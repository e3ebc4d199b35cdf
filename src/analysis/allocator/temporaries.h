/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_ALLOCATOR_TEMPORARIES_H
#define GMT_ANALYSIS_ALLOCATOR_TEMPORARIES_H

/*
 * Temporary allocations, by own line: blocks that were allocated and freed in one step, and single
 * large blocks that were freed almost at once (short_lived.h). A pure function.
 */

#include <stdint.h>

#include "analysis/allocator/short_lived.h"
#include "analysis/history/history.h"
#include "analysis/history/site_table.h"

struct gmt_temporary {
	uint32_t layer;
	int32_t device; /* GMT_DEVICE_HOST: host memory */
	uint32_t stack, own_line; /* of the largest site of the line */
	uint64_t count, bytes, largest_bytes;
	uint64_t at_peak_bytes; /* short-lived allocations: blocks that were live at the layer's peak */
	uint64_t site_bytes; /* bytes of the largest site */
};

/* A GMT_VEC. */
struct gmt_temporary_rows {
	struct gmt_temporary *items;
	size_t count, capacity;
};

struct gmt_temporaries {
	struct gmt_temporary_rows in_step; /* layer torch first, by device, most bytes first */
	struct gmt_temporary_rows short_lived; /* layer torch first, by device, largest first */
	const char *why_no_steps; /* reason why `in_step` is empty; NULL when steps are known */
};

/*
 * Lists temporary allocations. `history` may be NULL. Fails only if memory is exhausted.
 * `ret_temporaries` (zeroed) belongs to the caller; end it with gmt_temporaries_fini.
 */
enum gmt_status gmt_temporaries_compute(struct gmt_temporaries *ret_temporaries,
	const struct gmt_traces *traces, const struct gmt_timeline *timeline,
	const struct gmt_history *history, const struct gmt_sites *sites,
	const struct gmt_short_lived *short_lived, struct gmt_error *error);

void gmt_temporaries_fini(struct gmt_temporaries *temporaries);

#endif
