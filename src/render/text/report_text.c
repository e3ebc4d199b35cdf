/* SPDX-License-Identifier: MIT */
#include "render/report.h"

#include <string.h>

#include "base/text.h"
#include "render/recording_head.h"
#include "render/custom_heaps.h"
#include "render/lines/wrap_stream.h"
#include "render/ledger.h"
#include "render/ooms.h"
#include "render/overview.h"
#include "render/console.h"
#include "render/refusals.h"
#include "render/memory_names.h"

/* Real machines have fewer devices. The limit protects against damaged files. */
enum { DEVICES_SHOWN = 64 };

enum { FIRST_LIST_SITES = 10, OTHER_LIST_SITES = 5 };

struct writer {
	const struct gmt_report *report;
	struct gmt_console console;
	FILE *file;      /* wraps lines (wrap_stream.h), and writes them to `unwrapped` */
	FILE *unwrapped;
	/* by site id: number under which the site was shown; 0: not yet shown */
	GMT_VEC(uint32_t) numbers;
	uint32_t last_number;
	unsigned lists;
	struct gmt_stack_summary summary;
};

static void write_layer(const struct writer *writer, const struct gmt_memory_summary_layer *layer)
{
	const struct gmt_account *account = &layer->account;

	fprintf(writer->file, "  %-8s %10s %9s %10s %11s %11s %11s %10s\n",
		gmt_layer_name(layer->layer), gmt_text_size(account->live_bytes).text,
		gmt_text_count(account->live_blocks).text, gmt_text_size(account->peak_bytes).text,
		account->peak_number ? gmt_text_duration(layer->peak_time_ns).text : "-",
		gmt_text_count(account->alloc_count).text, gmt_text_count(account->free_count).text,
		gmt_text_size(account->total_bytes).text);
	if (layer->live_at_exit_bytes != account->live_bytes)
		fprintf(writer->file, "    %-6s %10s %9s  when the process ended\n", "left",
			gmt_text_size(layer->live_at_exit_bytes).text,
			gmt_text_count(layer->live_at_exit_blocks).text);
	for (size_t i = 0; layer->spaces.count > 1 && i < layer->spaces.count; i++) {
		const struct gmt_memory_summary_space *space = &layer->spaces.items[i];

		fprintf(writer->file, "    %-6.12s %10s %9s %10s %11s\n", gmt_space_text(space->space).text,
			gmt_text_size(space->live_bytes).text, gmt_text_count(space->live_blocks).text,
			gmt_text_size(space->peak_bytes).text, gmt_text_duration(space->peak_time_ns).text);
	}
}

static void write_columns(const struct writer *writer)
{
	gmt_console_style(&writer->console, GMT_CONSOLE_DIM);
	fprintf(writer->file, "  %-8s %10s %9s %10s %11s %11s %11s %10s\n", "layer", "live", "blocks",
		"peak", "at", "allocs", "frees", "total");
	gmt_console_style(&writer->console, GMT_CONSOLE_NORMAL);
}

static void write_reserved(const struct writer *writer, const struct gmt_account *account)
{
	uint64_t reserved = account->reported_reserved_bytes,
			 allocated = account->reported_allocated_bytes;

	if (!account->has_totals)
		return;
	fprintf(writer->file,
		"  PyTorch has %s reserved from CUDA (at most %s): %s allocated, %s cached\n",
		gmt_text_size(reserved).text, gmt_text_size(account->reported_reserved_peak_bytes).text,
		gmt_text_size(allocated).text,
		gmt_text_size(reserved > allocated ? reserved - allocated : 0).text);
}

static void write_device(const struct writer *writer,
	const struct gmt_memory_summary_device *device)
{
	char title[200];

	if (device->info)
		snprintf(title, sizeof(title), "GPU %d: %.100s, %s", device->device,
			device->info->name.text, gmt_text_size(device->info->total_bytes).text);
	else if (device->device < 0)
		snprintf(title, sizeof(title), "GPU not known");
	else
		snprintf(title, sizeof(title), "GPU %d", device->device);
	gmt_console_heading(&writer->console, title);
	write_columns(writer);
	/* PyTorch's blocks come first, because PyTorch users know them. */
	for (size_t i = device->layers.count; i-- > 0;) {
		/* The ledger shows the other layers. */
		if (!gmt_layer_can_leak(device->layers.items[i].layer))
			continue;
		write_layer(writer, &device->layers.items[i]);
		write_reserved(writer, &device->layers.items[i].account);
	}
}

static void write_host(const struct writer *writer)
{
	if (!writer->report->summary->host.account.alloc_count)
		return;
	gmt_console_heading(&writer->console, "Host memory (pinned)");
	write_columns(writer);
	write_layer(writer, &writer->report->summary->host);
}

static void write_own_line(const struct writer *writer, uint32_t stack, uint32_t own_line)
{
	gmt_console_style(&writer->console, GMT_CONSOLE_BOLD);
	gmt_console_own_line(&writer->console, writer->report->recording, writer->report->traces, stack,
		own_line);
	gmt_console_style(&writer->console, GMT_CONSOLE_NORMAL);
}

/*
 * Writes the stack, leaf first. The user's own line is already shown above: it is left out if it is
 * the leaf, else marked.
 */
static bool write_stack(struct writer *writer, const struct gmt_site *site)
{
	const struct gmt_report *report = writer->report;
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(report->traces, site->stack, &count);

	if (!gmt_stack_summary_make(&writer->summary, report->traces, site->stack))
		return false;

	const struct gmt_stack_summary_line *line = writer->summary.lines.items;
	size_t lines = writer->summary.lines.count;
	if (lines && line->frame == site->own_line && (!line->hidden || lines == 1)) {
		line++;
		lines--;
	}
	gmt_console_style(&writer->console, GMT_CONSOLE_DIM);
	for (size_t i = 0; i < lines && i < report->frames; i++, line++) {
		fputs(line->frame == site->own_line ? "        > " : "          ", writer->file);
		gmt_console_place(&writer->console, report->recording, report->traces, places[line->frame]);
		if (line->hidden)
			fprintf(writer->file, " (+%u)", line->hidden);
		fputc('\n', writer->file);
	}
	if (lines > report->frames && report->frames)
		fprintf(writer->file, "          ... %zu more lines\n", lines - report->frames);
	gmt_console_style(&writer->console, GMT_CONSOLE_NORMAL);
	return true;
}

/* Writes the thread, unless it is the main thread. */
static void write_thread(const struct writer *writer, const struct gmt_site *site)
{
	const struct gmt_recording *recording = writer->report->recording;
	const struct gmt_thread *thread = gmt_recording_thread(recording, site->thread);
	char name[64];

	if (!thread || !thread->name.length || thread->tid == recording->process.pid)
		return;
	snprintf(name, sizeof(name), "%.*s", (int)thread->name.length, thread->name.text);
	fputs(" (thread ", writer->file);
	gmt_console_text(&writer->console, name);
	fputc(')', writer->file);
}

/*
 * Writes the owner where it is not obvious. Omits PyTorch for its own blocks, and the program for
 * direct CUDA calls.
 */
static void write_owner(const struct writer *writer, const struct gmt_site *site)
{
	if (site->owner == GMT_OWNER_UNKNOWN || site->owner == GMT_OWNER_PROGRAM ||
		(site->owner == GMT_OWNER_PYTORCH && site->layer == GMT_LAYER_TORCH))
		return;
	fputs(" (of ", writer->file);
	gmt_console_text(&writer->console,
		gmt_owners_name(&writer->report->traces->owners, site->owner));
	fputc(')', writer->file);
}

/* Writes one line of a list, and the stack if this site is shown for the first time. */
static bool write_site(struct writer *writer, const struct gmt_site *site, enum gmt_sites_order key,
	uint64_t whole)
{
	uint64_t bytes = gmt_sites_value(site, key);
	uint64_t count = key == GMT_SITES_BY_PEAK ? site->peak_blocks
		: key == GMT_SITES_BY_LIVE            ? site->live_at_end_blocks
											  : site->alloc_count;
	uint32_t *number = &writer->numbers.items[site->id];
	bool is_new = !*number;

	if (is_new)
		*number = ++writer->last_number;
	fprintf(writer->file, "  %10s %5.1f %%  %9s x  #%u ", gmt_text_size(bytes).text,
		whole ? 100.0 * (double)bytes / (double)whole : 0.0, gmt_text_count(count).text, *number);
	write_own_line(writer, site->stack, site->own_line);
	write_thread(writer, site);
	write_owner(writer, site);
	if (strcmp(gmt_space_text(site->space).text, "device") != 0)
		fprintf(writer->file, " [%s]", gmt_space_text(site->space).text);
	if (!is_new)
		fputs("  (above)", writer->file);
	fputc('\n', writer->file);
	return !is_new || write_stack(writer, site);
}

/*
 * Returns the number of sites in a list. The first list is the most important; later lists are
 * shorter, unless the user gave a limit.
 */
static uint64_t list_limit(struct writer *writer)
{
	bool is_first = !writer->lists++;

	if (writer->report->limit != UINT64_MAX)
		return writer->report->limit;
	return is_first ? FIRST_LIST_SITES : OTHER_LIST_SITES;
}

static bool write_list(struct writer *writer, const struct gmt_account *account,
	enum gmt_sites_order key, const char *title, uint64_t whole)
{
	const struct gmt_report *report = writer->report;
	uint64_t shown = 0, left = 0, left_bytes = 0, limit;
	size_t count;

	if (!whole)
		return true;
	limit = list_limit(writer);
	gmt_console_heading(&writer->console, title);

	const struct gmt_site *sites =
		gmt_sites_of_account(report->sites, account->layer, account->device, key, &count);
	for (size_t i = 0; i < count; i++) {
		uint64_t bytes = gmt_sites_value(&sites[i], key);

		if (!bytes)
			break;
		if (shown < limit) {
			shown++;
			if (!write_site(writer, &sites[i], key, whole))
				return false;
		} else {
			left++;
			left_bytes += bytes;
		}
	}
	if (left)
		fprintf(writer->file, "  %10s %5.1f %%  in %s more sites\n", gmt_text_size(left_bytes).text,
			100.0 * (double)left_bytes / (double)whole, gmt_text_count(left).text);
	return true;
}

static bool write_lists(struct writer *writer, const struct gmt_memory_summary_layer *layer,
	const char *device_name)
{
	const struct gmt_report *report = writer->report;
	const struct gmt_account *account = &layer->account;
	const char *name = gmt_layer_name(layer->layer);
	const char *end = report->has_until ? "that moment" : "the end";
	char peak[160], live[160], total[160];

	snprintf(peak, sizeof(peak), "Peak of %s on %s: %s at %s, held by", name, device_name,
		gmt_text_size(account->peak_bytes).text, gmt_text_duration(layer->peak_time_ns).text);
	snprintf(live, sizeof(live), "Live %s blocks on %s at %s: %s, held by", name, device_name, end,
		gmt_text_size(account->live_bytes).text);
	snprintf(total, sizeof(total), "All %s allocations on %s: %s, requested by", name, device_name,
		gmt_text_size(account->total_bytes).text);

	bool all = report->all_lists;
	return (!(all || report->order == GMT_SITES_BY_PEAK) ||
			   write_list(writer, account, GMT_SITES_BY_PEAK, peak, account->peak_bytes)) &&
		(!(all || report->order == GMT_SITES_BY_LIVE) ||
			write_list(writer, account, GMT_SITES_BY_LIVE, live, account->live_bytes)) &&
		(!(all || report->order == GMT_SITES_BY_TOTAL) ||
			write_list(writer, account, GMT_SITES_BY_TOTAL, total, account->total_bytes));
}

static bool write_all_lists(struct writer *writer)
{
	const struct gmt_memory_summary *summary = writer->report->summary;

	for (size_t i = 0; i < summary->devices.count && i < DEVICES_SHOWN; i++) {
		const struct gmt_memory_summary_device *device = &summary->devices.items[i];

		for (size_t layer = device->layers.count; layer-- > 0;)
			if (!write_lists(writer, &device->layers.items[layer],
					gmt_device_in_sentence(device->device).text))
				return false;
	}
	return write_lists(writer, &summary->host, gmt_device_in_sentence(GMT_DEVICE_HOST).text);
}

static void write_next(const struct writer *writer)
{
	const struct gmt_report *report = writer->report;
	const struct gmt_traces *traces = report->traces;

	fputs("\nnext: gpumemtrace report --json ", writer->file);
	gmt_console_argument(&writer->console, report->recording->path);
	fputs("   # every site with its whole stack\n", writer->file);
	if (report->leaks->leaks->rows.count) {
		fputs("      gpumemtrace leaks ", writer->file);
		gmt_console_argument(&writer->console, report->recording->path);
		fputs("   # all leaks in full\n", writer->file);
	}
	if (traces->problems.count) {
		fputs("      gpumemtrace report --symbol-path DIR ", writer->file);
		gmt_console_argument(&writer->console, report->recording->path);
		fputs("   # read names from the files in DIR\n", writer->file);
	}
}

static bool write_devices(struct writer *writer)
{
	const struct gmt_report *report = writer->report;
	size_t count = report->summary->devices.count;

	for (size_t i = 0; i < count && i < DEVICES_SHOWN; i++)
		write_device(writer, &report->summary->devices.items[i]);
	if (count > DEVICES_SHOWN)
		fprintf(writer->file, "\nand %zu more GPUs (see --json)\n", count - DEVICES_SHOWN);
	write_host(writer);
	return true;
}

static bool write_ledger(struct writer *writer)
{
	const struct gmt_report *report = writer->report;

	for (size_t i = 0; i < report->summary->devices.count && i < DEVICES_SHOWN; i++)
		gmt_ledger_write_text(report->ledger, report->summary->devices.items[i].device,
			&writer->console);
	return true;
}

static bool write_ooms(struct writer *writer)
{
	struct gmt_ooms_steps steps = gmt_ooms_steps_of(writer->report->leaks);
	bool done = gmt_ooms_text(writer->report, &steps, writer->file);

	gmt_refusals_text(writer->report, &writer->console);
	return done;
}

static bool write_state(struct writer *writer, enum gmt_allocator_state_section section)
{
	const struct gmt_report *report = writer->report;

	if (report->allocator_state)
		gmt_allocator_state_text(report->allocator_state, section, report->is_full, writer->file);
	return true;
}

/* Returns false if memory is exhausted. */
static bool write_section(struct writer *writer, enum gmt_report_section section)
{
	const struct gmt_report *report = writer->report;

	switch (section) {
	case GMT_REPORT_SUMMARY:
		/* The first screen has the width of the terminal. */
		fflush(writer->file);
		return gmt_overview_text(report, writer->unwrapped);
	case GMT_REPORT_DEVICES:
		return write_devices(writer);
	case GMT_REPORT_LEDGER:
		return write_ledger(writer);
	case GMT_REPORT_HEAPS:
		gmt_custom_heaps_text(&(struct gmt_custom_heaps_view){ report->recording, report->traces,
								  report->heaps },
			&writer->console);
		return true;
	case GMT_REPORT_OOM:
		return write_ooms(writer);
	case GMT_REPORT_LEAKS:
		return gmt_leaks_text(report->leaks, &writer->console);
	case GMT_REPORT_STEPS:
		gmt_steps_text(report->leaks, &writer->console);
		return true;
	case GMT_REPORT_PEAK:
		return write_state(writer, GMT_ALLOCATOR_STATE_PEAK);
	case GMT_REPORT_SEGMENTS:
		return write_state(writer, GMT_ALLOCATOR_STATE_SEGMENTS);
	case GMT_REPORT_ALLOCATOR:
		return write_state(writer, GMT_ALLOCATOR_STATE_ALLOCATOR);
	case GMT_REPORT_TEMPORARIES:
		return write_state(writer, GMT_ALLOCATOR_STATE_TEMPORARIES);
	case GMT_REPORT_SITES:
		return write_all_lists(writer);
	case GMT_REPORT_TABLE:
		return write_state(writer, GMT_ALLOCATOR_STATE_TABLE);
	case GMT_REPORT_SECTIONS:
		break;
	}
	return true;
}

static void write_head(struct writer *writer)
{
	const struct gmt_report *report = writer->report;

	gmt_recording_head_text(&writer->console, report->recording, report->warnings);
	if (report->has_until)
		fprintf(writer->file, "  until     %s after the start: %s of %s events\n",
			gmt_text_duration(report->replay->end_time_ns).text,
			gmt_text_count(report->replay->events).text,
			gmt_text_count(report->recording->events.count).text);
}

const uint64_t gmt_report_full = 0
#define GMT_REPORT_SECTION(NAME, name, is_in_full, ...) \
	| ((is_in_full) ? GMT_REPORT_SECTION_BIT(NAME) : 0)
#include "render/report_sections.def"
#undef GMT_REPORT_SECTION
	;

/* Writes a section that the user asked for by name. If it has nothing to show, says so. */
static bool write_named_section(struct writer *writer, enum gmt_report_section section)
{
	static const char *const if_empty[] = {
#define GMT_REPORT_SECTION(NAME, name, is_in_full, meaning, text_if_empty) text_if_empty,
#include "render/report_sections.def"
#undef GMT_REPORT_SECTION
	};
	off_t before = ftello(writer->file);
	bool done = write_section(writer, section);

	if (section != GMT_REPORT_SUMMARY && before >= 0 && ftello(writer->file) == before)
		fprintf(writer->file, "%s\n", if_empty[section]);
	return done;
}

bool gmt_report_text(const struct gmt_report *report, FILE *file)
{
	FILE *wrapped = gmt_wrap_stream_open(file);
	struct writer writer = {
		.report = report, .console = { wrapped, report->color }, .file = wrapped, .unwrapped = file
	};
	/* gmt_vec_reserve returns zeroed items. They are indexed by site and never pushed. */
	bool done = gmt_vec_reserve(&writer.numbers, report->replay->accounting.sites.count + 1);

	if (done && report->is_full)
		write_head(&writer);
	for (enum gmt_report_section section = 0; done && section < GMT_REPORT_SECTIONS; section++)
		if (report->sections & UINT64_C(1) << section)
			done = report->is_full ? write_section(&writer, section)
								   : write_named_section(&writer, section);
	if (done && report->is_full)
		write_next(&writer);
	gmt_vec_fini(&writer.numbers);
	gmt_stack_summary_fini(&writer.summary);
	gmt_wrap_stream_close(wrapped, file);
	return done;
}
