/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "base/text.h"
#include "format/format.h"
#include "render/job_diff.h"
#include "render/lines/wrap_stream.h"
#include "render/console.h"

enum { BASE = GMT_JOB_DIFF_BASE, NEW = GMT_JOB_DIFF_NEW, ROWS = 20, LIST_BYTES = 80 };

static const char *const labels[] = { "base", "new" };

struct writer {
	const struct gmt_job_diff_view *view;
	const struct gmt_job_diff *diff;
	struct gmt_console console;
	FILE *file;
};

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static uint64_t absolute(int64_t bytes)
{
	return bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
}

static void write_job(const struct writer *writer, unsigned side)
{
	const struct gmt_job *job = writer->diff->jobs[side];

	fprintf(writer->file, "%-6s", labels[side]);
	gmt_console_text(&writer->console, writer->view->paths[side]);
	fputs(": ", writer->file);
	gmt_console_text(&writer->console, gmt_job_text_of(job->store, job->key));
	fprintf(writer->file, ", %zu %s%s, %s step%s\n", job->ranks.count,
		job->has_ranks ? "rank" : "process",
		job->has_ranks || job->ranks.count == 1 ? plural(job->ranks.count) : "es",
		gmt_text_count(job->most_steps).text, plural(job->most_steps));
	for (size_t i = 0; i < job->remarks.count; i++) {
		fputs("  note      ", writer->file);
		gmt_console_text(&writer->console, job->remarks.items[i]);
		fputc('\n', writer->file);
	}
}

static void write_peaks(const struct writer *writer, unsigned side)
{
	const struct gmt_spread *peaks = &writer->diff->jobs[side]->peaks;

	fprintf(writer->file, "  %-6s  ", labels[side]);
	if (peaks->count)
		fprintf(writer->file, "%s to %s, median %s\n", gmt_text_size(peaks->min).text,
			gmt_text_size(peaks->max).text, gmt_text_size(peaks->median).text);
	else
		fputs("no rank holds device memory\n", writer->file);
}

static void write_only(const struct writer *writer, unsigned side)
{
	char list[LIST_BYTES];
	size_t count = writer->diff->only[side].count;

	if (!count)
		return;
	gmt_job_list_ranks(writer->diff->only[side].items, count, list, sizeof(list));
	gmt_console_style(&writer->console, GMT_CONSOLE_WARN);
	fprintf(writer->file, "only in %s: %zu rank%s: %s\n", labels[side], count, plural(count), list);
	gmt_console_style(&writer->console, GMT_CONSOLE_NORMAL);
}

static void write_row(const struct writer *writer, const struct gmt_job_diff_rank *row)
{
	const struct gmt_job *const *jobs = writer->diff->jobs;
	const struct gmt_job_rank *base = &jobs[BASE]->ranks.items[row->index[BASE]];
	const struct gmt_job_rank *new = &jobs[NEW]->ranks.items[row->index[NEW]];
	char difference[40];

	snprintf(difference, sizeof(difference), "%s%s", row->bytes < 0 ? "-" : "+",
		gmt_text_size(absolute(row->bytes)).text);
	if (new->launch.rank >= 0)
		fprintf(writer->file, "%5" PRId32, new->launch.rank);
	else
		fprintf(writer->file, "%5" PRIu32, new->summary->pid);
	fprintf(writer->file, "%11s%11s%13s", gmt_text_size(base->peak_bytes).text,
		gmt_text_size(new->peak_bytes).text, difference);
	if (base->peak_bytes)
		fprintf(writer->file, "%+7.1f %%", 100.0 * (double)row->bytes / (double)base->peak_bytes);
	else
		fputs("         ", writer->file);
	if (base->growth || new->growth)
		fputs(!base->growth    ? "  grows now"
				: !new->growth ? "  grows no more"
							   : "  grows",
			writer->file);
	if (base->summary->end != new->summary->end)
		fprintf(writer->file, "  %s -> %s", gmt_process_end_words(base->summary->end),
			gmt_process_end_words(new->summary->end));
	fputc('\n', writer->file);
	for (uint32_t i = 0; i < row->line_count; i++) {
		const struct gmt_job_diff_line *line = &row->lines[i];
		bool is_less = line->bytes[NEW] < line->bytes[BASE];

		fprintf(writer->file, "%*s%s%s  ", 29, "", is_less ? "-" : "+",
			gmt_text_size(is_less ? line->bytes[BASE] - line->bytes[NEW]
								  : line->bytes[NEW] - line->bytes[BASE])
				.text);
		gmt_console_text(&writer->console, line->file);
		if (*line->function)
			fputs(*line->file ? ":" : "", writer->file);
		gmt_console_text(&writer->console, line->function);
		if (!*line->file && !*line->function)
			fputs("no stack was recorded", writer->file);
		fputc('\n', writer->file);
	}
}

static void write_rows(const struct writer *writer)
{
	const struct gmt_job_diff *diff = writer->diff;
	uint64_t limit = writer->view->limit == UINT64_MAX ? ROWS : writer->view->limit;
	size_t changed = 0, shown = 0;

	for (size_t i = 0; i < diff->ranks.count; i++)
		changed += diff->ranks.items[i].bytes &&
			absolute(diff->ranks.items[i].bytes) >= writer->view->threshold_bytes;
	fprintf(writer->file, "\n%zu of %zu ranks differ", changed, diff->ranks.count);
	if (writer->view->threshold_bytes)
		fprintf(writer->file, " by %s or more", gmt_text_size(writer->view->threshold_bytes).text);
	fputc('\n', writer->file);
	if (!changed)
		return;
	gmt_console_heading(&writer->console,
		diff->jobs[NEW]->has_ranks ? " rank       base        new   difference"
								   : "  pid       base        new   difference");
	/* The ranks are in the order of their difference. */
	for (; shown < changed && shown < limit; shown++)
		write_row(writer, &diff->ranks.items[shown]);
	if (shown < changed)
		fprintf(writer->file, "      and %s more (--limit)\n",
			gmt_text_count(changed - shown).text);
}

bool gmt_job_diff_text(const struct gmt_job_diff_view *view, FILE *file)
{
	FILE *wrapped = gmt_wrap_stream_open(file);
	const struct writer writer = {
		.view = view,
		.diff = view->diff,
		.console = { .file = wrapped, .color = view->color },
		.file = wrapped,
	};

	for (unsigned side = 0; side < GMT_JOB_DIFF_SIDES; side++)
		write_job(&writer, side);
	if (view->diff->has_other_layer)
		fprintf(wrapped, "warning: the peaks are of different layers: %s and %s\n",
			gmt_layer_name(view->diff->jobs[BASE]->layer),
			gmt_layer_name(view->diff->jobs[NEW]->layer));
	fputs("\npeaks of the ranks\n", wrapped);
	for (unsigned side = 0; side < GMT_JOB_DIFF_SIDES; side++)
		write_peaks(&writer, side);
	for (unsigned side = 0; side < GMT_JOB_DIFF_SIDES; side++)
		write_only(&writer, side);
	write_rows(&writer);
	gmt_wrap_stream_close(wrapped, file);
	return true;
}
