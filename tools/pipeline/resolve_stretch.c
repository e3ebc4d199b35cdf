/* SPDX-License-Identifier: MIT */
#include "tools/pipeline/resolve_stretch.h"

#include <string.h>

#include "containers/bisect.h"
#include "reader/load/clock.h"
#include "reader/replay/replay.h"
#include "tools/pipeline/resolve_moment.h"

static enum gmt_status find_phase(const char *name, const struct gmt_recording *recording,
	const struct gmt_timeline *timeline, struct gmt_stretch_range *range, struct gmt_error *error)
{
	const struct gmt_phase *phase = NULL;

	for (size_t i = timeline->phases.count; !phase && i-- > 0;)
		if (strcmp(timeline->phases.items[i].name, name) == 0)
			phase = &timeline->phases.items[i];
	if (!phase)
		return gmt_error_set(error, GMT_USAGE, "%s: there is no phase `%s`", recording->path, name);
	if (recording->compacted.exists && phase->begin < recording->compacted.cut_stamp)
		return gmt_error_set(error, GMT_USAGE,
			"%s: the phase `%s` began in the compacted part, of which only totals are known",
			recording->path, name);
	range->phase = (size_t)(phase - timeline->phases.items);
	range->from_ns = gmt_clock_time_ns(recording, phase->begin);
	range->first = GMT_BISECT(at, recording->events.count,
		gmt_recording_event(recording, at).stamp <= phase->begin);
	if (!phase->open)
		range->until_ns = gmt_clock_time_ns(recording, phase->end);
	return GMT_OK;
}

static enum gmt_status find_from(const struct gmt_moment *from,
	const struct gmt_recording *recording, const struct gmt_traces *traces,
	const struct gmt_timeline *timeline, struct gmt_stretch_range *range, struct gmt_error *error)
{
	enum gmt_status status =
		gmt_resolve_moment(from, recording, traces, timeline, &range->from_ns, error);

	if (status)
		return status;
	if (recording->compacted.exists &&
		range->from_ns < gmt_clock_time_ns(recording, recording->compacted.cut_stamp))
		return gmt_error_set(error, GMT_USAGE,
			"%s: --from lies in the compacted part, of which only totals are "
			"known",
			recording->path);
	range->first = gmt_replay_count(recording, range->from_ns);
	if (range->from_ns > gmt_recording_duration_ns(recording))
		range->from_ns = gmt_recording_duration_ns(recording);
	return GMT_OK;
}

enum gmt_status gmt_stretch_resolve(const struct gmt_stretch_option *option,
	const struct gmt_recording *recording, const struct gmt_traces *traces,
	const struct gmt_timeline *timeline, uint64_t until_ns, struct gmt_stretch_range *ret_range,
	struct gmt_error *error)
{
	enum gmt_status status;

	*ret_range = (struct gmt_stretch_range){ .until_ns = until_ns, .phase = SIZE_MAX };
	status = option->phase
		? find_phase(option->phase, recording, timeline, ret_range, error)
		: find_from(&option->from, recording, traces, timeline, ret_range, error);
	if (!status && ret_range->until_ns < ret_range->from_ns)
		return gmt_error_set(error, GMT_USAGE, "%s: --until is before --from", recording->path);
	return status;
}
