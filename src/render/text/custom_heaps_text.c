/* SPDX-License-Identifier: MIT */
#include "render/custom_heaps.h"

#include "base/text.h"

enum { HEAPS_SHOWN = 12, SITES_SHOWN = 3, FRAMES_SHOWN = 3 };

static void write_name(const struct gmt_console *console,
	const struct gmt_interpret_heap_group *heap)
{
	gmt_console_style(console, GMT_CONSOLE_BOLD);
	gmt_console_text(console, heap->name[0] ? heap->name : "(no name)");
	gmt_console_style(console, GMT_CONSOLE_NORMAL);
	if (heap->device == GMT_DEVICE_HOST)
		fputs(", host", console->file);
	else if (heap->device < 0)
		fputs(", GPU not known", console->file);
	else
		fprintf(console->file, ", GPU %d", heap->device);
	if (heap->heaps > 1)
		fprintf(console->file, ": %s heaps of this name, %s at the end",
			gmt_text_count(heap->heaps).text, gmt_text_count(heap->live_heaps).text);
	if (heap->swept_blocks)
		fprintf(console->file, "; %s blocks (%s) were live when their heap ended",
			gmt_text_count(heap->swept_blocks).text, gmt_text_size(heap->swept_bytes).text);
	fputc('\n', console->file);
}

static void write_site(const struct gmt_custom_heaps_view *view, const struct gmt_console *console,
	const struct gmt_custom_heap_row *row, const struct gmt_custom_heap_site *site)
{
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(view->traces, site->stack, &count);

	fprintf(console->file, "    %10s %5.1f %%  %9s x  ", gmt_text_size(site->peak_bytes).text,
		100.0 * (double)site->peak_bytes / (double)row->accounting.peak_bytes,
		gmt_text_count(site->peak_blocks).text);
	/* The own line may belong to the pool, so its callers are shown too. */
	for (uint32_t i = site->own_line; i < count && i < site->own_line + FRAMES_SHOWN; i++) {
		fputs(i > site->own_line ? " < " : "", console->file);
		gmt_console_place(console, view->recording, view->traces, places[i]);
	}
	if (!count)
		fputs("(no stack)", console->file);
	fputc('\n', console->file);
}

static void write_heap(const struct gmt_custom_heaps_view *view, const struct gmt_console *console,
	const struct gmt_custom_heap_row *row)
{
	const struct gmt_account_heap *accounting = &row->accounting;

	fprintf(console->file, "  %10s ",
		row->has_size ? gmt_text_size(row->heap->size_bytes).text : "-");
	fprintf(console->file, "%10s %10s ", gmt_text_size(accounting->live_bytes).text,
		row->has_size ? gmt_text_size(row->free_bytes).text : "-");
	fprintf(console->file, "%9s %10s %11s  ", gmt_text_count(accounting->live_blocks).text,
		gmt_text_size(accounting->peak_bytes).text,
		accounting->peak_number ? gmt_text_duration(row->peak_time_ns).text : "-");
	write_name(console, row->heap);
	for (size_t i = 0; i < row->sites.count && i < SITES_SHOWN && row->sites.items[i].peak_bytes;
		i++)
		write_site(view, console, row, &row->sites.items[i]);
}

void gmt_custom_heaps_text(const struct gmt_custom_heaps_view *view,
	const struct gmt_console *console)
{
	size_t count = view->heaps->rows.count;

	if (!count)
		return;
	fputc('\n', console->file);
	gmt_console_style(console, GMT_CONSOLE_BOLD);
	fputs("The program's own heaps (layer custom, inside the memory above), "
		  "and the lines that held them at their peak\n",
		console->file);
	gmt_console_style(console, GMT_CONSOLE_DIM);
	fprintf(console->file, "  %10s %10s %10s %9s %10s %11s  %s\n", "size", "used", "free", "blocks",
		"peak", "at", "heap");
	gmt_console_style(console, GMT_CONSOLE_NORMAL);
	for (size_t i = 0; i < count && i < HEAPS_SHOWN; i++)
		write_heap(view, console, &view->heaps->rows.items[i]);
	if (count > HEAPS_SHOWN)
		fprintf(console->file, "  and %s more (see --json)\n",
			gmt_text_count(count - HEAPS_SHOWN).text);
}
