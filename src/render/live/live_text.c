/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "analysis/recording/recorded_program.h"
#include "base/safe_text.h"
#include "base/text.h"
#include "render/live/live.h"
#include "render/memory_names.h"

enum { MAX_BARS = 240, BAR_MARGIN = 12 };

const char *gmt_live_order_name(enum gmt_live_order order)
{
	static const char *const names[] = {
		[GMT_LIVE_BY_LIVE] = "live",
		[GMT_LIVE_BY_GROWTH] = "growth",
		[GMT_LIVE_BY_ALLOCS] = "allocs",
		[GMT_LIVE_BY_TOTAL] = "total",
	};

	return names[order];
}

static void write_program(struct gmt_screen *screen, const struct gmt_live_process *process)
{
	const struct gmt_recording *recording = process->follow->recording;
	FILE *line = screen->line.file;

	gmt_console_text(&screen->line,
		recording->has_process ? gmt_recorded_program(recording) : process->path);
	fprintf(line, "  pid %" PRIu32, process->pid);
	if (recording->has_process && recording->process.rank >= 0)
		fprintf(line, "  rank %" PRId32, recording->process.rank);
	fprintf(line, "  %s", process->state);
	fprintf(line, "  for %s", gmt_text_duration(process->view->time_ns).text);
	if (process->read_percent < 100)
		fprintf(line, "  (reading: %u %%)", process->read_percent);
	gmt_screen_end_line(screen, GMT_CONSOLE_BOLD);
}

static void write_work(struct gmt_screen *screen, const struct gmt_live_process *process)
{
	const struct gmt_live_view *view = process->view;
	FILE *line = screen->line.file;

	fprintf(line, "%s events", gmt_text_count(view->events).text);
	if (process->follow->fd >= 0)
		fprintf(line, ", %s/s", gmt_text_count((uint64_t)(view->events_per_second + 0.5)).text);
	if (view->refusals)
		fprintf(line, "   %s refused", gmt_text_count(view->refusals).text);
	if (view->dropped_events)
		fprintf(line, "   %s lost", gmt_text_count(view->dropped_events).text);
	if (process->follow->is_late)
		fputs("   (not exact: events came late)", line);
	if (view->steps) {
		fprintf(line, "   step %s", gmt_text_count(view->steps->steps).text);
		if (view->seconds_per_step > 0)
			fprintf(line, ", %s each",
				gmt_text_duration((uint64_t)(view->seconds_per_step * 1e9)).text);
	}
	if (view->phase) {
		fputs("   phase ", line);
		gmt_console_text(&screen->line, view->phase);
	}
	gmt_screen_end_line(screen, GMT_CONSOLE_NORMAL);
}

static struct gmt_text known_size(bool is_known, uint64_t bytes)
{
	return is_known ? gmt_text_size(bytes) : (struct gmt_text){ "-" };
}

static void write_devices(struct gmt_screen *screen, const struct gmt_live_view *view)
{
	FILE *line = screen->line.file;

	gmt_screen_end_line(screen, GMT_CONSOLE_NORMAL);
	fprintf(line, "%-11s %10s %10s %10s %10s %10s %10s", "", "allocated", "cached", "CUDA", "other",
		"free", "peak");
	gmt_screen_end_line(screen, GMT_CONSOLE_DIM);
	for (size_t i = 0; i < view->devices.count; i++) {
		const struct gmt_live_device *device = &view->devices.items[i];
		uint64_t cached_bytes = device->reserved_bytes > device->allocated_bytes
			? device->reserved_bytes - device->allocated_bytes
			: 0;

		fprintf(line, "%-11s %10s %10s %10s", gmt_device_text(device->device).text,
			known_size(device->has_torch, device->allocated_bytes).text,
			known_size(device->has_torch, cached_bytes).text,
			gmt_text_size(device->cuda_bytes).text);
		fprintf(line, " %10s %10s %10s",
			known_size(device->has_sample,
				gmt_saturating_add_u64(device->other_bytes, device->driver_bytes))
				.text,
			known_size(device->has_sample, device->free_bytes).text,
			gmt_text_size(device->has_torch ? device->allocated_peak_bytes
											: device->cuda_peak_bytes)
				.text);
		gmt_screen_end_line(screen, GMT_CONSOLE_NORMAL);
	}
}

/* Returns the device whose process memory is the largest, among GPUs if there are any. */
static const struct gmt_live_device *largest_device(const struct gmt_live_view *view)
{
	const struct gmt_live_device *largest = NULL;

	for (size_t i = 0; i < view->devices.count; i++) {
		const struct gmt_live_device *device = &view->devices.items[i];

		if ((device->torch_curve || device->cuda_curve) &&
			(!largest || (device->device >= 0 && device->cuda_bytes > largest->cuda_bytes)))
			largest = device;
	}
	return largest;
}

/* Draws the last minutes as bars. A bar is the maximum of its seconds. */
static void write_curve(struct gmt_screen *screen, const struct gmt_live_view *view, unsigned rows)
{
	const struct gmt_live_device *device = largest_device(view);
	const struct gmt_follow_curve *curve;
	uint64_t bars[MAX_BARS] = { 0 }, highest = 0;
	uint32_t seconds, count, first;
	char title[120];

	if (!rows || !screen->is_utf8 || !device || screen->columns <= BAR_MARGIN)
		return;
	curve = device->torch_curve ? device->torch_curve : device->cuda_curve;
	count =
		screen->columns - BAR_MARGIN < MAX_BARS ? (uint32_t)screen->columns - BAR_MARGIN : MAX_BARS;
	seconds =
		view->second + 1 < GMT_FOLLOW_CURVE_SECONDS ? view->second + 1 : GMT_FOLLOW_CURVE_SECONDS;
	first = view->second + 1 - seconds;
	for (uint32_t i = 0; i < seconds; i++) {
		uint64_t bytes = gmt_follow_curve_at(curve, first + i, view->second);
		uint32_t at = (uint32_t)((uint64_t)i * count / seconds);

		/* In a short recording, a second has several bars. */
		for (; at < (uint64_t)(i + 1) * count / seconds || at == (uint64_t)i * count / seconds;
			at++)
			if (at < count && bars[at] < bytes)
				bars[at] = bytes;
		highest = highest < bytes ? bytes : highest;
	}
	if (!highest)
		return;
	snprintf(title, sizeof(title), "%s on %s, the last %s",
		device->torch_curve ? "allocated by PyTorch" : "memory from CUDA",
		gmt_device_text(device->device).text,
		gmt_text_duration((uint64_t)seconds * 1000000000).text);
	gmt_screen_end_line(screen, GMT_CONSOLE_NORMAL);
	gmt_screen_bars(screen, bars, count, rows, title);
}

static void write_name(struct gmt_screen *screen, const struct gmt_recording *recording,
	const struct gmt_live_line *row)
{
	const struct gmt_live_name *name = row->name;
	FILE *line = screen->line.file;

	gmt_screen_begin_path(screen);
	if (!name)
		fputs("(being named)", line);
	else if (!*name->function && !*name->file)
		fputs("(no stack)", line);
	else if (name->is_pin_thread)
		fputs("by PyTorch's pin-memory thread (DataLoader)", line);
	else
		gmt_console_frame(&screen->line, recording,
			&(struct gmt_console_frame){
				.function = name->function,
				.file = name->file,
				.line = name->line,
				.is_python = name->is_python,
			});
	gmt_screen_end_path(screen);
}

static void write_signed_size(FILE *line, int64_t bytes)
{
	char text[40];

	snprintf(text, sizeof(text), "%s%s",
		bytes > 0       ? "+"
			: bytes < 0 ? "-"
						: "",
		gmt_text_size(bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes).text);
	fprintf(line, " %11s", bytes ? text : "-");
}

static void write_lines(struct gmt_screen *screen, const struct gmt_live_process *process,
	const struct gmt_live_text_options *options)
{
	const struct gmt_live_view *view = process->view;
	FILE *line = screen->line.file;
	size_t end = view->lines.count, left;

	gmt_screen_end_line(screen, GMT_CONSOLE_NORMAL);
	fprintf(line, "%10s %11s %9s %9s  %s", "live", "in 10 s", "blocks", "allocs", "where");
	gmt_screen_end_line(screen, GMT_CONSOLE_DIM);
	if (end - (options->first_line < end ? options->first_line : end) > options->max_lines)
		end = options->first_line + options->max_lines;
	for (size_t i = options->first_line; i < end; i++) {
		const struct gmt_live_line *row = &view->lines.items[i];

		fprintf(line, "%10s", gmt_text_size(row->live_bytes).text);
		write_signed_size(line, row->growth_bytes);
		fprintf(line, " %9s %9s  ", gmt_text_count(row->live_blocks).text,
			gmt_text_count(row->alloc_count).text);
		write_name(screen, process->follow->recording, row);
		fprintf(line, "  %s", gmt_layer_name(row->layer));
		if (view->devices.count > 1)
			fprintf(line, ", %s", gmt_device_text(row->device).text);
		gmt_screen_end_line(screen, GMT_CONSOLE_NORMAL);
	}
	left = view->lines.count > end ? view->lines.count - end : 0;
	if (!view->lines.count)
		fputs("  nothing is live", line);
	else if (left)
		fprintf(line, "  ... and %zu more, sorted by %s", left,
			gmt_live_order_name(process->order));
	else
		return;
	gmt_screen_end_line(screen, GMT_CONSOLE_DIM);
}

void gmt_live_text(struct gmt_screen *screen, const struct gmt_live_process *process,
	const struct gmt_live_text_options *options)
{
	write_program(screen, process);
	write_work(screen, process);
	write_devices(screen, process->view);
	write_curve(screen, process->view, options->curve_rows);
	write_lines(screen, process, options);
}
