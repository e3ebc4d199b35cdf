/* SPDX-License-Identifier: MIT */
#include "render/refusals.h"

#include <inttypes.h>

#include "base/text.h"
#include "reader/load/clock.h"

/* Number of shown refusals: the last ones, because they ended the program. */
enum { REFUSALS_SHOWN = 5 };

static void write_own_line(const struct gmt_report *report, const struct gmt_console *console,
	uint32_t stack)
{
	gmt_console_style(console, GMT_CONSOLE_BOLD);
	gmt_console_own_line(console, report->recording, report->traces, stack,
		gmt_traces_own_line(report->traces, stack));
	gmt_console_style(console, GMT_CONSOLE_NORMAL);
}

static bool is_lack_of_memory(const struct gmt_report *report, size_t refusal)
{
	struct gmt_recording_event event =
		gmt_recording_event(report->recording, report->replay->refusals.items[refusal].event);

	return gmt_oom_is_refusal(&event);
}

/*
 * Writes the refusals of invalid requests. Refusals for lack of memory have their own paragraphs.
 */
static void write_refusals(const struct gmt_report *report, const struct gmt_console *console)
{
	const struct gmt_replay *replay = report->replay;
	size_t count = 0, number = 0;
	char title[100];

	for (size_t i = 0; i < replay->refusals.count; i++)
		count += !is_lack_of_memory(report, i);
	if (!count)
		return;
	snprintf(title, sizeof(title), "Refused requests: %s%s", gmt_text_count(count).text,
		count > REFUSALS_SHOWN ? "; the last ones" : "");
	gmt_console_heading(console, title);
	for (size_t i = 0; i < replay->refusals.count; i++) {
		const struct gmt_replay_refusal *refusal = &replay->refusals.items[i];
		struct gmt_recording_event event = gmt_recording_event(report->recording, refusal->event);
		uint32_t stack = replay->site_stacks.items[refusal->site];

		if (is_lack_of_memory(report, i) || number++ + REFUSALS_SHOWN < count)
			continue;
		fprintf(console->file, "  %10s  %s, ", gmt_text_size(event.size_bytes).text,
			gmt_layer_name(event.layer));
		if (gmt_space_side(event.space) == GMT_SIDE_HOST)
			fputs("host", console->file);
		else
			fprintf(console->file, "GPU %d", event.device);
		fprintf(console->file, ", at %s  ",
			gmt_text_duration(gmt_clock_time_ns(report->recording, event.stamp)).text);
		write_own_line(report, console, stack);
		fputc('\n', console->file);
	}
}

/*
 * Writes refused frees. A free of an address without a live block is a mistake of the program that
 * the driver tolerated.
 */
static void write_frees(const struct gmt_report *report, const struct gmt_console *console)
{
	const struct gmt_replay *replay = report->replay;
	size_t count = replay->refused_frees.count;
	char title[100];

	if (!count)
		return;
	snprintf(title, sizeof(title), "Refused frees: %s%s", gmt_text_count(count).text,
		count > REFUSALS_SHOWN ? "; the last ones" : "");
	gmt_console_heading(console, title);
	for (size_t i = count > REFUSALS_SHOWN ? count - REFUSALS_SHOWN : 0; i < count; i++) {
		const struct gmt_replay_refused_free *row = &replay->refused_frees.items[i];
		struct gmt_recording_event event = gmt_recording_event(report->recording, row->event);
		const struct gmt_api *api = gmt_recording_api(report->recording, event.api);
		uint32_t stack = report->traces->stack_of_trace[event.trace];

		fprintf(console->file, "  0x%" PRIx64 ", %s, by ", event.address,
			row->is_live ? "a live block" : "no live block");
		gmt_console_text(console, api ? api->name.text : "an unknown function");
		fprintf(console->file, ", error %u, at %s  ", event.result,
			gmt_text_duration(gmt_clock_time_ns(report->recording, event.stamp)).text);
		write_own_line(report, console, stack);
		fputc('\n', console->file);
	}
}

void gmt_refusals_text(const struct gmt_report *report, const struct gmt_console *console)
{
	write_refusals(report, console);
	write_frees(report, console);
}
