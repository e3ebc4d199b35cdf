/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_INFO_H
#define GMT_RENDER_INFO_H

#include <stdbool.h>
#include <stdio.h>

#include "analysis/recording/warnings.h"
#include "analysis/recording/event_counts.h"
#include "analysis/recording/function_coverage.h"
#include "analysis/recording/overhead.h"
#include "render/json.h"

/* The content of a recording, as text and as JSON (schema gpumemtrace.info/2). */
struct gmt_info {
	const struct gmt_recording *recording;
	const struct gmt_event_counts *event_counts;
	const struct gmt_warnings *warnings;
	struct gmt_overhead_estimate overhead;
	/* NULL: not requested; in text it replaces the event counts */
	const struct gmt_function_coverage *coverage;
	bool color;
};

void gmt_info_text(const struct gmt_info *info, FILE *file);
void gmt_info_json(const struct gmt_info *info, struct gmt_json *json);

/* Writes the keys `options` and `overhead_estimate` of an open object. */
void gmt_info_recorder_json(const struct gmt_recording *recording,
	const struct gmt_overhead_estimate *overhead, struct gmt_json *json);

#endif
