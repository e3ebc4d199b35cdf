/* SPDX-License-Identifier: MIT */
#include "render/leaks.h"

#include "base/text.h"

/* What the parts of the sampled steps did, taken together. */
struct sums {
	uint64_t made_bytes, left_bytes, peak_bytes;
	size_t steps;
};

static struct sums sums_of(const struct gmt_history_series *series, size_t account, enum gmt_part part)
{
	struct sums sums = { 0 };

	/* The first step holds what the program set up before it. */
	for (size_t sample = series->sample_count > 1; sample < series->sample_count; sample++) {
		const struct gmt_history_part *parts = gmt_history_parts_of(series, sample, account);

		if (!parts)
			continue;
		sums.steps++;
		sums.made_bytes += parts[part].made_bytes;
		sums.left_bytes += parts[part].left_bytes;
		if (parts[part].peak_bytes > sums.peak_bytes)
			sums.peak_bytes = parts[part].peak_bytes;
	}
	return sums;
}

static void write_account(const struct gmt_history_series *series, size_t account, const struct gmt_plain *plain)
{
	/* As they come in a step. */
	static const enum gmt_part order[GMT_PARTS] = {
		GMT_PART_FORWARD, GMT_PART_BACKWARD, GMT_PART_OPTIMIZER, GMT_PART_OTHER,
	};

	for (int i = 0; i < GMT_PARTS; i++) {
		enum gmt_part part = order[i];
		struct sums sums = sums_of(series, account, part);

		if (!sums.made_bytes)
			continue;
		fprintf(plain->file, "  %-10s %12s %12s %12s\n", gmt_part_name(part),
			gmt_text_size(sums.made_bytes / sums.steps).text,
			gmt_text_size(sums.left_bytes / sums.steps).text, gmt_text_size(sums.peak_bytes).text);
	}
}

static void write_why_none(const struct gmt_leaks_view *view, const struct gmt_plain *plain)
{
	fprintf(plain->file, "\nSteps: none were found: %s\n", view->timeline->why_none);
}

void gmt_steps_text(const struct gmt_leaks_view *view, const struct gmt_plain *plain)
{
	const struct gmt_history_series *series = &view->history->series[0];
	const struct gmt_step_series *steps = &view->timeline->series[0];

	if (!view->timeline->series_count) {
		write_why_none(view, plain);
		return;
	}
	for (size_t i = 0; i < view->replay->books.accounts.count; i++) {
		const struct gmt_books_account *account = &view->replay->books.accounts.items[i];

		if (account->layer != GMT_LAYER_TORCH || !series->step_count)
			continue;
		fputc('\n', plain->file);
		gmt_plain_style(plain, GMT_PLAIN_BOLD);
		fprintf(plain->file, "A step on GPU %d, of %s by %s", account->device,
			gmt_text_count(series->step_count).text, gmt_step_source_name(steps->source));
		gmt_plain_style(plain, GMT_PLAIN_NORMAL);
		fputc('\n', plain->file);
		gmt_plain_style(plain, GMT_PLAIN_DIM);
		fprintf(plain->file, "  %-10s %12s %12s %12s\n", "part", "makes", "leaves", "peak");
		gmt_plain_style(plain, GMT_PLAIN_NORMAL);
		write_account(series, i, plain);
	}
}
