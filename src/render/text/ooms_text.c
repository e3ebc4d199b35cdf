/* SPDX-License-Identifier: MIT */
#include "render/ledger.h"
#include "render/ooms.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "render/console.h"

enum {
	/* paragraphs for the last failures, which ended the program; the first has one too */
	LAST_SHOWN = 3,
	HOLDERS_SHOWN = 5,
	INDENT = 2,
};

/* Writes one paragraph into memory, from which it is broken into lines. */
struct writer {
	const struct gmt_report *report;
	const struct gmt_ooms_steps *steps;
	struct gmt_console console;
	FILE *file;
};

static void write_place(const struct writer *writer, uint32_t stack)
{
	const struct gmt_report *report = writer->report;

	gmt_console_own_line(&writer->console, report->recording, report->traces, stack,
		gmt_traces_own_line(report->traces, stack));
}

static void write_device(const struct writer *writer, const struct gmt_oom_row *row)
{
	if (row->device == GMT_DEVICE_HOST)
		fputs(" of host memory", writer->file);
	else if (row->device < 0)
		fputs(" on an unknown GPU", writer->file);
	else
		fprintf(writer->file, " on GPU %d", row->device);
}

static void write_request(const struct writer *writer, const struct gmt_oom_row *row)
{
	const struct gmt_report *report = writer->report;
	struct gmt_recording_event event = gmt_recording_event(report->recording, row->event);
	const struct gmt_api *api = gmt_recording_api(report->recording, event.api);
	uint64_t step;

	fprintf(writer->file, "At %s", gmt_text_duration(row->time_ns).text);
	if (writer->steps && writer->steps->of_stamp &&
		writer->steps->of_stamp(writer->steps->user, row->stamp, &step))
		fprintf(writer->file, ", in step %s", gmt_text_count(step).text);
	fputs(", ", writer->file);
	if (row->layer == GMT_LAYER_TORCH)
		fputs("PyTorch", writer->file);
	else
		gmt_console_text(&writer->console, api ? api->name.text : "the driver");
	fprintf(writer->file, " could not allocate %s", gmt_text_size(row->requested_bytes).text);
	write_device(writer, row);
	fputs(" for ", writer->file);
	write_place(writer, row->stack);
	fputs(". ", writer->file);
}

static void write_verdict(const struct writer *writer, const struct gmt_oom_row *row)
{
	uint64_t usable_bytes = gmt_oom_usable_bytes(row);
	uint64_t usable_with_free_bytes =
		row->free_bytes + usable_bytes; /* not used if the request would have wrapped */

	if (!gmt_oom_would_fit(row))
		fprintf(writer->file, ": %s less than requested%s. ",
			gmt_text_size(row->requested_bytes - usable_with_free_bytes).text,
			usable_bytes ? " in total" : "");
	else if (row->requested_bytes > row->free_bytes)
		fputs(": without fragmentation the request would have succeeded. ", writer->file);
	else if (row->layer == GMT_LAYER_TORCH && !row->driver_refusals)
		fputs(", which is enough, and the driver refused no request: PyTorch may have reached its "
			  "own limit (set_per_process_memory_fraction). ",
			writer->file);
	else
		fputs(", which is enough: it may be fragmented, or it became free only after the request. ",
			writer->file);
}

/* Writes PyTorch's cached memory, and the part of it that the request could not use. */
static void write_cache(const struct writer *writer, const struct gmt_oom_row *row)
{
	uint64_t usable_bytes = gmt_oom_usable_bytes(row),
			 reach_bytes = row->cached_bytes - usable_bytes;

	fprintf(writer->file, "%s PyTorch had %s cached", row->has_driver ? " and" : ";",
		gmt_text_size(row->cached_bytes).text);
	if (row->layer != GMT_LAYER_TORCH) {
		fputs(", which only PyTorch can use", writer->file);
		return;
	}
	if (reach_bytes && row->graph_bytes >= reach_bytes)
		fprintf(writer->file,
			", %s of it in private pools of CUDA graphs, which this request could not use",
			gmt_text_size(reach_bytes).text);
	else if (reach_bytes)
		fprintf(writer->file, ", %s of it in pools that this request could not use",
			gmt_text_size(reach_bytes).text);
	if (usable_bytes && row->has_hole)
		fprintf(writer->file, "%s in holes of at most %s", reach_bytes ? ", the rest" : ",",
			gmt_text_size(row->hole_bytes).text);
}

static void write_usable(const struct writer *writer, const struct gmt_oom_row *row)
{
	if (row->has_driver)
		fprintf(writer->file, "The driver had %s of %s free", gmt_text_size(row->free_bytes).text,
			gmt_text_size(row->total_bytes).text);
	else if (row->has_free)
		fprintf(writer->file, "The driver had %s free", gmt_text_size(row->free_bytes).text);
	else if (row->device != GMT_DEVICE_HOST)
		fputs("The driver's free memory is not known", writer->file);
	else
		return;
	if (row->cached_bytes)
		write_cache(writer, row);
	if (row->has_driver)
		write_verdict(writer, row);
	else
		fputs(". ", writer->file);
}

/*
 * Writes the memory that neither this process's allocations nor the driver's free memory explain,
 * if it is at least 1 % of the device's memory.
 */
static void write_outside(const struct writer *writer, const struct gmt_oom_row *row)
{
	uint64_t known = row->cuda_bytes > row->reserved_bytes ? row->cuda_bytes : row->reserved_bytes;
	uint64_t used = row->total_bytes - row->free_bytes;

	if (!row->has_driver || row->free_bytes > row->total_bytes || used <= known ||
		used - known < row->total_bytes / 100)
		return;
	fprintf(writer->file,
		"%s were in use outside of the recording: ", gmt_text_size(used - known).text);
	if (!gmt_ledger_write_refusal_text(writer->report->ledger, row->device,
			(size_t)(row - writer->report->ooms->rows.items), writer->file))
		fputs("contexts, code, other processes", writer->file);
	fputs(". ", writer->file);
}

static bool is_growing(const struct writer *writer, const struct gmt_oom_holder *holder,
	uint64_t *ret_step)
{
	return writer->steps && writer->steps->of_growth &&
		writer->steps->of_growth(writer->steps->user, holder->site, ret_step);
}

/* Returns how many bytes were missing. */
static uint64_t missing_bytes(const struct gmt_oom_row *row)
{
	uint64_t usable_with_free_bytes =
		row->has_driver ? row->free_bytes + gmt_oom_usable_bytes(row) : 0;

	return row->requested_bytes > usable_with_free_bytes
		? row->requested_bytes - usable_with_free_bytes
		: row->requested_bytes;
}

/* Returns the memory of those largest holders that grow. */
static uint64_t grown_bytes(const struct writer *writer, const struct gmt_oom_row *row)
{
	uint64_t bytes = 0, step;

	for (uint32_t i = 0; i < row->holder_count; i++)
		bytes += is_growing(writer, &row->holders[i], &step) ? row->holders[i].bytes : 0;
	return bytes;
}

/* Writes one holder. Returns its memory. */
static uint64_t write_holder(const struct writer *writer, const struct gmt_oom_holder *holder,
	uint32_t shown)
{
	uint64_t step;

	fprintf(writer->file, "%s%s by ", shown ? ", " : ": ", gmt_text_size(holder->bytes).text);
	write_place(writer, writer->report->replay->site_stacks.items[holder->site]);
	if (is_growing(writer, holder, &step))
		fprintf(writer->file, " (growing since step %s)", gmt_text_count(step).text);
	return holder->bytes;
}

/*
 * Writes the holders, largest first. The growing holders come first if their memory is at least as
 * large as the missing memory.
 */
static void write_holders(const struct writer *writer, const struct gmt_oom_row *row)
{
	uint64_t rest = row->held_bytes, step, grown = grown_bytes(writer, row);
	bool is_grown_first = grown && grown >= missing_bytes(row);
	uint32_t shown = 0;

	if (!row->holder_count)
		return;
	fprintf(writer->file, "%s held %s",
		row->holders_layer == GMT_LAYER_TORCH ? "PyTorch's blocks" : "The blocks of this process",
		gmt_text_size(row->held_bytes).text);
	for (uint32_t i = 0; i < row->holder_count && is_grown_first && shown < HOLDERS_SHOWN; i++)
		if (is_growing(writer, &row->holders[i], &step))
			rest -= write_holder(writer, &row->holders[i], shown++);
	for (uint32_t i = 0; i < row->holder_count && shown < HOLDERS_SHOWN; i++)
		if (!is_grown_first || !is_growing(writer, &row->holders[i], &step))
			rest -= write_holder(writer, &row->holders[i], shown++);
	if (rest)
		fprintf(writer->file, ", %s by others", gmt_text_size(rest).text);
	fputs(". ", writer->file);
	if (is_grown_first)
		fprintf(writer->file, "The growing lines held %s, at least as much as was missing. ",
			gmt_text_size(grown).text);
}

static void write_failure(const struct writer *writer, const struct gmt_oom_row *row)
{
	write_request(writer, row);
	write_usable(writer, row);
	write_outside(writer, row);
	write_holders(writer, row);
}

static void write_retries(const struct writer *writer, const struct gmt_oom_row *last)
{
	uint64_t count = writer->report->ooms->retries - writer->report->ooms->compacted_retries;

	if (count == 1)
		fputs("The driver refused once, and PyTorch succeeded after it emptied its cache: ",
			writer->file);
	else
		fprintf(writer->file,
			"The driver refused %s times, and PyTorch succeeded after it emptied its cache; the "
			"last: ",
			gmt_text_count(count).text);
	fprintf(writer->file, "%s at %s for ", gmt_text_size(last->requested_bytes).text,
		gmt_text_duration(last->time_ns).text);
	write_place(writer, last->stack);
	fputs(".", writer->file);
}

static void write_compacted(const struct writer *writer, const struct gmt_oom_row *none)
{
	const struct gmt_ooms *ooms = writer->report->ooms;

	(void)none;
	fputs("Among the compacted events, ", writer->file);
	if (ooms->compacted_failures)
		fprintf(writer->file, "%s request%s failed%s",
			gmt_text_count(ooms->compacted_failures).text, ooms->compacted_failures == 1 ? "" : "s",
			ooms->compacted_retries ? ", and " : "");
	if (ooms->compacted_retries)
		fprintf(writer->file, "%s request%s succeeded after PyTorch emptied its cache",
			gmt_text_count(ooms->compacted_retries).text, ooms->compacted_retries == 1 ? "" : "s");
	fputs("; the lines that held the memory then are not known.", writer->file);
}

typedef void write_function(const struct writer *writer, const struct gmt_oom_row *row);

static bool write_paragraph(struct writer *writer, write_function *write,
	const struct gmt_oom_row *row, FILE *file)
{
	char *text = NULL;
	size_t length;

	writer->file = open_memstream(&text, &length);
	if (!writer->file)
		return false;
	writer->console = (struct gmt_console){ .file = writer->file };
	write(writer, row);

	bool done = !ferror(writer->file);
	done = !fclose(writer->file) && done;
	if (done)
		gmt_console_wrap(file, INDENT, INDENT, text);
	free(text);
	return done;
}

static void write_heading(const struct gmt_report *report, FILE *file)
{
	const struct gmt_console console = { file, report->color };
	const struct gmt_ooms *ooms = report->ooms;

	fputc('\n', file);
	gmt_console_style(&console, GMT_CONSOLE_BOLD);
	if (ooms->failures)
		fprintf(file, "Out of memory: %s request%s failed", gmt_text_count(ooms->failures).text,
			ooms->failures == 1 ? "" : "s");
	else
		fputs("Out of memory, recovered from", file);
	gmt_console_style(&console, GMT_CONSOLE_NORMAL);
	fputc('\n', file);
}

/* Writes the first failure and the last failures. The heading has their total number. */
static bool write_failures(struct writer *writer, FILE *file)
{
	const struct gmt_ooms *ooms = writer->report->ooms;
	size_t count = 0, number = 0;

	for (size_t i = 0; i < ooms->rows.count; i++)
		count += !ooms->rows.items[i].recovered;
	for (size_t i = 0; i < ooms->rows.count; i++) {
		const struct gmt_oom_row *row = &ooms->rows.items[i];

		if (row->recovered || (number++ && count - number >= LAST_SHOWN))
			continue;
		if (!write_paragraph(writer, write_failure, row, file))
			return false;
		if (number == 1 && count > LAST_SHOWN + 1)
			fprintf(file, "  [%s more (see --json)]\n",
				gmt_text_count(ooms->failures - ooms->compacted_failures - LAST_SHOWN - 1).text);
	}
	return true;
}

bool gmt_ooms_text(const struct gmt_report *report, const struct gmt_ooms_steps *steps, FILE *file)
{
	const struct gmt_ooms *ooms = report->ooms;
	const struct gmt_oom_row *retry = NULL;
	struct writer writer = { .report = report, .steps = steps };

	if (!ooms->rows.count && !ooms->compacted_failures && !ooms->compacted_retries)
		return true;
	write_heading(report, file);
	for (size_t i = 0; i < ooms->rows.count; i++)
		if (ooms->rows.items[i].recovered)
			retry = &ooms->rows.items[i];
	return write_failures(&writer, file) &&
		(!retry || write_paragraph(&writer, write_retries, retry, file)) &&
		((!ooms->compacted_failures && !ooms->compacted_retries) ||
			write_paragraph(&writer, write_compacted, NULL, file));
}
