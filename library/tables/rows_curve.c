/* SPDX-License-Identifier: MIT */
/* The table `curve`. */
#include <stdlib.h>

#include "library/tables/table_texts.h"

struct curve_state {
	struct gmt_events_reader reader;
	size_t next;
	int32_t layers[GMT_ACCOUNTING_LAYERS]; /* the text of each layer */
	uint32_t step;                         /* the last look-up */
};

GMT_TABLE_FUNCTIONS(curve)

bool gmt_open_curve(struct gmt_read_cursor *cursor)
{
	struct curve_state *state = cursor->state = calloc(1, sizeof(*state));
	const struct gmt_accounting *accounting = &cursor->recording->pipeline.replay.accounting;

	for (size_t i = 0; state && i < accounting->accounts.count; i++) {
		uint8_t layer = accounting->accounts.items[i].layer;

		state->layers[layer] = gmt_table_text_layer(cursor, GMT_COLUMN_curve_layer, layer);
	}
	return state &&
		gmt_events_reader_init(&state->reader, &cursor->recording->blocks.changes,
			GMT_EVENTS_ALL) &&
		!cursor->failed;
}

static bool set_row(const struct gmt_read_cursor *cursor, struct curve_state *state,
	const struct gmt_listed_change *change, struct gmt_row_curve *row)
{
	const struct gmt_step_series *series = &cursor->recording->pipeline.timeline.series[0];
	int64_t time_ns = gmt_read_recording_time_ns(cursor->recording, change->stamp);
	bool has_step;

	if (!gmt_filter_device(cursor, change->device) || !gmt_filter_layer(cursor, change->layer) ||
		!gmt_filter_time(cursor, time_ns))
		return false;
	has_step = gmt_series_find_next(series, change->stamp, &state->step);
	if (!gmt_filter_step(cursor, has_step, state->step))
		return false;
	*row = (struct gmt_row_curve){
		.time_ns = time_ns,
		.layer = state->layers[change->layer],
		.device = change->device,
		.live_bytes = change->live_bytes,
		.live_blocks = change->live_blocks,
	};
	GMT_SET_KNOWN(row, curve, step, has_step, state->step);
	return true;
}

size_t gmt_read_curve(struct gmt_read_cursor *cursor, void *ret_rows, size_t max)
{
	struct curve_state *state = cursor->state;
	const struct gmt_events *changes = &cursor->recording->blocks.changes;
	struct gmt_row_curve *rows = ret_rows;
	size_t count = 0;

	for (; state->next < changes->count && count < max; state->next++) {
		struct gmt_listed_change change = gmt_listed_change(&state->reader, state->next);

		count += set_row(cursor, state, &change, &rows[count]);
	}
	cursor->failed |= gmt_events_failed(changes);
	return count;
}

void gmt_close_curve(struct gmt_read_cursor *cursor)
{
	struct curve_state *state = cursor->state;

	if (state)
		gmt_events_reader_fini(&state->reader);
	free(state);
}
