/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_RECORDING_WARNINGS_H
#define GMT_ANALYSIS_RECORDING_WARNINGS_H

/*
 * What a reader must know before believing the numbers: is the recording whole, do its events fit
 * together, do PyTorch's own totals agree, which addresses have no names. One line of text each.
 */

#include "containers/arena.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/stacks/traces.h"

enum gmt_warning_kind {
	GMT_WARNING_INCOMPLETE, /* events are missing: numbers can be wrong */
	GMT_WARNING_REMARK,
};

struct gmt_warning {
	enum gmt_warning_kind kind;
	const char *text;
};

struct gmt_warnings {
	struct gmt_arena arena;
	GMT_VEC(struct gmt_warning) rows; /* the incomplete ones first */
};

/*
 * `replay` and `traces` may be NULL: then nothing is said of them. Fails only for lack of memory.
 * `ret_caveats` (zeroed) is the caller's; end it with gmt_warnings_fini.
 */
enum gmt_status gmt_warnings_init(struct gmt_warnings *ret_caveats, const struct gmt_snapshot *snapshot,
	const struct gmt_replay *replay, const struct gmt_traces *traces, struct gmt_error *error);

void gmt_warnings_fini(struct gmt_warnings *warnings);

#endif
