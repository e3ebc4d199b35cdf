/* SPDX-License-Identifier: MIT */
#include "tools/pipeline/resolve_moment.h"

#include <inttypes.h>

#include "analysis/oom/ooms.h"
#include "analysis/overview/overview.h"
#include "reader/load/clock.h"
#include "reader/replay/replay.h"

/*
 * Refuses a moment in the compacted prefix, because the recording no longer has the events there.
 */
static enum gmt_status refuse_compacted(const struct gmt_recording *recording, const char *moment,
	uint64_t stamp, struct gmt_error *error)
{
	if (recording->compacted.exists && stamp < recording->compacted.cut_stamp)
		return gmt_error_set(error, GMT_USAGE,
			"%s: the %s lies in the compacted part, of which only totals are "
			"known",
			recording->path, moment);
	return GMT_OK;
}

static enum gmt_status find_step(uint64_t step, const struct gmt_recording *recording,
	const struct gmt_timeline *timeline, uint64_t *ret_time_ns, struct gmt_error *error)
{
	size_t count = timeline->series_count ? timeline->series[0].steps.count : 0;

	if (!count)
		return gmt_error_set(error, GMT_USAGE, "%s: there is no step %" PRIu64 ": %s",
			recording->path, step,
			timeline->why_no_steps ? timeline->why_no_steps : "no steps were found");
	if (step >= count)
		return gmt_error_set(error, GMT_USAGE,
			"%s: there is no step %" PRIu64 ": the steps are 0 to %zu", recording->path, step,
			count - 1);

	uint64_t stamp = timeline->series[0].steps.items[step].end;
	*ret_time_ns = gmt_clock_time_ns(recording, stamp);
	return refuse_compacted(recording, "end of this step", stamp, error);
}

static enum gmt_status find_peak(const struct gmt_recording *recording,
	const struct gmt_traces *traces, uint64_t *ret_time_ns, struct gmt_error *error)
{
	struct gmt_replay replay = { 0 };
	struct gmt_replay_options options = { .until_ns = GMT_REPLAY_TO_END };
	enum gmt_status status = gmt_replay_run(&replay, recording, traces, &options, error);

	if (!status) {
		const struct gmt_account *account = gmt_overview_find_account(&replay.accounting);

		if (account) {
			*ret_time_ns = gmt_clock_time_ns(recording, account->peak_stamp);
			status = refuse_compacted(recording, "peak", account->peak_stamp, error);
		}
	}
	gmt_replay_fini(&replay);
	return status;
}

static enum gmt_status find_oom(const struct gmt_recording *recording, uint64_t *ret_time_ns,
	struct gmt_error *error)
{
	struct gmt_ooms ooms = { 0 };
	enum gmt_status status = gmt_ooms_init(&ooms, recording, GMT_REPLAY_TO_END, error);
	const struct gmt_oom_row *first = NULL;

	for (size_t i = ooms.rows.count; !status && i-- > 0;)
		if (!ooms.rows.items[i].recovered)
			first = &ooms.rows.items[i];
	if (!status && ooms.compacted_failures)
		status = refuse_compacted(recording, "first failed request", 0, error);
	else if (first)
		*ret_time_ns = first->time_ns;
	else if (!status)
		status = gmt_error_set(error, GMT_USAGE, "%s: no request failed for lack of memory",
			recording->path);
	gmt_ooms_fini(&ooms);
	return status;
}

enum gmt_status gmt_resolve_moment(const struct gmt_moment *moment,
	const struct gmt_recording *recording, const struct gmt_traces *traces,
	const struct gmt_timeline *timeline, uint64_t *ret_time_ns, struct gmt_error *error)
{
	*ret_time_ns = GMT_REPLAY_TO_END;
	switch (moment->kind) {
	case GMT_MOMENT_NOT_GIVEN:
		return GMT_OK;
	case GMT_MOMENT_TIME:
		*ret_time_ns = moment->has_unit ? moment->value
										: gmt_clock_time_of_option_ns(recording, moment->value);
		return GMT_OK;
	case GMT_MOMENT_STEP:
		return find_step(moment->value, recording, timeline, ret_time_ns, error);
	case GMT_MOMENT_PEAK:
		return find_peak(recording, traces, ret_time_ns, error);
	case GMT_MOMENT_END:
		if (timeline->work_end != UINT64_MAX)
			*ret_time_ns = gmt_clock_time_ns(recording, timeline->work_end);
		return GMT_OK;
	case GMT_MOMENT_OOM:
		return find_oom(recording, ret_time_ns, error);
	}
	return GMT_OK;
}
