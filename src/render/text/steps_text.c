/* SPDX-License-Identifier: MIT */
#include "render/leaks.h"

#include <string.h>

#include "base/text.h"

static void write_row(const struct gmt_step_parts_row *row, unsigned part,
	const struct gmt_console *console)
{
	struct gmt_text kept =
		gmt_text_size(row->kept_bytes < 0 ? 0 : (uint64_t)(row->kept_bytes + 0.5));

	fprintf(console->file, "  %-10s %12s %12s %12s %12s", gmt_step_parts_name(part),
		gmt_text_size(row->made_bytes).text, gmt_text_size(row->carried_bytes).text,
		row->kept_bytes < 0 ? "not known" : kept.text, gmt_text_size(row->peak_bytes).text);
	if (part == GMT_STEP_PARTS_EVALUATION)
		fprintf(console->file, "  in each of %s calls", gmt_text_count(row->times).text);
	else if (part == GMT_STEP_PARTS_EPOCH)
		fprintf(console->file, "  in each of %s epochs", gmt_text_count(row->times).text);
	fputc('\n', console->file);
}

static void write_account(const struct gmt_step_parts_row *rows, const struct gmt_console *console)
{
	/* The order of the parts in a step. */
	static const unsigned order[GMT_STEP_PARTS] = {
		GMT_PART_FORWARD,
		GMT_PART_BACKWARD,
		GMT_PART_OPTIMIZER,
		GMT_PART_OTHER,
		GMT_STEP_PARTS_EVALUATION,
		GMT_STEP_PARTS_EPOCH,
	};

	for (size_t i = 0; i < GMT_STEP_PARTS; i++)
		if (rows[order[i]].times)
			write_row(&rows[order[i]], order[i], console);
}

/* Omits the reason if the section on leaks has already stated it. */
static void write_why_no_steps(const struct gmt_leaks_view *view, const struct gmt_console *console)
{
	const char *why = view->timeline->why_no_steps,
			   *why_no_growth = view->leaks->why_growth_not_judged;
	bool is_written = why_no_growth && strcmp(why, why_no_growth) == 0;

	char text[400];

	snprintf(text, sizeof(text), "Steps: none found%s%s", is_written ? "" : ": ",
		is_written ? "" : why);
	fputc('\n', console->file);
	gmt_console_wrap(console->file, 0, 2, text);
}

void gmt_steps_text(const struct gmt_leaks_view *view, const struct gmt_console *console)
{
	const struct gmt_history_series *series = &view->history->series[0];
	const struct gmt_step_series *steps = &view->timeline->series[0];
	const struct gmt_step_parts *parts = view->step_parts;

	if (!view->timeline->series_count) {
		write_why_no_steps(view, console);
		return;
	}
	for (size_t i = 0; parts && i < parts->rows.count / GMT_STEP_PARTS; i++) {
		const struct gmt_account *account = &view->replay->accounting.accounts.items[i];

		bool is_only = series->step_count == 1;

		if (account->layer != GMT_LAYER_TORCH)
			continue;
		fputc('\n', console->file);
		gmt_console_style(console, GMT_CONSOLE_BOLD);
		fprintf(console->file, "A step on GPU %d: %s%s by %s%s", account->device,
			is_only ? "" : "average of ", gmt_text_count(series->step_count - !is_only).text,
			gmt_step_source_name(steps->source), is_only ? "" : ", without the first");
		gmt_console_style(console, GMT_CONSOLE_NORMAL);
		fputc('\n', console->file);
		gmt_console_style(console, GMT_CONSOLE_DIM);
		fprintf(console->file, "  %-10s %12s %12s %12s %12s\n", "part", "allocates", "carries on",
			"keeps", "peak");
		gmt_console_style(console, GMT_CONSOLE_NORMAL);
		write_account(&parts->rows.items[i * GMT_STEP_PARTS], console);
	}
}
