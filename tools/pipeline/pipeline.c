/* SPDX-License-Identifier: MIT */
#include "tools/pipeline/pipeline.h"

#include "reader/load/clock.h"
#include "tools/recordings/input.h"
#include "tools/output/message.h"

const struct gmt_leaks_options gmt_pipeline_default_leaks = {
	.warmup_steps = UINT32_MAX,
	.age_steps = UINT32_MAX,
	.age_ns = UINT64_MAX,
};

static uint64_t until_of(const struct gmt_pipeline_options *options,
	const struct gmt_snapshot *snapshot)
{
	return options->until == UINT64_MAX ? GMT_REPLAY_TO_END
										: gmt_clock_time_of_option_ns(snapshot, options->until);
}

static enum gmt_status replay(struct gmt_pipeline *pipeline, uint64_t until_ns,
	bool wants_allocator_state, struct gmt_error *error)
{
	enum gmt_status status;

	if (!gmt_ledger_watch_init(&pipeline->ledger_watch, pipeline->snapshot, &pipeline->traces))
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");

	struct gmt_replay_observer observers[4 + GMT_ALLOCATOR_STATE_OBSERVERS] = {
		pipeline->history.observer,
		gmt_ooms_observer(&pipeline->ooms),
		pipeline->ledger_watch.observer,
	};
	struct gmt_replay_options options = {
		.until_ns = until_ns, .observers = observers, .observer_count = 3
	};

	if (wants_allocator_state &&
		(status = gmt_allocator_state_init(&pipeline->allocator_state, pipeline->snapshot,
			 &pipeline->traces, &pipeline->timeline, error)))
		return status;
	if (wants_allocator_state) {
		gmt_step_parts_init(&pipeline->step_parts, &pipeline->timeline, &pipeline->traces);
		observers[options.observer_count++] = pipeline->step_parts.observer;
	}
	if (wants_allocator_state)
		options.observer_count += gmt_allocator_state_observers(&pipeline->allocator_state,
			observers + options.observer_count);
	status =
		gmt_replay_init(&pipeline->replay, pipeline->snapshot, &pipeline->traces, &options, error);
	if (!status && wants_allocator_state &&
		!gmt_step_parts_finish(&pipeline->step_parts, &pipeline->replay, &pipeline->history))
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	return status || !wants_allocator_state ? status
											: gmt_allocator_state_finish(&pipeline->allocator_state,
												  &pipeline->replay, until_ns, error);
}

static enum gmt_status make(struct gmt_pipeline *pipeline,
	const struct gmt_pipeline_options *options, struct gmt_error *error)
{
	const struct gmt_snapshot *snapshot = pipeline->snapshot;
	uint64_t until_ns = until_of(options, snapshot);
	enum gmt_status status;

	pipeline->until_ns = until_ns;
	if ((status = gmt_traces_init(&pipeline->traces, snapshot, &options->traces, error)) ||
		(status = gmt_timeline_init(&pipeline->timeline, snapshot, &pipeline->traces, error)) ||
		(status = gmt_history_init(&pipeline->history, snapshot, &pipeline->traces,
			 &pipeline->timeline, until_ns, error)) ||
		(status = gmt_ooms_init(&pipeline->ooms, snapshot, until_ns, error)) ||
		(status = replay(pipeline, until_ns, options->wants_allocator_state, error)) ||
		(status = gmt_ledger_init(&pipeline->ledger, &pipeline->ledger_watch, &pipeline->ooms,
			 &pipeline->replay, error)) ||
		(status = gmt_summary_init(&pipeline->summary, snapshot, &pipeline->replay, error)) ||
		(status = gmt_sites_init(&pipeline->sites, &pipeline->replay, &pipeline->traces, error)) ||
		(status = gmt_heaps_init(&pipeline->heaps, snapshot, &pipeline->replay, &pipeline->traces,
			 error)) ||
		(status = gmt_leaks_init(&pipeline->leaks, snapshot, &pipeline->traces, &pipeline->timeline,
			 &pipeline->replay, &pipeline->history, &options->leaks, error)))
		return status;
	return gmt_warnings_init(&pipeline->warnings, snapshot, &pipeline->replay, &pipeline->traces,
		error);
}

int gmt_pipeline_load(const char *path, const struct gmt_pipeline_options *options,
	struct gmt_pipeline *ret_pipeline)
{
	struct gmt_error error = { 0 };
	int code = gmt_input_load(path, &ret_pipeline->snapshot);

	if (!code && make(ret_pipeline, options, &error))
		code = gmt_message_failure(&error);
	return code;
}

void gmt_pipeline_fini(struct gmt_pipeline *pipeline)
{
	gmt_warnings_fini(&pipeline->warnings);
	gmt_leaks_fini(&pipeline->leaks);
	gmt_heaps_fini(&pipeline->heaps);
	gmt_sites_fini(&pipeline->sites);
	gmt_summary_fini(&pipeline->summary);
	gmt_step_parts_fini(&pipeline->step_parts);
	gmt_allocator_state_fini(&pipeline->allocator_state);
	gmt_replay_fini(&pipeline->replay);
	gmt_ledger_fini(&pipeline->ledger);
	gmt_ledger_watch_fini(&pipeline->ledger_watch);
	gmt_ooms_fini(&pipeline->ooms);
	gmt_history_fini(&pipeline->history);
	gmt_timeline_fini(&pipeline->timeline);
	gmt_traces_fini(&pipeline->traces);
	gmt_snapshot_free(pipeline->snapshot);
}
