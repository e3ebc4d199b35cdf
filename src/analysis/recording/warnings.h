/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_RECORDING_WARNINGS_H
#define GMT_ANALYSIS_RECORDING_WARNINGS_H

/*
 * Warnings that the user needs before trusting the numbers: whether the recording is complete,
 * whether its events are consistent, whether PyTorch's own totals agree, and which addresses have
 * no names. Each warning is a line of text.
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
	GMT_VEC(struct gmt_warning) rows; /* in the order of the analyses, both kinds mixed */
};

/*
 * Lists the warnings. `replay` and `traces` may be NULL; then the warnings about them are left out.
 * Fails only if memory is exhausted. `ret_warnings` (zeroed) belongs to the caller; end it with
 * gmt_warnings_fini.
 */
enum gmt_status gmt_warnings_compute(struct gmt_warnings *ret_warnings,
	const struct gmt_recording *recording, const struct gmt_replay *replay,
	const struct gmt_traces *traces, struct gmt_error *error);

void gmt_warnings_fini(struct gmt_warnings *warnings);

#endif
