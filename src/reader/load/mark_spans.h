/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_LOAD_MARK_SPANS_H
#define GMT_READER_LOAD_MARK_SPANS_H

/* Time spans between marks of two kinds, for example captures into a CUDA graph. */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"
#include "reader/load/recording.h"

struct gmt_span {
	uint64_t begin, end; /* stamps; `end` is UINT64_MAX if the span did not end */
};

struct gmt_mark_spans {
	GMT_VEC(struct gmt_span) items; /* in order of time, without overlap */
};

/*
 * Fills `spans` (zeroed) with the times when more marks of kind `begins` than of kind `ends` have
 * occurred. Ignores an end without a beginning. Returns false when out of memory.
 */
bool gmt_mark_spans_read(struct gmt_mark_spans *spans, const struct gmt_recording *recording,
	enum gmt_mark_kind begins, enum gmt_mark_kind ends);

bool gmt_mark_spans_have(const struct gmt_mark_spans *spans, uint64_t stamp);

void gmt_mark_spans_fini(struct gmt_mark_spans *spans);

#endif
