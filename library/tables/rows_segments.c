/* SPDX-License-Identifier: MIT */
/* The table `segments`. */
#include "library/tables/table_texts.h"

GMT_TABLE_FUNCTIONS(segments)

static bool add_segments(struct gmt_read_cursor *cursor, const struct gmt_segments *segments)
{
	const struct gpumemtrace_recording *recording = cursor->recording;
	const struct gmt_recording *loaded = recording->pipeline.recording;
	int32_t moment = gmt_cursor_intern_text(cursor, GMT_COLUMN_segments_moment,
		gmt_segments_moment_name(segments->moment));
	/* UINT64_MAX: after the last event */
	uint64_t stamp = segments->stamp < loaded->last_stamp ? segments->stamp : loaded->last_stamp;

	for (size_t i = 0; i < segments->rows.count; i++) {
		const struct gmt_segments_row *segment = &segments->rows.items[i];
		struct gmt_row_segments *row = gmt_cursor_add_row(cursor);

		if (!row)
			return false;
		row->moment = moment;
		row->moment_time_ns = gmt_read_recording_time_ns(recording, stamp);
		row->device = segments->device;
		row->address = segment->address;
		row->size_bytes = segment->size_bytes;
		row->is_expandable = segment->is_expandable;
		row->made_time_ns = gmt_read_recording_time_ns(recording, segment->stamp);
		row->used_bytes = segment->used_bytes;
		row->blocks = segment->blocks;
	}
	return true;
}

bool gmt_open_segments(struct gmt_read_cursor *cursor)
{
	const struct gmt_allocator_state *state = &cursor->recording->pipeline.allocator_state;
	bool done = true;

	for (size_t i = 0; done && i < state->segments.count; i++)
		if (gmt_filter_device(cursor, state->segments.items[i].device))
			done = add_segments(cursor, &state->segments.items[i]);
	return done && !cursor->failed;
}

GMT_ROWS_ARE_MADE_AT_OPEN(segments)
