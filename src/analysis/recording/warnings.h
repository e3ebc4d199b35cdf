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

enum gmt_caveat_kind {
	GMT_CAVEAT_INCOMPLETE, /* events are missing: numbers can be wrong */
	GMT_CAVEAT_REMARK,
};

struct gmt_caveat {
	enum gmt_caveat_kind kind;
	const char *text;
};

struct gmt_caveats {
	struct gmt_arena arena;
	GMT_VEC(struct gmt_caveat) rows; /* the incomplete ones first */
};

/*
 * `replay` and `traces` may be NULL: then nothing is said of them. Fails only for lack of memory.
 * `ret_caveats` (zeroed) is the caller's; end it with gmt_caveats_fini.
 */
enum gmt_status gmt_caveats_init(struct gmt_caveats *ret_caveats, const struct gmt_snapshot *snapshot,
	const struct gmt_replay *replay, const struct gmt_traces *traces, struct gmt_error *error);

void gmt_caveats_fini(struct gmt_caveats *caveats);

#endif
