/* SPDX-License-Identifier: MIT */
#include "tools/report/report_stretch.h"

#include "analysis/recording/warnings.h"
#include "analysis/stretch/stretch.h"
#include "render/stretch.h"
#include "tools/output/message.h"
#include "tools/pipeline/resolve_moment.h"
#include "tools/recordings/load_input.h"

struct state {
	struct gmt_recording *recording;
	struct gmt_traces traces;
	struct gmt_timeline timeline;
	struct gmt_stretch_range range;
	struct gmt_stretch stretch;
	struct gmt_phase_memory phase_memory; /* only if the stretch is a phase */
	struct gmt_replay replay;
	struct gmt_warnings warnings;
};

bool gmt_report_stretch_check(const struct gmt_stretch_option *stretch,
	const struct gmt_moment *until, bool json)
{
	if (!gmt_stretch_is_given(stretch))
		return true;
	if (!json)
		gmt_message_error("report: --%s needs --json", stretch->phase ? "phase" : "from");
	else if (stretch->phase && stretch->from.kind != GMT_MOMENT_NOT_GIVEN)
		gmt_message_error("report: --from and --phase exclude each other");
	else if (stretch->phase && until->kind != GMT_MOMENT_NOT_GIVEN)
		gmt_message_error("report: --until and --phase exclude each other");
	else
		return true;
	return false;
}

static enum gmt_status replay(struct state *state, const struct gmt_report_stretch *wanted,
	struct gmt_error *error)
{
	const struct gmt_recording *recording = state->recording;
	struct gmt_replay_observer observers[2];
	struct gmt_replay_options options = { .observers = observers, .observer_count = 1 };
	uint64_t until_ns;
	enum gmt_status status;

	if ((status = gmt_traces_compute(&state->traces, recording, wanted->traces, error)) ||
		(status = gmt_timeline_compute(&state->timeline, recording, &state->traces, error)) ||
		(status = gmt_resolve_moment(&wanted->until, recording, &state->traces, &state->timeline,
			 &until_ns, error)) ||
		(status = gmt_stretch_resolve(&wanted->stretch, recording, &state->traces, &state->timeline,
			 until_ns, &state->range, error)))
		return status;
	gmt_stretch_init(&state->stretch, recording, state->range.first);
	observers[0] = state->stretch.observer;
	if (state->range.phase != SIZE_MAX) {
		if (!gmt_phase_memory_init(&state->phase_memory, &state->timeline, recording,
				&state->traces, state->range.phase))
			return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
		observers[options.observer_count++] = state->phase_memory.observer;
	}
	options.until_ns = state->range.until_ns;
	if ((status = gmt_replay_run(&state->replay, recording, &state->traces, &options, error)))
		return status;
	return gmt_warnings_compute(&state->warnings, recording, &state->replay, &state->traces, error);
}

int gmt_report_stretch(const struct gmt_report_stretch *wanted, const char *path,
	struct gmt_report_each_output *output)
{
	struct state state = { 0 };
	struct gmt_error error = { 0 };
	int code = gmt_input_load(path, &state.recording);

	if (!code && replay(&state, wanted, &error))
		code = gmt_message_failure(&error);
	if (!code) {
		output->is_incomplete |= !gmt_recording_complete(state.recording);
		gmt_stretch_json(
			&(struct gmt_stretch_view){
				.recording = state.recording,
				.traces = &state.traces,
				.replay = &state.replay,
				.warnings = &state.warnings,
				.stretch = &state.stretch,
				.phase = wanted->stretch.phase,
				.memory = state.range.phase == SIZE_MAX
					? NULL
					: &state.phase_memory.phases.items[state.range.phase],
				.limit = wanted->limit,
				.from_ns = state.range.from_ns,
			},
			&output->json);
		gmt_report_each_end_json(output);
	}
	gmt_warnings_fini(&state.warnings);
	gmt_replay_fini(&state.replay);
	gmt_phase_memory_fini(&state.phase_memory);
	gmt_stretch_fini(&state.stretch);
	gmt_timeline_fini(&state.timeline);
	gmt_traces_fini(&state.traces);
	gmt_recording_free(state.recording);
	return code;
}
