/* SPDX-License-Identifier: MIT */
#include "tools/pipeline/module_call_marks.h"

#include <sys/stat.h>

#include "base/budget.h"
#include "reader/load/recording.h"
#include "reader/symbols/symbols_cache.h"
#include "reader/steps/timeline.h"
#include "reader/stacks/traces.h"
#include "tools/recordings/standard_input.h"

static bool add(struct gmt_module_call_marks *call_marks, enum gmt_mark_kind kind, uint64_t stamp)
{
	struct gmt_mark *mark = gmt_vec_push(&call_marks->marks);

	if (mark)
		*mark = (struct gmt_mark){
			.stamp = stamp, .kind = (uint8_t)kind, .source = GMT_MARK_SOURCE_READER
		};
	return mark;
}

/*
 * Adds a mark at the beginning of the first call, and one at the end of each call. Without calls,
 * adds only the first mark, so that the reader knows that there are no calls.
 */
static bool list_calls(struct gmt_module_call_marks *call_marks,
	const struct gmt_timeline *timeline)
{
	const struct gmt_step_series *series = NULL;

	for (size_t i = 0; i < timeline->series_count; i++)
		if (gmt_steps_are_inferred(timeline->series[i].source))
			series = &timeline->series[i];
	if (!series && timeline->series_count && timeline->series[0].source != GMT_STEPS_OPTIMIZER)
		return true;
	if (!add(call_marks, GMT_MARK_KIND_POINT, series ? series->steps.items[0].begin : 1))
		return false;
	for (size_t i = 0; series && i < series->steps.count; i++)
		if (!add(call_marks, GMT_MARK_KIND_STEP, series->steps.items[i].end))
			return false;
	return true;
}

static bool detect(struct gmt_module_call_marks *call_marks, const struct gmt_recording *recording)
{
	struct gmt_traces_options options = { .symbols_cache = gmt_symbols_cache_open() };
	struct gmt_traces traces = { 0 };
	struct gmt_timeline timeline = { 0 };
	struct gmt_error error;
	bool done = !gmt_traces_compute(&traces, recording, &options, &error);

	if (done && !gmt_timeline_compute(&timeline, recording, &traces, &error)) {
		done = list_calls(call_marks, &timeline);
		gmt_timeline_fini(&timeline);
	}
	gmt_traces_fini(&traces);
	gmt_symbols_cache_close(options.symbols_cache);
	return done;
}

void gmt_module_call_marks_detect(struct gmt_module_call_marks *ret_marks, const char *path)
{
	struct gmt_recording *recording;
	uint32_t left_out = gmt_budget.left_out;
	struct gmt_recording_load_options options = { 0 };
	struct gmt_error error;
	struct stat status;

	if (gmt_standard_input_is(path)) {
		if (gmt_standard_input_begin(&options.stream, &error))
			return;
		/* A pipe can be read only once, and the compaction reads it. */
	} else if (stat(path, &status) || !S_ISREG(status.st_mode)) {
		return;
	}
	if (gmt_recording_load(path, &options, &recording, &error))
		return;
	if ((recording->has_torch || recording->has_pool) && !recording->compacted.exists &&
		(!detect(ret_marks, recording) || gmt_budget.left_out != left_out))
		ret_marks->marks.count = 0;
	/* The compaction itself leaves out nothing when this analysis exceeds the budget. */
	gmt_budget.left_out = left_out;
	gmt_recording_free(recording);
}

void gmt_module_call_marks_fini(struct gmt_module_call_marks *call_marks)
{
	gmt_vec_fini(&call_marks->marks);
}
