/* SPDX-License-Identifier: MIT */
#include "reader/stacks/traces.h"

#include <stdio.h>

#include "base/pages.h"
#include "reader/stacks/traces_merger.h"

/* Stores the current merged stack, with its frame kinds and its owner. */
static bool keep_stack(struct gmt_traces_merger *merger, size_t trace)
{
	struct gmt_traces *traces = merger->traces;
	uint32_t *ret_stack = &traces->stack_of_trace[trace];

	if (!gmt_intern(&traces->stacks, merger->merged.items,
			merger->merged.count * sizeof(*merger->merged.items), ret_stack))
		return false;
	if (!gmt_vec_reserve(&traces->stack_frame_kinds, 1))
		return false;
	/* New entries are zero. */
	traces->stack_frame_kinds.count += *ret_stack == traces->stack_frame_kinds.count;
	traces->stack_frame_kinds.items[*ret_stack] |= merger->frame_kinds;
	return gmt_owners_store(&traces->owners, &merger->owner, trace, *ret_stack,
		merger->frame_kinds & GMT_FRAME_KIND_BIT(CACHE));
}

static bool merge_all(struct gmt_traces_merger *merger)
{
	const struct gmt_recording *recording = merger->recording;

	for (size_t t = 0; t < recording->traces.count; t++) {
		const struct gmt_recording_stack_ids *trace = &recording->traces.items[t];
		const struct gmt_stack *stack = gmt_recording_stack(recording, trace->stack);
		const struct gmt_frames *frames = gmt_recording_frames(recording, trace->frames);

		merger->traces->missing += (trace->stack && !stack) + (trace->frames && !frames);
		merger->frame_kinds = 0;
		merger->owner = (struct gmt_owner_walk){ 0 };
		if (!gmt_traces_merge(merger, stack, frames,
				gmt_recording_frames(recording, trace->caller)) ||
			!keep_stack(merger, t))
			return false;
	}
	return true;
}

static bool list_problems(struct gmt_traces_merger *merger)
{
	const struct gmt_recording *recording = merger->recording;

	for (size_t i = 0; i < recording->modules.count; i++) {
		enum gmt_symbols_state state = gmt_symbols_state(merger->symbols, i);
		const char *why = state == GMT_SYMBOLS_NO_FILE ? "not found on this machine"
			: state == GMT_SYMBOLS_OTHER_FILE          ? "its build differs from the recorded one"
													   : NULL;

		if (!why)
			continue;

		struct gmt_traces_problem *problem = gmt_vec_push(&merger->traces->problems);
		if (!problem)
			return false;
		*problem = (struct gmt_traces_problem){ recording->modules.items[i].path.text, why };
	}
	return true;
}

enum gmt_status gmt_traces_compute(struct gmt_traces *ret_traces,
	const struct gmt_recording *recording, const struct gmt_traces_options *options,
	struct gmt_error *error)
{
	struct gmt_traces_merger merger = {
		.traces = ret_traces, .recording = recording, .native = options->native
	};
	uint32_t empty;

	ret_traces->trace_count = recording->traces.count;
	ret_traces->stack_of_trace = gmt_pages_grow(NULL, 0,
		(recording->traces.count + 1) * sizeof(*ret_traces->stack_of_trace));
	merger.symbols = gmt_symbols_open(recording, options->symbol_directories,
		options->symbol_directory_count, options->symbols_cache);

	bool done = ret_traces->stack_of_trace && merger.symbols &&
		gmt_intern_text(&ret_traces->strings, "", &empty) &&
		!gmt_owners_init(&ret_traces->owners, options->owner_rules, recording, error) &&
		gmt_traces_resolve_all(&merger) && merge_all(&merger) && list_problems(&merger);

	gmt_symbols_close(merger.symbols);
	gmt_intern_fini(&merger.addresses);
	gmt_vec_fini(&merger.resolved);
	gmt_vec_fini(&merger.resolved_places);
	gmt_vec_fini(&merger.module_has_eval);
	gmt_map_fini(&merger.python_places);
	gmt_vec_fini(&merger.python);
	gmt_vec_fini(&merger.merged);
	gmt_vec_fini(&merger.closure_kinds);
	if (done)
		return GMT_OK;
	gmt_traces_fini(ret_traces);
	return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
}

void gmt_traces_fini(struct gmt_traces *traces)
{
	gmt_intern_fini(&traces->strings);
	gmt_intern_fini(&traces->places);
	gmt_intern_fini(&traces->stacks);
	gmt_pages_free(traces->stack_of_trace,
		(traces->trace_count + 1) * sizeof(*traces->stack_of_trace));
	traces->stack_of_trace = NULL;
	gmt_vec_fini(&traces->problems);
	gmt_vec_fini(&traces->stack_frame_kinds);
	gmt_vec_fini(&traces->place_frame_kinds);
	gmt_vec_fini(&traces->place_ownership);
	gmt_owners_fini(&traces->owners);
}
