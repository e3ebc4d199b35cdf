/* SPDX-License-Identifier: MIT */
/* The tables `steps` and `phases`. */
#include "library/tables/table_texts.h"

GMT_TABLE_FUNCTIONS(steps)
GMT_TABLE_FUNCTIONS(phases)

/* The step of a series that rows are made of. */
struct series_step {
	uint32_t series, step;
	int64_t begin_ns, end_ns;
};

/* `account` is an index in the accounting; below 0: no account held memory. */
static bool add_step(struct gmt_read_cursor *cursor, const struct series_step *at, int64_t account)
{
	const struct gmt_pipeline *pipeline = &cursor->recording->pipeline;
	const struct gmt_step_series *series = &pipeline->timeline.series[at->series];
	struct gmt_row_steps *row = gmt_cursor_add_row(cursor);
	int32_t name;

	if (!row)
		return false;
	row->series = at->series;
	row->source = gmt_cursor_intern_text(cursor, GMT_COLUMN_steps_source,
		gmt_step_source_name(series->source));
	name = gmt_table_text_intern(cursor, GMT_COLUMN_steps_name, series->name);
	GMT_SET_KNOWN(row, steps, name, name >= 0, name);
	row->step = at->step;
	row->begin_time_ns = at->begin_ns;
	row->end_time_ns = at->end_ns;
	if (account < 0) {
		GMT_SET_NULL(row, steps, layer);
		GMT_SET_NULL(row, steps, device);
		GMT_SET_NULL(row, steps, peak_bytes);
		GMT_SET_NULL(row, steps, end_live_bytes);
		return true;
	}

	const struct gmt_account *account_row = &pipeline->replay.accounting.accounts.items[account];
	struct gmt_history_step step =
		gmt_history_step_of(&pipeline->history.series[at->series], at->step, (size_t)account);

	row->layer = gmt_table_text_layer(cursor, GMT_COLUMN_steps_layer, account_row->layer);
	row->device = account_row->device;
	row->peak_bytes = step.peak_bytes;
	row->end_live_bytes = step.end_live_bytes;
	return true;
}

/* Adds a row for each account. Skips accounts that never held memory. */
static bool add_accounts(struct gmt_read_cursor *cursor, const struct series_step *at)
{
	const struct gmt_accounting *accounting = &cursor->recording->pipeline.replay.accounting;
	bool has_account = false;

	for (size_t i = 0; i < accounting->accounts.count && i < GMT_HISTORY_ACCOUNTS; i++) {
		const struct gmt_account *account = &accounting->accounts.items[i];

		if (!account->peak_bytes)
			continue;
		has_account = true;
		if (gmt_filter_device(cursor, account->device) &&
			gmt_filter_layer(cursor, account->layer) && !add_step(cursor, at, (int64_t)i))
			return false;
	}
	return has_account || cursor->filter.wanted & (GMT_FILTER_DEVICE | GMT_FILTER_LAYER) ||
		add_step(cursor, at, -1);
}

bool gmt_open_steps(struct gmt_read_cursor *cursor)
{
	const struct gpumemtrace_recording *recording = cursor->recording;
	const struct gmt_timeline *timeline = &recording->pipeline.timeline;
	bool done = true;

	for (uint32_t i = 0; done && i < timeline->series_count; i++)
		/* Steps that end after the replay have no history. */
		for (uint32_t step = 0; done && step < recording->pipeline.history.series[i].step_count;
			step++) {
			const struct gmt_step *row_step = &timeline->series[i].steps.items[step];
			struct series_step at = { i, step,
				gmt_read_recording_time_ns(recording, row_step->begin),
				gmt_read_recording_time_ns(recording, row_step->end) };

			if (gmt_filter_time(cursor, at.begin_ns) && gmt_filter_step(cursor, true, step))
				done = add_accounts(cursor, &at);
		}
	return done && !cursor->failed;
}

GMT_ROWS_ARE_MADE_AT_OPEN(steps)

static bool add_phase(struct gmt_read_cursor *cursor, const struct gmt_phase *phase)
{
	const struct gpumemtrace_recording *recording = cursor->recording;
	const struct gmt_thread *thread =
		gmt_recording_thread(recording->pipeline.recording, phase->thread);
	const char *source = gmt_mark_source_name(phase->source);
	int64_t begin_ns = gmt_read_recording_time_ns(recording, phase->begin);
	struct gmt_row_phases *row;
	int32_t text;

	if (!gmt_filter_time(cursor, begin_ns))
		return true;
	row = gmt_cursor_add_row(cursor);
	if (!row)
		return false;
	row->name = gmt_cursor_intern_text(cursor, GMT_COLUMN_phases_name, phase->name);
	row->source =
		gmt_cursor_intern_text(cursor, GMT_COLUMN_phases_source, source ? source : "unknown");
	row->begin_time_ns = begin_ns;
	GMT_SET_KNOWN(row, phases, end_time_ns, !phase->open,
		gmt_read_recording_time_ns(recording, phase->end));
	row->depth = phase->depth;
	text =
		gmt_table_text_intern(cursor, GMT_COLUMN_phases_thread, thread ? thread->name.text : NULL);
	GMT_SET_KNOWN(row, phases, thread, text >= 0, text);
	GMT_SET_KNOWN(row, phases, thread_tid, thread, thread->tid);
	return true;
}

bool gmt_open_phases(struct gmt_read_cursor *cursor)
{
	const struct gmt_timeline *timeline = &cursor->recording->pipeline.timeline;
	bool done = true;

	for (size_t i = 0; done && i < timeline->phases.count; i++)
		done = add_phase(cursor, &timeline->phases.items[i]);
	return done && !cursor->failed;
}

GMT_ROWS_ARE_MADE_AT_OPEN(phases)
