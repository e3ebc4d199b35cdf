/* SPDX-License-Identifier: MIT */
#include "render/info.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "render/function_coverage.h"
#include "render/recording_head.h"
#include "render/console.h"
#include "render/lines/wrap_stream.h"

/*
 * Writes nothing if the recorder reported no overhead: it is older, or its writer has not yet
 * worked for a whole second.
 */
static void write_overhead(const struct gmt_overhead_estimate *overhead, FILE *file)
{
	if (!overhead->timed_calls && !overhead->writer_ns)
		return;
	fputs("  overhead  ", file);
	if (overhead->timed_calls)
		fprintf(file,
			"estimated from %s timed calls: %s for each call in the program's threads, %s "
			"for all; ",
			gmt_text_count(overhead->timed_calls).text, gmt_text_duration(overhead->call_ns).text,
			gmt_text_duration(overhead->calls_ns).text);
	else
		fputs("too few calls to estimate it in the program's threads; ", file);
	fprintf(file, "%s in the recorder's writer thread\n",
		gmt_text_duration(overhead->writer_ns).text);
}

static void write_devices(const struct gmt_recording *recording, const struct gmt_console *console)
{
	for (size_t i = 0; i < recording->devices.count; i++) {
		const struct gmt_device *device = &recording->devices.items[i];

		fprintf(console->file, "  GPU %-5u ", device->ordinal);
		gmt_console_text(console, device->name.text);
		fprintf(console->file, ", %s, ", gmt_text_size(device->total_bytes).text);
		gmt_console_text(console, device->uuid.text);
		fputc('\n', console->file);
	}
}

static void write_tables(const struct gmt_info *info, const struct gmt_console *console)
{
	const struct gmt_recording *recording = info->recording;

	fprintf(console->file, "\n  %-32s %11s %11s %8s %8s %8s\n", "events by function", "allocs",
		"frees", "refused", "bad free", "others");
	for (size_t i = 0; i < info->event_counts->apis.count; i++) {
		const struct gmt_event_counts_api *row = &info->event_counts->apis.items[i];
		const struct gmt_api *api = gmt_recording_api(recording, row->api);
		char name[200];

		if (api)
			snprintf(name, sizeof(name), "%.190s", api->name.text);
		else
			snprintf(name, sizeof(name), "function %u", row->api);
		fputs("  ", console->file);
		gmt_console_padded(console, name, 32);

		uint64_t shown = row->counts[GMT_KIND_ALLOC] + row->counts[GMT_KIND_FREE] +
			row->counts[GMT_KIND_ALLOC_FAILED] + row->counts[GMT_KIND_FREE_FAILED];

		fprintf(console->file,
			" %11" PRIu64 " %11" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 "\n",
			row->counts[GMT_KIND_ALLOC], row->counts[GMT_KIND_FREE],
			row->counts[GMT_KIND_ALLOC_FAILED], row->counts[GMT_KIND_FREE_FAILED],
			row->counts[0] > shown ? row->counts[0] - shown : 0);
	}
	fprintf(console->file, "\n  %-32s %11s\n", "events by thread", "events");
	for (size_t i = 0; i < info->event_counts->threads.count; i++) {
		const struct gmt_event_counts_thread *row = &info->event_counts->threads.items[i];
		const struct gmt_thread *thread = gmt_recording_thread(recording, row->thread);

		fprintf(console->file, "  %-10u ", thread ? thread->tid : row->thread);
		gmt_console_padded(console, thread ? thread->name.text : "?", 21);
		fprintf(console->file, " %11" PRIu64 "\n", row->events);
	}
}

static void write_info(const struct gmt_info *info, FILE *file)
{
	const struct gmt_recording *recording = info->recording;
	struct gmt_console console = { file, info->color };

	gmt_recording_head_text(&console, recording, info->warnings);
	fprintf(file, "  file      %s, %.1f bytes per event\n",
		gmt_text_size(recording->file_bytes).text,
		recording->seen_events ? (double)recording->file_bytes / (double)recording->seen_events
							   : 0.0);
	fputs(gmt_recording_is_imported(recording) ? "  importer  version " : "  recorder  version ",
		file);
	gmt_console_text(&console, recording->recorder_version);
	if (!gmt_recording_is_imported(recording)) {
		fputs(" on ", file);
		gmt_console_text(&console, recording->machine);
	}
	fputs("\n  options  ", file);
	for (size_t i = 0; i < recording->options.count; i++) {
		fputc(' ', file);
		gmt_console_text(&console, recording->options.items[i].key.text);
		fputc('=', file);
		gmt_console_text(&console, recording->options.items[i].value.text);
	}
	fprintf(file,
		"\n  stacks    %zu native, %zu Python, %zu pairs; %zu modules, %zu Python functions\n",
		recording->stacks.count, recording->frames.count, recording->traces.count,
		recording->modules.count, recording->codes.count);
	write_overhead(&info->overhead, file);
	write_devices(recording, &console);
	if (info->coverage)
		gmt_function_coverage_text(info->coverage, &console);
	else
		write_tables(info, &console);
	fputs("\nnext: gpumemtrace report ", file);
	gmt_console_argument(&console, recording->path);
	fputc('\n', file);
}

void gmt_info_text(const struct gmt_info *info, FILE *file)
{
	FILE *wrapped = gmt_wrap_stream_open(file);

	write_info(info, wrapped);
	gmt_wrap_stream_close(wrapped, file);
}
