/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_LOAD_SPANS_H
#define GMT_READER_LOAD_SPANS_H

/* Stretches of time between marks of two kinds, as of captures into a CUDA graph. */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"
#include "reader/load/snapshot.h"

struct gmt_span {
	uint64_t begin, end; /* stamps; the end UINT64_MAX: it did not end */
};

struct gmt_spans {
	GMT_VEC(struct gmt_span) items; /* by time; none overlaps another one */
};

/*
 * Fills `spans` (zeroed) with the times in which more marks of kind `begins` than of kind `ends` had been seen. An end
 * without a beginning is passed over. False when out of memory.
 */
bool gmt_spans_read(struct gmt_spans *spans, const struct gmt_snapshot *snapshot, enum gmt_mark_kind begins,
	enum gmt_mark_kind ends);

/* Whether a stamp lies in one of them. */
bool gmt_spans_have(const struct gmt_spans *spans, uint64_t stamp);

void gmt_spans_fini(struct gmt_spans *spans);

#endif
