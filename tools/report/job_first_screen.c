/* SPDX-License-Identifier: MIT */
#include "tools/report/job_first_screen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/recording/recorded_program.h"
#include "base/text.h"
#include "containers/vec.h"
#include "render/lines/wrap_stream.h"
#include "render/leaks.h"
#include "render/console.h"

enum { MAX_SHOWN_ROWS = 64, FILE_COLUMNS = 36 };

struct row {
	char file[256]; /* a longer name loses its front */
	char leak_line[1024]; /* of the first leak */
	int32_t rank; /* below 0: unknown */
	int32_t device;
	uint64_t peak_bytes, total_bytes; /* total_bytes 0: unknown */
	uint64_t leaks, ooms;
	bool is_complete;
};

/* A GMT_VEC of rows. */
struct rows {
	struct row *items;
	size_t count, capacity;
};

/* Sets row->leak_line to the text that the first screen of the recording has for its first leak. */
static void set_leak_line(const struct gmt_pipeline *pipeline, struct row *row)
{
	const struct gmt_leak *leak = &pipeline->leaks.rows.items[0];
	char line[4096];
	FILE *file = fmemopen(line, sizeof(line), "w");
	const struct gmt_console console = { .file = file };

	if (!file)
		return;
	fprintf(file, "%s  ", gmt_leak_amount(leak).text);
	if (leak->stack == GMT_LEAK_NO_STACK)
		fputs("no single line", file);
	else
		gmt_console_own_line(&console, pipeline->recording, &pipeline->traces, leak->stack,
			leak->own_line);
	fclose(file);
	line[sizeof(line) - 1] = 0;
	gmt_text_copy(row->leak_line, sizeof(row->leak_line), line);
}

void gmt_job_first_screen_write_row(const struct gmt_pipeline *pipeline, FILE *rows)
{
	const struct gmt_overview *overview = &pipeline->overview;
	struct row row;

	/* The file gets the padding between the members too. */
	memset(&row, 0, sizeof(row));
	gmt_text_copy(row.file, sizeof(row.file),
		gmt_text_tail(pipeline->recording->path, sizeof(row.file) - 1));
	row.rank = pipeline->recording->process.rank;
	row.device = overview->account ? overview->account->device : GMT_DEVICE_UNKNOWN;
	row.peak_bytes = overview->account ? overview->account->peak_bytes : 0;
	row.total_bytes = overview->device ? overview->device->total_bytes : 0;
	row.leaks = pipeline->leaks.rows.count;
	row.ooms = pipeline->ooms.failures;
	row.is_complete = gmt_recording_complete(pipeline->recording);
	if (row.leaks)
		set_leak_line(pipeline, &row);
	fwrite(&row, sizeof(row), 1, rows);
}

static bool read_rows(FILE *file, struct rows *ret_rows)
{
	struct row *row;

	rewind(file);
	while ((row = gmt_vec_push(ret_rows)))
		if (fread(row, sizeof(*row), 1, file) != 1) {
			ret_rows->count--;
			return true;
		}
	return false;
}

static void write_row(const struct row *row, FILE *text)
{
	const struct gmt_console console = { .file = text };
	const char *file = gmt_text_tail(row->file, FILE_COLUMNS);

	if (row->rank >= 0)
		fprintf(text, "%5" PRId32 "  ", row->rank);
	else
		fprintf(text, "%5s  ", "-");
	fprintf(text, "%10s ", gmt_text_size(row->peak_bytes).text);
	if (row->device == GMT_DEVICE_HOST)
		fprintf(text, "  host  ");
	else if (row->total_bytes)
		fprintf(text, "%4.0f %%  ", 100.0 * (double)row->peak_bytes / (double)row->total_bytes);
	else
		fprintf(text, "%6s  ", "-");
	fprintf(text, "%5s %4s  %-4s ", gmt_text_count(row->leaks).text, gmt_text_count(row->ooms).text,
		row->is_complete ? "" : "cut");
	gmt_console_text(&console, file);
	fputc('\n', text);
}

static void write_extremes(const struct rows *rows, FILE *text)
{
	const struct gmt_console console = { .file = text };
	const struct row *high = rows->items, *low = rows->items;

	for (size_t i = 1; i < rows->count; i++) {
		const struct row *row = &rows->items[i];

		high = row->peak_bytes > high->peak_bytes ? row : high;
		low = row->peak_bytes < low->peak_bytes ? row : low;
	}
	fprintf(text, "peaks           %s to %s; the highest in ", gmt_text_size(low->peak_bytes).text,
		gmt_text_size(high->peak_bytes).text);
	if (high->rank >= 0)
		fprintf(text, "rank %" PRId32, high->rank);
	else
		gmt_console_text(&console, high->file);
	fputc('\n', text);
}

static void write_count(const char *label, uint64_t count, size_t all, const char *none, FILE *text)
{
	if (count)
		fprintf(text, "%sin %s of %zu recordings\n", label, gmt_text_count(count).text, all);
	else
		fprintf(text, "%s%s\n", label, none);
}

/* Writes the verdict on all recordings. */
static void write_verdict(const struct rows *rows, FILE *text)
{
	uint64_t with_leaks = 0, with_ooms = 0, incomplete = 0;
	const struct row *leak = NULL;

	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->items[i];

		with_leaks += row->leaks > 0;
		with_ooms += row->ooms > 0;
		incomplete += !row->is_complete;
		leak = row->leaks && !leak ? row : leak;
	}
	fprintf(text, "%zu recording%s%s", rows->count, rows->count == 1 ? "" : "s",
		incomplete ? ", " : ", all complete");
	if (incomplete)
		fprintf(text, "%s INCOMPLETE", gmt_text_count(incomplete).text);
	fputc('\n', text);
	write_extremes(rows, text);
	write_count("out of memory   ", with_ooms, rows->count, "no", text);
	write_count("leaks           ", with_leaks, rows->count, "none found", text);
	if (leak)
		/* set_leak_line made the text safe. */
		fprintf(text, "                %s\n", leak->leak_line);
}

bool gmt_job_first_screen_write(FILE *rows, FILE *document)
{
	struct rows all = { 0 };
	bool done = read_rows(rows, &all);
	FILE *text = gmt_wrap_stream_open(document);

	if (done && all.count) {
		write_verdict(&all, text);
		fputs("\n rank        peak of GPU  leaks  oom       recording\n", text);
		for (size_t i = 0; i < all.count && i < MAX_SHOWN_ROWS; i++)
			write_row(&all.items[i], text);
		if (all.count > MAX_SHOWN_ROWS)
			fprintf(text, "      and %s more\n", gmt_text_count(all.count - MAX_SHOWN_ROWS).text);
		fputs("\nnext: gpumemtrace report FILE   # one recording\n"
			  "      gpumemtrace report --html FILE...   # a page with all\n",
			text);
	}
	gmt_wrap_stream_close(text, document);
	gmt_vec_fini(&all);
	return done;
}
