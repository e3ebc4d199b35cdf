/* SPDX-License-Identifier: MIT */
#include "render/allocator_state.h"

#include "base/text.h"
#include "reader/load/clock.h"
#include "render/console.h"
#include "render/memory_names.h"

enum { SHORT_LINES = 3, LINES = 20 };

struct writer {
	const struct gmt_allocator_state_view *view;
	struct gmt_console console;
	FILE *file;
	uint64_t limit; /* lines of a list */
	bool is_short;
};

static void write_line(const struct writer *writer, uint32_t stack, uint32_t own_line)
{
	gmt_console_own_line(&writer->console, writer->view->recording, writer->view->traces, stack,
		own_line);
}

/*
 * Writes a number at each moment, next to each other. `at` is the offset of the field in struct
 * gmt_segments.
 */
static void write_number(const struct writer *writer, const char *title,
	const struct gmt_segments *segments, size_t count, size_t at, bool in_bytes)
{
	fprintf(writer->file, "  %-38s", title);
	for (size_t i = 0; i < count; i++) {
		uint64_t value = *(const uint64_t *)(const void *)((const char *)&segments[i] + at);

		fprintf(writer->file, " %11s",
			in_bytes ? gmt_text_size(value).text : gmt_text_count(value).text);
	}
	fputc('\n', writer->file);
}

#define BYTES(title, field) \
	write_number(writer, title, segments, count, offsetof(struct gmt_segments, field), true)
#define COUNT(title, field) \
	write_number(writer, title, segments, count, offsetof(struct gmt_segments, field), false)

static void write_ratio(const struct writer *writer, const struct gmt_segments *segments,
	size_t count)
{
	const struct gmt_segments *flagged = NULL;

	fprintf(writer->file, "  %-38s", "reserved / allocated");
	for (size_t i = 0; i < count; i++) {
		double ratio = segments[i].allocated_bytes
			? (double)segments[i].reserved_bytes / (double)segments[i].allocated_bytes
			: 0;

		if (!segments[i].allocated_bytes || ratio > 99)
			fprintf(writer->file, " %10s%s", segments[i].allocated_bytes ? "> 99" : "-",
				segments[i].fragmented ? "!" : " ");
		else
			fprintf(writer->file, " %10.2f%s", ratio, segments[i].fragmented ? "!" : " ");
		flagged = segments[i].fragmented ? &segments[i] : flagged;
	}
	if (flagged)
		fprintf(writer->file, "   ! above 1.5: %s",
			flagged->hole_bytes > flagged->empty_bytes ? "most of the rest is next to blocks"
													   : "most of the rest is empty segments");
	fputc('\n', writer->file);
}

static void write_holes(const struct writer *writer, const struct gmt_segments *segments,
	size_t count)
{
	for (size_t class = 0; class < GMT_HOLE_CLASSES; class++) {
		uint64_t below = segments->holes[class].below_bytes;
		bool any = false;
		char title[64];

		for (size_t i = 0; i < count; i++)
			any |= segments[i].holes[class].holes != 0;
		if (!any)
			continue;
		if (below == UINT64_MAX)
			snprintf(title, sizeof(title), "    larger holes");
		else
			snprintf(title, sizeof(title), "    in holes below %s", gmt_text_size(below).text);
		fprintf(writer->file, "  %-38s", title);
		for (size_t i = 0; i < count; i++)
			fprintf(writer->file, " %11s", gmt_text_size(segments[i].holes[class].bytes).text);
		for (size_t i = 0; i < count; i++)
			fprintf(writer->file, "%s%s", i ? " and " : "   ",
				gmt_text_count(segments[i].holes[class].holes).text);
		fputs(" holes\n", writer->file);
	}
}

static void write_pins(const struct writer *writer, const struct gmt_segments *segments)
{
	for (size_t i = 0; i < segments->pins.count && i < writer->limit; i++) {
		const struct gmt_segments_pin *pin = &segments->pins.items[i];

		/* Half-full segments are common. The short form shows only nearly empty segments. */
		if (writer->is_short && pin->block_bytes >= (pin->free_bytes + pin->block_bytes) / 10)
			continue;
		fprintf(writer->file,
			"  kept by few blocks at the %s: %s of %s, of which blocks fill %s, by ",
			gmt_segments_moment_name(segments->moment),
			pin->segments == 1 ? "a segment" : "segments",
			gmt_text_size(pin->free_bytes + pin->block_bytes).text,
			gmt_text_size(pin->block_bytes).text);
		write_line(writer, pin->stack, pin->own_line);
		if (pin->segments > 1)
			fprintf(writer->file, " (%s segments)", gmt_text_count(pin->segments).text);
		fputc('\n', writer->file);
	}
}

static void write_others(const struct writer *writer, const struct gmt_segments *segments)
{
	const struct gmt_traces *traces = writer->view->traces;

	for (size_t i = 0; i < segments->others.count && i < writer->limit; i++) {
		const struct gmt_segments_other *other = &segments->others.items[i];

		fprintf(writer->file, "  outside of segments at the %s: %s in %s by ",
			gmt_segments_moment_name(segments->moment), gmt_text_size(other->bytes).text,
			other->blocks == 1 ? "a block" : "blocks");
		write_line(writer, other->stack, other->own_line);
		fputs(" (of ", writer->file);
		gmt_console_text(&writer->console,
			gmt_owners_name(&traces->owners,
				gmt_owners_find(&traces->owners, other->stack, GMT_LAYER_CUDA, segments->device)));
		fputs(")\n", writer->file);
	}
}

static void write_cache_releases(const struct writer *writer,
	const struct gmt_allocator_device *device)
{
	uint64_t refused = 0;

	if (!device || !device->cache_release_count)
		return;
	for (size_t i = 0; i < device->cache_releases.count; i++)
		refused += device->cache_releases.items[i].after_refusal;
	fprintf(writer->file, "  returned to the driver %s%s: %s, of which %s was reserved again",
		device->cache_release_count == 1 ? "once"
										 : gmt_text_count(device->cache_release_count).text,
		device->cache_release_count == 1 ? "" : " times",
		gmt_text_size(device->released_bytes).text, gmt_text_size(device->reacquired_bytes).text);
	if (writer->view->timeline->series_count)
		fprintf(writer->file, " within %d steps", GMT_REACQUIRE_STEPS);
	if (refused)
		fprintf(writer->file, "; %s after a refused request", gmt_text_count(refused).text);
	fputc('\n', writer->file);
	for (size_t i = 0; !writer->is_short && i < device->cache_releases.count && i < writer->limit;
		i++) {
		const struct gmt_cache_release *row = &device->cache_releases.items[i];

		fprintf(writer->file, "    at %-11s %10s in %s segments, %s reserved again\n",
			gmt_text_duration(gmt_clock_time_ns(writer->view->recording, row->stamp)).text,
			gmt_text_size(row->bytes).text, gmt_text_count(row->segments).text,
			gmt_text_size(row->reacquired_bytes).text);
	}
}

static bool has_graphs(const struct gmt_segments *segments, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (segments[i].graph_bytes)
			return true;
	return false;
}

/* Writes the moments of one device: `count` entries from `segments` on. */
static void write_segments(const struct writer *writer, const struct gmt_segments *segments,
	size_t count)
{
	const struct gmt_segments *last = &segments[count - 1];
	char title[80];

	snprintf(title, sizeof(title), "PyTorch's segments on %s",
		gmt_device_in_sentence(segments->device).text);
	gmt_console_heading(&writer->console, title);
	gmt_console_style(&writer->console, GMT_CONSOLE_DIM);
	fprintf(writer->file, "  %-38s", "");
	for (size_t i = 0; i < count; i++)
		fprintf(writer->file, " %11s",
			segments[i].moment == GMT_SEGMENTS_AT_PEAK ? "at the peak" : "at the end");
	fputc('\n', writer->file);
	gmt_console_style(&writer->console, GMT_CONSOLE_NORMAL);
	BYTES("from the driver, total (layer cuda)", driver_bytes);
	BYTES("reserved, in segments", reserved_bytes);
	if (!writer->is_short)
		COUNT("segments", segments);
	BYTES("allocated, in blocks", allocated_bytes);
	write_ratio(writer, segments, count);
	/* Segments of graphs stay as long as their graph exists. */
	BYTES(has_graphs(segments, count) ? "in empty segments"
									  : "in empty segments (empty_cache() frees)",
		empty_bytes);
	BYTES("free next to blocks", hole_bytes);
	if (!writer->is_short)
		write_holes(writer, segments, count);
	BYTES("largest hole", largest_hole_bytes);
	if (has_graphs(segments, count)) {
		BYTES("in private pools of CUDA graphs", graph_bytes);
		BYTES("  free there, not usable elsewhere", graph_free_bytes);
	}
	if (!writer->is_short) {
		COUNT("segments with less than 10 % used", pinned_segments);
		BYTES("  their size", pinned_bytes);
	}
	for (size_t i = 0; i < count; i++)
		if (segments[i].outside_blocks)
			fprintf(writer->file, "  not known at the %s: the segments of %s blocks (%s)\n",
				gmt_segments_moment_name(segments[i].moment),
				gmt_text_count(segments[i].outside_blocks).text,
				gmt_text_size(segments[i].outside_bytes).text);
	for (size_t i = writer->is_short ? count - 1 : 0; i < count; i++)
		write_pins(writer, &segments[i]);
	if (writer->is_short)
		write_others(writer, last);
	for (size_t i = 0; !writer->is_short && i < count; i++)
		write_others(writer, &segments[i]);
	write_cache_releases(writer,
		gmt_allocator_find(&writer->view->allocator_state->allocator, segments->device));
	if (!writer->is_short)
		fputs("  rounding inside blocks is not known, because only rounded sizes are recorded\n",
			writer->file);
}

static void write_all_segments(const struct writer *writer)
{
	const struct gmt_allocator_state *allocator_state = writer->view->allocator_state;
	size_t count;

	for (size_t i = 0; i < allocator_state->segments.count; i += count) {
		const struct gmt_segments *segments = &allocator_state->segments.items[i];

		for (count = 1; i + count < allocator_state->segments.count &&
			segments[count].device == segments->device;)
			count++;
		write_segments(writer, segments, count);
	}
}

static void write_stat(const struct writer *writer, const struct gmt_allocator_device *device,
	enum gmt_allocator_row row, enum gmt_allocator_pool pool)
{
	const struct gmt_allocator_stat *stat = &device->stats[row][pool];
	const uint64_t values[] = { stat->current, stat->peak, stat->allocated, stat->freed };
	static const char *const from[] = { "", "      from large pool", "      from small pool" };

	fprintf(writer->file, "  %-24s", pool == GMT_POOL_ALL ? gmt_allocator_title(row) : from[pool]);
	for (size_t i = 0; i < 4; i++)
		fprintf(writer->file, " %12s",
			gmt_allocator_in_bytes(row) ? gmt_text_size(values[i]).text
										: gmt_text_count(values[i]).text);
	fputc('\n', writer->file);
}

static void write_allocator(const struct writer *writer, const struct gmt_allocator_device *device)
{
	bool knows_segments = gmt_allocator_knows_segments(device);
	char title[100];

	snprintf(title, sizeof(title),
		"PyTorch's allocator on %s, in the form of torch.cuda.memory_summary()",
		gmt_device_in_sentence(device->device).text);
	gmt_console_heading(&writer->console, title);
	gmt_console_style(&writer->console, GMT_CONSOLE_DIM);
	fprintf(writer->file, "  %-24s %12s %12s %12s %12s\n", "", "Cur Usage", "Peak Usage",
		"Tot Alloc", "Tot Freed");
	gmt_console_style(&writer->console, GMT_CONSOLE_NORMAL);
	for (enum gmt_allocator_row row = 0; row < GMT_ALLOCATOR_ROWS; row++) {
		bool blocks_stat = row == GMT_ALLOCATOR_ALLOCATED || row == GMT_ALLOCATOR_BLOCKS;

		for (enum gmt_allocator_pool pool = 0; pool < GMT_ALLOCATOR_POOLS; pool++)
			if (knows_segments || (blocks_stat && pool == GMT_POOL_ALL))
				write_stat(writer, device, row, pool);
	}
	if (!knows_segments)
		fputs("  segments and pools are missing: some blocks lie in segments that were not "
			  "recorded\n",
			writer->file);
	fputs("  active memory, requested memory and oversize blocks are missing: a recording does not "
		  "have them\n"
		  "  non-releasable memory equals PyTorch's number, unless Tensor.record_stream is used\n",
		writer->file);
}

static void write_temporaries(const struct writer *writer, const struct gmt_temporary_rows *rows,
	bool short_lived)
{
	for (size_t i = 0; i < rows->count && i < writer->limit; i++) {
		const struct gmt_temporary *row = &rows->items[i];

		fprintf(writer->file, "  largest %10s, %9s x, %10s total  ",
			gmt_text_size(row->largest_bytes).text, gmt_text_count(row->count).text,
			gmt_text_size(row->bytes).text);
		write_line(writer, row->stack, row->own_line);
		fprintf(writer->file, "  (%s, %s)%s\n", gmt_layer_name(row->layer),
			gmt_device_in_sentence(row->device).text,
			short_lived && row->at_peak_bytes ? ", part of the peak" : "");
	}
	if (rows->count > writer->limit)
		fprintf(writer->file, "  and %s more lines: --section temporaries\n",
			gmt_text_count(rows->count - writer->limit).text);
}

static void write_all_temporaries(const struct writer *writer)
{
	const struct gmt_temporaries *temporaries = writer->view->temporaries;
	char title[160];

	if (temporaries->short_lived.count) {
		snprintf(title, sizeof(title),
			"Large short-lived blocks: at least %d %% of the peak, freed within %d allocations "
			"and %d %% of the time",
			GMT_SHORT_LIVED_PERCENT, GMT_SHORT_LIVED_ALLOCATIONS, GMT_SHORT_LIVED_LIFE_PERCENT);
		gmt_console_heading(&writer->console, title);
		write_temporaries(writer, &temporaries->short_lived, true);
	}
	if (writer->is_short)
		return;
	gmt_console_heading(&writer->console,
		"Temporaries: allocated and freed within one step, by line");
	if (temporaries->why_no_steps)
		fprintf(writer->file, "  not known: %s\n", temporaries->why_no_steps);
	write_temporaries(writer, &temporaries->in_step, false);
}

void gmt_allocator_state_text(const struct gmt_allocator_state_view *view,
	enum gmt_allocator_state_section section, bool is_short, FILE *file)
{
	const struct gmt_allocator *allocator = &view->allocator_state->allocator;
	const struct writer writer = {
		.view = view,
		.console = { file, view->color },
		.file = file,
		.is_short = is_short,
		.limit = is_short               ? SHORT_LINES
			: view->limit == UINT64_MAX ? LINES
										: view->limit,
	};

	switch (section) {
	case GMT_ALLOCATOR_STATE_PEAK:
		gmt_peaks_text(view, is_short, file);
		break;
	case GMT_ALLOCATOR_STATE_SEGMENTS:
		write_all_segments(&writer);
		break;
	case GMT_ALLOCATOR_STATE_ALLOCATOR:
		for (size_t i = 0; i < allocator->devices.count; i++)
			if (allocator->devices.items[i].stats[GMT_ALLOCATOR_BLOCKS][GMT_POOL_ALL].allocated)
				write_allocator(&writer, &allocator->devices.items[i]);
		break;
	case GMT_ALLOCATOR_STATE_TEMPORARIES:
		write_all_temporaries(&writer);
		break;
	case GMT_ALLOCATOR_STATE_TABLE:
		gmt_table_text(view, file);
		break;
	}
}
