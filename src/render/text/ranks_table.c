/* SPDX-License-Identifier: MIT */
#include "render/text/ranks_table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Lines around the rows: an empty line, the head, the next command. */
enum { LINES_AROUND = 3, HOST_COLUMNS = 14 };

/* A rank. A larger weight means that the rank is more unusual. */
struct row {
	uint32_t index;
	int weight;
	uint64_t bytes;
};

void gmt_ranks_write(struct gmt_ranks_writer *writer, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(writer->screen.line.file, format, arguments);
	va_end(arguments);
}

void gmt_ranks_end(struct gmt_ranks_writer *writer)
{
	gmt_screen_end_line(&writer->screen, GMT_CONSOLE_NORMAL);
}

void gmt_ranks_name(struct gmt_ranks_writer *writer, uint32_t index)
{
	const struct gmt_job_rank *rank = &writer->job->ranks.items[index];

	if (rank->launch.rank >= 0) {
		gmt_ranks_write(writer, "rank %" PRId32, rank->launch.rank);
		return;
	}
	gmt_console_text(&writer->screen.line,
		gmt_job_text_of(writer->job->store, rank->summary->host));
	gmt_ranks_write(writer, ":%" PRIu32, rank->summary->pid);
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	if (left->weight != right->weight)
		return left->weight > right->weight ? -1 : 1;
	if (left->bytes != right->bytes)
		return left->bytes > right->bytes ? -1 : 1;
	return left->index < right->index ? -1 : 1;
}

static int compare_indices(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	return (left->index > right->index) - (left->index < right->index);
}

static int weight_of(const struct gmt_job *job, uint32_t index)
{
	const struct gmt_job_rank *rank = &job->ranks.items[index];

	return 16 * (index == job->first_failure.rank || index == job->first_killed) +
		8 * (rank->failure != NULL) + 4 * (rank->growth != NULL && job->grown < job->ranks.count) +
		4 * rank->is_outlier + 2 * (rank->summary->end != GMT_PROCESS_END_CLEAN) +
		(rank->group != GMT_JOB_NONE && job->groups[rank->group].median_rank == index);
}

/* Writes the notes on a rank: how it ended, refused requests, growth and so on. */
static void write_words(struct gmt_ranks_writer *writer, const struct gmt_job_rank *rank)
{
	bool any = false;
	const struct {
		bool holds;
		const char *words;
	} notes[] = {
		{ rank->summary->end != GMT_PROCESS_END_CLEAN, gmt_process_end_words(rank->summary->end) },
		{ rank->failure && rank->summary->end != GMT_PROCESS_END_OUT_OF_MEMORY, "refused" },
		{ rank->growth, "grows" },
		{ rank->is_outlier, "outlier" },
		{ !rank->account, "no GPU memory" },
		{ rank->restarts, "restarted" },
	};

	for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++)
		if (notes[i].holds) {
			gmt_ranks_write(writer, "%s%s", any ? ", " : "  ", notes[i].words);
			any = true;
		}
}

static void write_row(struct gmt_ranks_writer *writer, uint32_t index)
{
	const struct gmt_job_rank *rank = &writer->job->ranks.items[index];
	const struct gmt_summarized_account *account = rank->account;
	const char *host = gmt_job_text_of(writer->job->store, rank->summary->host);

	if (rank->launch.rank >= 0)
		gmt_ranks_write(writer, "%5" PRId32 " ", rank->launch.rank);
	else
		gmt_ranks_write(writer, "%5" PRIu32 " ", rank->summary->pid);
	gmt_console_padded(&writer->screen.line, gmt_text_tail(host, HOST_COLUMNS), HOST_COLUMNS);
	gmt_ranks_write(writer, "%10s", account ? gmt_text_size(rank->peak_bytes).text : "-");
	if (rank->total_bytes)
		gmt_ranks_write(writer, "%4.0f %%",
			100.0 * (double)rank->peak_bytes / (double)rank->total_bytes);
	else
		gmt_ranks_write(writer, "%6s", "-");
	if (account && account->has_step)
		gmt_ranks_write(writer, "%8" PRIu32, account->peak_step);
	else
		gmt_ranks_write(writer, "%8s", "-");
	gmt_ranks_write(writer, "%11s",
		account && account->has_reserved ? gmt_text_size(account->reserved_peak_bytes).text : "-");
	gmt_ranks_write(writer, "%7s", gmt_text_count(rank->summary->steps).text);
	write_words(writer, rank);
	gmt_ranks_end(writer);
}

/* Chooses the rows for the room that is left on the screen. Returns their number. */
static size_t choose(struct row *rows, size_t count, size_t room)
{
	if (count <= room)
		return count;
	/* One line says how many more there are. */
	size_t shown = room > 1 ? room - 1 : 0;

	qsort(rows, count, sizeof(*rows), compare_rows);
	qsort(rows, shown, sizeof(*rows), compare_indices);
	return shown;
}

static void write_rows(struct gmt_ranks_writer *writer, const struct row *rows, size_t shown,
	size_t count)
{
	gmt_ranks_end(writer);
	gmt_ranks_write(writer, "%s host            peak of GPU at step   reserved  steps",
		writer->job->has_ranks ? " rank" : "  pid");
	gmt_screen_end_line(&writer->screen, GMT_CONSOLE_BOLD);
	for (size_t i = 0; i < shown; i++)
		write_row(writer, rows[i].index);
	if (shown < count) {
		gmt_ranks_write(writer, "      and %s more", gmt_text_count(count - shown).text);
		gmt_ranks_end(writer);
	}
}

/* Writes the command that examines the most unusual rank. */
static void write_next(struct gmt_ranks_writer *writer, const struct row *rows, size_t count)
{
	const struct row *first = NULL;
	char recording[GMT_JOB_PATH];

	for (size_t i = 0; i < count; i++)
		if (rows[i].weight > 1 && (!first || compare_rows(&rows[i], first) < 0))
			first = &rows[i];
	gmt_ranks_write(writer, "next: gpumemtrace ");
	if (!first) {
		gmt_ranks_write(writer, "ranks --full ...   # all ranks, all lines");
	} else {
		const struct gmt_job_rank *rank = &writer->job->ranks.items[first->index];

		gmt_ranks_write(writer, "%s ", rank->growth ? "leaks" : "report");
		gmt_console_argument(&writer->screen.line,
			gmt_job_recording_path(writer->job, rank, recording));
		gmt_ranks_write(writer, "   # ");
		gmt_ranks_name(writer, first->index);
	}
	gmt_screen_end_uncut(&writer->screen);
}

bool gmt_ranks_table(struct gmt_ranks_writer *writer)
{
	const struct gmt_job *job = writer->job;
	size_t count = job->ranks.count, used = writer->screen.count + LINES_AROUND, shown = count;
	struct row *rows = malloc((count + 1) * sizeof(*rows));

	if (!rows)
		return false;
	for (uint32_t i = 0; i < count; i++)
		rows[i] = (struct row){ i, weight_of(job, i), job->ranks.items[i].peak_bytes };
	if (!writer->view->is_full)
		shown = choose(rows, count, used < GMT_RANKS_SCREEN ? GMT_RANKS_SCREEN - used : 0);
	if (shown)
		write_rows(writer, rows, shown, count);
	if (!writer->view->is_full)
		write_next(writer, rows, count);
	free(rows);
	return true;
}
