/* SPDX-License-Identifier: MIT */
#include "tools/pipeline/pipeline.h"

#include "tools/pipeline/resolve_moment.h"
#include "tools/recordings/load_input.h"
#include "tools/output/message.h"

const struct gmt_leaks_options gmt_pipeline_default_leaks = {
	.warmup_steps = UINT32_MAX,
	.age_steps = UINT32_MAX,
	.age_ns = UINT64_MAX,
};

static enum gmt_status init_page(struct gmt_pipeline *pipeline, uint64_t until_ns,
	struct gmt_error *error)
{
	return gmt_page_init(&pipeline->page,
		&(struct gmt_page_input){
			.recording = pipeline->recording,
			.timeline = &pipeline->timeline,
			.attribution = &pipeline->allocator_state.attribution,
			.until_ns = until_ns < gmt_recording_duration_ns(pipeline->recording)
				? until_ns
				: GMT_REPLAY_TO_END,
		},
		error);
}

static enum gmt_status finish_page(struct gmt_pipeline *pipeline, struct gmt_error *error)
{
	return gmt_page_finish(&pipeline->page,
		&(struct gmt_page_results){
			.sites = { &pipeline->replay, &pipeline->traces, &pipeline->history, &pipeline->sites },
			.ledger_watch = &pipeline->ledger_watch,
		},
		error);
}

static enum gmt_status replay(struct gmt_pipeline *pipeline, uint64_t until_ns,
	const struct gmt_pipeline_options *wanted, struct gmt_error *error)
{
	bool wants_details = wanted->wants_report_details;
	enum gmt_status status;

	if (!gmt_ledger_watch_init(&pipeline->ledger_watch, pipeline->recording, &pipeline->traces))
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");

	struct gmt_replay_observer observers[GMT_REPLAY_OBSERVERS] = {
		pipeline->history.observer,
		gmt_ooms_observer(&pipeline->ooms),
		pipeline->ledger_watch.observer,
	};
	struct gmt_replay_options options = {
		.until_ns = until_ns, .observers = observers, .observer_count = 3
	};

	if (wants_details &&
		(status = gmt_allocator_state_init(&pipeline->allocator_state, pipeline->recording,
			 &pipeline->traces, &pipeline->timeline, error)))
		return status;
	if (wants_details) {
		gmt_step_parts_init(&pipeline->step_parts, &pipeline->timeline, &pipeline->traces);
		observers[options.observer_count++] = pipeline->step_parts.observer;
		if (!gmt_phase_memory_init(&pipeline->phase_memory, &pipeline->timeline,
				pipeline->recording, &pipeline->traces, SIZE_MAX))
			return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
		observers[options.observer_count++] = pipeline->phase_memory.observer;
		gmt_curves_init(&pipeline->curves);
		observers[options.observer_count++] = pipeline->curves.observer;
	}
	if (wants_details)
		options.observer_count += gmt_allocator_state_observers(&pipeline->allocator_state,
			observers + options.observer_count);
	if (wanted->wants_time_curves) {
		gmt_time_curves_init(&pipeline->time_curves, pipeline->recording->process.start_stamp,
			pipeline->recording->last_stamp);
		observers[options.observer_count++] = pipeline->time_curves.observer;
	}
	if (wanted->wants_page) {
		if ((status = init_page(pipeline, until_ns, error)))
			return status;
		observers[options.observer_count++] = pipeline->page.observer;
	}
	if (wanted->observer)
		observers[options.observer_count++] = *wanted->observer;
	status =
		gmt_replay_run(&pipeline->replay, pipeline->recording, &pipeline->traces, &options, error);
	if (!status && wants_details &&
		!gmt_step_parts_finish(&pipeline->step_parts, &pipeline->replay, &pipeline->history))
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	return status || !wants_details ? status
									: gmt_allocator_state_finish(&pipeline->allocator_state,
										  &pipeline->replay, until_ns, error);
}

static enum gmt_status make_overview(struct gmt_pipeline *pipeline, struct gmt_error *error)
{
	const struct gmt_overview_input input = {
		.recording = pipeline->recording,
		.traces = &pipeline->traces,
		.replay = &pipeline->replay,
		.timeline = &pipeline->timeline,
		.history = &pipeline->history,
		.sites = &pipeline->sites,
		.allocator_state = &pipeline->allocator_state,
		.curves = &pipeline->curves,
	};

	return gmt_overview_compute(&pipeline->overview, &input, error);
}

enum gmt_status gmt_pipeline_name(struct gmt_pipeline *pipeline,
	const struct gmt_pipeline_options *options, struct gmt_error *error)
{
	const struct gmt_recording *recording = pipeline->recording;
	enum gmt_status status =
		gmt_traces_compute(&pipeline->traces, recording, &options->traces, error);

	return status ? status
				  : gmt_timeline_compute(&pipeline->timeline, recording, &pipeline->traces, error);
}

enum gmt_status gmt_pipeline_analyze(struct gmt_pipeline *pipeline,
	const struct gmt_pipeline_options *options, struct gmt_error *error)
{
	const struct gmt_recording *recording = pipeline->recording;
	uint64_t until_ns;
	enum gmt_status status = gmt_resolve_moment(&options->until, recording, &pipeline->traces,
		&pipeline->timeline, &until_ns, error);

	if (status)
		return status;
	pipeline->until_ns = until_ns;
	gmt_timeline_end_phases(&pipeline->timeline, recording, until_ns);
	if ((status = gmt_history_init(&pipeline->history, recording, &pipeline->traces,
			 &pipeline->timeline, until_ns, error)) ||
		(status = gmt_ooms_init(&pipeline->ooms, recording, until_ns, error)) ||
		(status = replay(pipeline, until_ns, options, error)) ||
		(status = gmt_ledger_compute(&pipeline->ledger, &pipeline->ledger_watch, &pipeline->ooms,
			 &pipeline->replay, error)) ||
		(status = gmt_memory_summary_compute(&pipeline->summary, recording, &pipeline->replay,
			 error)) ||
		(status =
				gmt_sites_compute(&pipeline->sites, &pipeline->replay, &pipeline->traces, error)) ||
		(options->wants_report_details && (status = make_overview(pipeline, error))) ||
		(status = gmt_custom_heaps_compute(&pipeline->heaps, recording, &pipeline->replay,
			 &pipeline->traces, error)) ||
		(status = gmt_leaks_compute(&pipeline->leaks, recording, &pipeline->traces,
			 &pipeline->timeline, &pipeline->replay, &pipeline->history, &options->leaks, error)))
		return status;
	if (options->wants_page && (status = finish_page(pipeline, error)))
		return status;
	return gmt_warnings_compute(&pipeline->warnings, recording, &pipeline->replay,
		&pipeline->traces, error);
}

int gmt_pipeline_load(const char *path, const struct gmt_pipeline_options *options,
	struct gmt_pipeline *ret_pipeline)
{
	struct gmt_error error = { 0 };
	int code = gmt_input_load(path, &ret_pipeline->recording);

	if (!code &&
		(gmt_pipeline_name(ret_pipeline, options, &error) ||
			gmt_pipeline_analyze(ret_pipeline, options, &error)))
		code = gmt_message_failure(&error);
	return code;
}

void gmt_pipeline_fini(struct gmt_pipeline *pipeline)
{
	gmt_warnings_fini(&pipeline->warnings);
	gmt_leaks_fini(&pipeline->leaks);
	gmt_custom_heaps_fini(&pipeline->heaps);
	gmt_sites_fini(&pipeline->sites);
	gmt_memory_summary_fini(&pipeline->summary);
	gmt_page_fini(&pipeline->page);
	gmt_step_parts_fini(&pipeline->step_parts);
	gmt_phase_memory_fini(&pipeline->phase_memory);
	gmt_allocator_state_fini(&pipeline->allocator_state);
	gmt_replay_fini(&pipeline->replay);
	gmt_ledger_fini(&pipeline->ledger);
	gmt_ledger_watch_fini(&pipeline->ledger_watch);
	gmt_ooms_fini(&pipeline->ooms);
	gmt_history_fini(&pipeline->history);
	gmt_timeline_fini(&pipeline->timeline);
	gmt_traces_fini(&pipeline->traces);
	gmt_recording_free(pipeline->recording);
}
