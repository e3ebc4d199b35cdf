/* SPDX-License-Identifier: MIT */
#include "analysis/history_captures.h"

static void want(struct gmt_history *history, enum gmt_history_moment moment, uint64_t stamp)
{
	struct gmt_history_capture *capture = &history->captures[moment];

	capture->wanted = true;
	if (stamp > capture->stamp)
		capture->stamp = stamp;
}

void gmt_history_choose_moments(struct gmt_history *history, const struct gmt_timeline *timeline)
{
	want(history, GMT_MOMENT_WORK_END, timeline->work_end);
	for (size_t i = 0; i < timeline->series_count; i++) {
		const struct gmt_step_series *series = &timeline->series[i];

		want(history, i ? GMT_MOMENT_LAST_STEP_2 : GMT_MOMENT_LAST_STEP,
			series->steps.items[series->steps.count - 1].end);
	}
	for (size_t i = 0; i < timeline->phases.count; i++)
		if (timeline->phases.items[i].source == GMT_MARK_SOURCE_PROGRAM && !timeline->phases.items[i].open)
			want(history, GMT_MOMENT_LAST_PHASE, timeline->phases.items[i].end);
	if (history->captures[GMT_MOMENT_LAST_PHASE].wanted && timeline->series_count)
		want(history, GMT_MOMENT_LAST_PHASE, history->captures[GMT_MOMENT_LAST_STEP].stamp);
}

/* Notes down what lives now. */
bool gmt_history_capture_now(struct gmt_history_capture *capture, const struct gmt_books *books)
{
	capture->taken = true;
	for (uint8_t layer = 0; layer < GMT_BOOKS_LAYERS; layer++) {
		struct gmt_books_place place;

		for (size_t cursor = 0; gmt_books_next_block(books, layer, &cursor, &place);) {
			struct gmt_history_block *block = gmt_vec_push(&capture->blocks);

			if (!block)
				return false;
			*block = (struct gmt_history_block){
				.stamp = place.block.stamp, .address = place.address,
				.size_bytes = place.block.size_bytes, .site = place.block.site, .layer = layer,
			};
		}
	}
	for (size_t i = 0; i < books->accounts.count; i++) {
		struct gmt_books_account *account = gmt_vec_push(&capture->accounts);

		if (!account)
			return false;
		*account = books->accounts.items[i];
	}
	return true;
}
