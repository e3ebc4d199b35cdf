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

	return capture->wanted && gmt_snapshot_compacted_events(builder->snapshot) &&
		capture->stamp < builder->snapshot->compacted.fold.stamp;
}

const char *gmt_leak_compacted_reason(const struct gmt_leak_builder *builder, uint32_t series)
{
	const struct gmt_history_series *history = &builder->history->series[series];

	if (history->lacks_compacted_samples)
		return builder->timeline->series[series].source == GMT_STEPS_MODULE_CALLS
			? "calls of modules cannot be told from events that are in totals only"
			: "what lines held at the ends of steps is in totals only";
	return is_compacted(builder, series ? GMT_MOMENT_LAST_STEP_2 : GMT_MOMENT_LAST_STEP)
		? "what lived at the end of the last step is in totals only"
		: NULL;
}

void gmt_leak_note_compacted(struct gmt_leak_builder *builder)
{
	struct gmt_leaks *leaks = builder->leaks;

	if (!gmt_snapshot_compacted_events(builder->snapshot))
		return;
	if (is_compacted(builder, GMT_MOMENT_LAST_PHASE))
		leaks->no_phases = "what lived at the end of the last phase is in totals only";
	if (is_compacted(builder, GMT_MOMENT_WORK_END))
		leaks->no_end = "what lived at the end of the program's work is in totals only";
	leaks->is_compacted_away |= leaks->no_phases || leaks->no_end;
}
