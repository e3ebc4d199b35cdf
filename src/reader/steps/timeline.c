/* SPDX-License-Identifier: MIT */
#include "reader/steps/timeline.h"

#include <stdio.h>
#include <string.h>

#include "containers/bisect.h"
#include "reader/load/clock.h"
#include "reader/steps/step_counters.h"
#include "reader/steps/step_names.h"
#include "reader/steps/inference_steps.h"
#include "reader/steps/loop_steps.h"
#include "reader/steps/phases.h"
#include "reader/steps/pattern_steps.h"
#include "reader/steps/compacted_steps.h"

const char *gmt_step_source_name(enum gmt_step_source source)
{
	static const char *const names[GMT_STEPS_SOURCES] = {
		[GMT_STEPS_PROGRAM] = "program",
		[GMT_STEPS_NVTX] = "nvtx",
		[GMT_STEPS_OPTIMIZER] = "optimizer",
		[GMT_STEPS_MODULE_CALLS] = "forward",
		[GMT_STEPS_LOOP] = "loop",
		[GMT_STEPS_PATTERN] = "pattern",
		[GMT_STEPS_ALLOCATIONS] = "allocations",
	};

	return source < GMT_STEPS_SOURCES ? names[source] : "?";
}

const struct gmt_phase *gmt_timeline_phase(const struct gmt_timeline *timeline, uint64_t stamp,
	bool own)
{
	const struct gmt_phase_segment *segments =
		own ? timeline->own_segments.items : timeline->segments.items;
	size_t count = own ? timeline->own_segments.count : timeline->segments.count;
	size_t begun = GMT_BISECT(at, count, segments[at].begin < stamp);

	if (!begun || !segments[begun - 1].phase_plus_1)
		return NULL;
	return &timeline->phases.items[segments[begun - 1].phase_plus_1 - 1];
}

static bool add_step(struct gmt_step_series *series, uint64_t begin, uint64_t end)
{
	struct gmt_step *step;

	if (end <= begin)
		return true;
	step = gmt_vec_push(&series->steps);
	if (step)
		*step = (struct gmt_step){ .begin = begin, .end = end };
	return step;
}

/*
 * Adds the steps that end at a mark. There are several if a compaction merged some; they get equal
 * lengths.
 */
static bool add_steps(struct gmt_step_series *series, uint64_t begin, uint64_t end, uint32_t count)
{
	uint64_t length = end > begin ? end - begin : 0;

	if (length < count)
		return add_step(series, begin, end);
	for (uint64_t i = 0; i < count; i++) {
		if (!add_step(series, begin + length / count * i,
				i + 1 < count ? begin + length / count * (i + 1) : end))
			return false;
		series->steps.items[series->steps.count - 1].is_inner = i + 1 < count;
	}
	return true;
}

/*
 * Makes the series of steps that end at marks of `mark_source`, from the counter with the highest
 * count.
 */
static bool steps_to_marks(struct gmt_timeline *timeline, const struct gmt_recording *recording,
	enum gmt_mark_source mark_source, enum gmt_step_source source)
{
	struct gmt_step_series *series = &timeline->series[0];
	struct gmt_step_counters counters = { 0 };
	struct gmt_compacted_steps compacted_steps = { 0 };
	uint64_t begin = 0;
	bool done;

	done = gmt_compacted_steps_init(&compacted_steps, recording, mark_source);
	for (size_t i = 0; done && i < recording->marks.count; i++) {
		const struct gmt_recording_mark *mark = &recording->marks.items[i];

		if (mark->kind != GMT_MARK_KIND_STEP || mark->source != mark_source)
			continue;
		done = gmt_step_counters_add(&counters,
			mark_source == GMT_MARK_SOURCE_OPTIMIZER ? mark->object : mark->thread, mark->name,
			mark->stamp);
		if (done)
			gmt_step_counters_add_to_last(&counters,
				gmt_compacted_steps_count(&compacted_steps, mark) - 1);
	}
	done = done &&
		gmt_step_counters_chain(&counters,
			mark_source == GMT_MARK_SOURCE_OPTIMIZER ? GMT_STEP_COUNTERS_OF_ANY
													 : GMT_STEP_COUNTERS_OF_A_CLASS);
	for (size_t i = 0; done && i < recording->marks.count; i++) {
		const struct gmt_recording_mark *mark = &recording->marks.items[i];

		if (mark->kind != GMT_MARK_KIND_STEP || mark->source != mark_source ||
			!gmt_step_counters_counts(&counters,
				mark_source == GMT_MARK_SOURCE_OPTIMIZER ? mark->object : mark->thread, mark->name))
			continue;
		done = add_steps(series, begin, mark->stamp,
				   gmt_compacted_steps_count(&compacted_steps, mark)) &&
			gmt_compacted_steps_note(&compacted_steps, series, mark);
		begin = mark->stamp;
		series->name = mark->name;
		series->source = source;
	}
	gmt_compacted_steps_end(&compacted_steps, series);
	gmt_step_counters_fini(&counters);
	return done;
}

/*
 * Finds the begin of the first module call that the compaction recorded. Returns false if there is
 * no such call.
 */
static bool find_marked_calls(const struct gmt_recording *recording, uint64_t *ret_begin)
{
	for (size_t i = 0; recording->compacted.exists && i < recording->marks.count; i++) {
		const struct gmt_recording_mark *mark = &recording->marks.items[i];

		if (mark->kind != GMT_MARK_KIND_POINT || mark->source != GMT_MARK_SOURCE_READER)
			continue;
		*ret_begin = mark->stamp;
		return true;
	}
	return false;
}

/*
 * Makes the series of module calls that the compaction recorded, by their ends. A call begins where
 * the previous call ends. If the program's own step around the call begins later, the call begins
 * there (reader/steps/inference_steps.c).
 */
static bool steps_to_marked_calls(const struct gmt_step_series *main,
	const struct gmt_recording *recording, uint64_t begin, struct gmt_step_series *series)
{
	struct gmt_compacted_steps compacted_steps = { 0 };
	bool done = gmt_compacted_steps_init(&compacted_steps, recording, GMT_MARK_SOURCE_READER);
	uint32_t step;

	for (size_t i = 0; done && i < recording->marks.count; i++) {
		const struct gmt_recording_mark *mark = &recording->marks.items[i];
		uint64_t begins = begin;

		if (mark->kind != GMT_MARK_KIND_STEP || mark->source != GMT_MARK_SOURCE_READER)
			continue;
		if (main && gmt_series_find(main, mark->stamp, &step) &&
			main->steps.items[step].begin > begin)
			begins = main->steps.items[step].begin;
		else if (main && step && step == main->steps.count &&
			main->steps.items[step - 1].end > begin)
			begins = main->steps.items[step - 1].end;
		done = add_steps(series, begins, mark->stamp,
				   gmt_compacted_steps_count(&compacted_steps, mark)) &&
			gmt_compacted_steps_note(&compacted_steps, series, mark);
		begin = mark->stamp;
	}
	series->source = GMT_STEPS_MODULE_CALLS;
	series->name = main
		? "calls of a module"
		: "calls of a module or passes of a loop, as stored when the recording was compacted";
	gmt_compacted_steps_end(&compacted_steps, series);
	return done;
}

/*
 * Makes steps from NVTX ranges. A step lasts from the begin of a range to the begin of the next.
 * The last step ends with its range.
 */
static bool steps_of_ranges(struct gmt_timeline *timeline)
{
	struct gmt_step_series *series = &timeline->series[0];
	struct gmt_step_counters counters = { 0 };
	const struct gmt_phase *before = NULL;
	bool done = true;

	for (size_t i = 0; done && i < timeline->phases.count; i++) {
		const struct gmt_phase *phase = &timeline->phases.items[i];

		if (phase->source == GMT_MARK_SOURCE_NVTX && gmt_is_step_name(phase->name))
			done = gmt_step_counters_add(&counters, phase->thread,
				gmt_name_without_digits(phase->name).text, phase->begin);
	}
	done = done && gmt_step_counters_chain(&counters, GMT_STEP_COUNTERS_OF_A_CLASS);
	for (size_t i = 0; done && i < timeline->phases.count; i++) {
		const struct gmt_phase *phase = &timeline->phases.items[i];

		if (phase->source != GMT_MARK_SOURCE_NVTX || !gmt_is_step_name(phase->name) ||
			!gmt_step_counters_counts(&counters, phase->thread,
				gmt_name_without_digits(phase->name).text))
			continue;
		if (before)
			done = add_step(series, before->begin, phase->begin);
		else
			series->name = phase->name;
		before = phase;
	}
	if (done && before)
		done = add_step(series, before->begin, before->end);
	series->source = GMT_STEPS_NVTX;
	gmt_step_counters_fini(&counters);
	/* A single range is not a sequence of steps. */
	if (series->steps.count < 2) {
		series->steps.count = 0;
		series->name = "";
	}
	return done;
}

static const char *text_of_no_steps(const struct gmt_recording *recording, bool may_be_compacted)
{
	if (!recording->has_torch)
		return "the program marks no steps, has no NVTX ranges named like steps, "
			   "and does not use PyTorch's allocator";
	if (strcmp(gmt_recording_option(recording, "steps"), "off") == 0)
		return "automatic steps are switched off (steps=off), and the program marks no steps";
	if (strcmp(gmt_recording_option(recording, "stacks"), "none") == 0 ||
		strcmp(gmt_recording_option(recording, "stacks"), "native") == 0)
		return "no optimizer made a step, the program marks no steps, "
			   "and calls of modules are not visible without Python stacks";
	if (may_be_compacted)
		return "no optimizer made a step, the program sets no marks, "
			   "and the compacted part of the recording does not show calls of modules";
	return "no optimizer made a step, no module was called, and the program marks no steps";
}

static void set_why_no_steps(struct gmt_timeline *timeline, const struct gmt_recording *recording,
	const char *why_no_repeats)
{
	snprintf(timeline->name_text, sizeof(timeline->name_text), "%s%s%s",
		text_of_no_steps(recording, timeline->may_be_compacted), why_no_repeats ? "; " : "",
		why_no_repeats ? why_no_repeats : "");
	timeline->why_no_steps = timeline->name_text;
}

enum gmt_status gmt_timeline_compute(struct gmt_timeline *ret_timeline,
	const struct gmt_recording *recording, const struct gmt_traces *traces, struct gmt_error *error)
{
	struct gmt_timeline *timeline = ret_timeline;
	struct gmt_step_series *first = &timeline->series[0];
	bool done;

	timeline->work_end = UINT64_MAX;
	first->name = "";
	done = gmt_phases_read(timeline, recording) &&
		steps_to_marks(timeline, recording, GMT_MARK_SOURCE_PROGRAM, GMT_STEPS_PROGRAM);
	if (done && !first->steps.count)
		done = steps_of_ranges(timeline);
	if (done && !first->steps.count)
		done = steps_to_marks(timeline, recording, GMT_MARK_SOURCE_OPTIMIZER, GMT_STEPS_OPTIMIZER);
	/* In a compacted prefix, the begins of passes are unknown. */
	if (done && !first->steps.count && !recording->compacted.exists)
		done = gmt_loop_steps_find(recording, traces, timeline, first);
	timeline->series_count = first->steps.count != 0;
	/* If the program sets marks itself, they define what counts: find no further steps. */
	if (done && (!timeline->series_count || first->source == GMT_STEPS_OPTIMIZER)) {
		struct gmt_step_series *module_calls = &timeline->series[timeline->series_count];
		const struct gmt_step_series *main = timeline->series_count ? first : NULL;
		uint64_t begin;

		if (find_marked_calls(recording, &begin)) {
			done = steps_to_marked_calls(main, recording, begin, module_calls);
		} else {
			done =
				gmt_inference_steps_find(recording, traces, main, timeline->work_end, module_calls);
			module_calls->lacks_compacted_samples = timeline->may_be_compacted =
				gmt_recording_compacted_events(recording);
		}
		timeline->series_count += module_calls->steps.count != 0;
	}
	if (done && !timeline->series_count) {
		const char *why = recording->compacted.exists
			? "patterns cannot be found, because the first events were compacted"
			: NULL;

		if (!recording->compacted.exists)
			done = gmt_pattern_steps_find(recording, traces, timeline, first, &why);
		timeline->series_count = first->steps.count != 0;
		if (!timeline->series_count)
			set_why_no_steps(timeline, recording, why);
	}
	if (done)
		return GMT_OK;
	gmt_timeline_fini(timeline);
	return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
}

void gmt_timeline_end_phases(struct gmt_timeline *timeline, const struct gmt_recording *recording,
	uint64_t until_ns)
{
	const struct gmt_phase *phases = timeline->phases.items;
	const struct gmt_phase_segment *all = timeline->segments.items,
								   *own = timeline->own_segments.items;

	/* All three are in order of their begins. */
	timeline->phases.count = GMT_BISECT(at, timeline->phases.count,
		gmt_clock_time_ns(recording, phases[at].begin) <= until_ns);
	timeline->segments.count = GMT_BISECT(at, timeline->segments.count,
		gmt_clock_time_ns(recording, all[at].begin) <= until_ns);
	timeline->own_segments.count = GMT_BISECT(at, timeline->own_segments.count,
		gmt_clock_time_ns(recording, own[at].begin) <= until_ns);
}

void gmt_timeline_fini(struct gmt_timeline *timeline)
{
	for (size_t i = 0; i < GMT_TIMELINE_SERIES; i++) {
		gmt_vec_fini(&timeline->series[i].steps);
		gmt_vec_fini(&timeline->series[i].compacted);
	}
	gmt_vec_fini(&timeline->phases);
	gmt_vec_fini(&timeline->segments);
	gmt_vec_fini(&timeline->own_segments);
}
