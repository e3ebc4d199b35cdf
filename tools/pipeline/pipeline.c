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

static enum gmt_status replay(struct gmt_pipeline *parts, uint64_t until_ns, bool wants_where,
	struct gmt_error *error)
{
	enum gmt_status status;

	if (!gmt_ledger_watch_init(&parts->ledger_watch, parts->snapshot, &parts->traces))
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");

	struct gmt_replay_observer observers[4 + GMT_ALLOCATOR_STATE_OBSERVERS] = {
		parts->history.observer,
		gmt_ooms_observer(&parts->ooms),
		parts->ledger_watch.observer,
	};
	struct gmt_replay_options options = {
		.until_ns = until_ns, .observers = observers, .observer_count = 3
	};

	if (wants_where &&
		(status = gmt_allocator_state_init(&parts->where, parts->snapshot, &parts->traces,
			 &parts->timeline, error)))
		return status;
	if (wants_where) {
		gmt_step_parts_init(&parts->step_parts, &parts->timeline, &parts->traces);
		observers[options.observer_count++] = parts->step_parts.observer;
	}
	if (wants_where)
		options.observer_count +=
			gmt_allocator_state_observers(&parts->where, observers + options.observer_count);
	status = gmt_replay_init(&parts->replay, parts->snapshot, &parts->traces, &options, error);
	if (!status && wants_where &&
		!gmt_step_parts_finish(&parts->step_parts, &parts->replay, &parts->history))
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	return status || !wants_where
		? status
		: gmt_allocator_state_finish(&parts->where, &parts->replay, until_ns, error);
}

static enum gmt_status make(struct gmt_pipeline *parts, const struct gmt_pipeline_options *options,
	struct gmt_error *error)
{
	const struct gmt_snapshot *snapshot = parts->snapshot;
	uint64_t until_ns = until_of(options, snapshot);
	enum gmt_status status;

	parts->until_ns = until_ns;
	if ((status = gmt_traces_init(&parts->traces, snapshot, &options->traces, error)) ||
		(status = gmt_timeline_init(&parts->timeline, snapshot, &parts->traces, error)) ||
		(status = gmt_history_init(&parts->history, snapshot, &parts->traces, &parts->timeline,
			 until_ns, error)) ||
		(status = gmt_ooms_init(&parts->ooms, snapshot, until_ns, error)) ||
		(status = replay(parts, until_ns, options->wants_where, error)) ||
		(status = gmt_ledger_init(&parts->ledger, &parts->ledger_watch, &parts->ooms,
			 &parts->replay, error)) ||
		(status = gmt_summary_init(&parts->summary, snapshot, &parts->replay, error)) ||
		(status = gmt_sites_init(&parts->sites, &parts->replay, &parts->traces, error)) ||
		(status = gmt_heaps_init(&parts->heaps, snapshot, &parts->replay, &parts->traces, error)) ||
		(status = gmt_leaks_init(&parts->leaks, snapshot, &parts->traces, &parts->timeline,
			 &parts->replay, &parts->history, &options->leaks, error)))
		return status;
	return gmt_warnings_init(&parts->warnings, snapshot, &parts->replay, &parts->traces, error);
}

int gmt_pipeline_load(const char *path, const struct gmt_pipeline_options *options,
	struct gmt_pipeline *ret_parts)
{
	struct gmt_error error = { 0 };
	int code = gmt_input_load(path, &ret_parts->snapshot);

	if (!code && make(ret_parts, options, &error))
		code = gmt_message_failure(&error);
	return code;
}

void gmt_pipeline_fini(struct gmt_pipeline *parts)
{
	gmt_warnings_fini(&parts->warnings);
	gmt_leaks_fini(&parts->leaks);
	gmt_heaps_fini(&parts->heaps);
	gmt_sites_fini(&parts->sites);
	gmt_summary_fini(&parts->summary);
	gmt_step_parts_fini(&parts->step_parts);
	gmt_allocator_state_fini(&parts->where);
	gmt_replay_fini(&parts->replay);
	gmt_ledger_fini(&parts->ledger);
	gmt_ledger_watch_fini(&parts->ledger_watch);
	gmt_ooms_fini(&parts->ooms);
	gmt_history_fini(&parts->history);
	gmt_timeline_fini(&parts->timeline);
	gmt_traces_fini(&parts->traces);
	gmt_snapshot_free(parts->snapshot);
}
