/* SPDX-License-Identifier: MIT */
/*
 * Finds what cannot be judged in a compacted recording, because the necessary events are in totals
 * only.
 */
#include "analysis/leaks/leak_groups.h"

/*
 * Returns whether compaction removed the blocks that lived at a moment: they are known only from
 * the end of the compacted prefix on.
 */
static bool is_compacted(const struct gmt_leak_builder *builder, enum gmt_history_moment moment)
{
	const struct gmt_history_capture *capture = &builder->history->captures[moment];

	return capture->wanted && gmt_recording_compacted_events(builder->recording) &&
		capture->stamp < builder->recording->compacted.cut_stamp;
}

const char *gmt_leak_why_growth_not_judged(const struct gmt_leak_builder *builder, uint32_t series)
{
	const struct gmt_history_series *history = &builder->history->series[series];

	if (history->lacks_compacted_samples)
		return builder->timeline->series[series].source == GMT_STEPS_MODULE_CALLS
			? "the compacted part of the recording does not show calls of modules"
			: "the compacted part of the recording does not show what lines held at the ends of "
			  "steps";
	return is_compacted(builder, series ? GMT_HISTORY_AT_LAST_STEP_2 : GMT_HISTORY_AT_LAST_STEP)
		? "the last step ended in the compacted part of the recording"
		: NULL;
}

void gmt_leak_note_compacted(struct gmt_leak_builder *builder)
{
	struct gmt_leaks *leaks = builder->leaks;

	if (!gmt_recording_compacted_events(builder->recording))
		return;
	if (is_compacted(builder, GMT_HISTORY_AT_LAST_PHASE))
		leaks->why_phases_not_judged =
			"the last phase ended in the compacted part of the recording";
	if (is_compacted(builder, GMT_HISTORY_AT_WORK_END))
		leaks->why_end_not_judged =
			"the program's work ended in the compacted part of the recording";
	leaks->is_compacted_away |= leaks->why_phases_not_judged || leaks->why_end_not_judged;
}
