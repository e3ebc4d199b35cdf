/* SPDX-License-Identifier: MIT */
#include "render/recording_head.h"

#include "base/text.h"

static void write_command(const struct gmt_console *console, const struct gmt_recording *recording)
{
	fputs("  command  ", console->file);
	for (size_t i = 0; i < recording->command.count; i++) {
		fputc(' ', console->file);
		gmt_console_argument(console, recording->command.items[i]);
	}
	if (!recording->command.count) {
		fputc(' ', console->file);
		gmt_console_text(console, *recording->executable ? recording->executable : "?");
	}
	fputc('\n', console->file);
}

void gmt_recording_head_text(const struct gmt_console *console,
	const struct gmt_recording *recording, const struct gmt_warnings *warnings)
{
	const struct gmt_process *process = &recording->process;

	gmt_console_style(console, GMT_CONSOLE_BOLD);
	gmt_console_text(console, recording->path);
	gmt_console_style(console, GMT_CONSOLE_NORMAL);
	fputc('\n', console->file);
	if (gmt_recording_is_imported(recording)) {
		fputs("  imported  from ", console->file);
		gmt_console_text(console, recording->imported_from);
	} else {
		write_command(console, recording);
		fprintf(console->file, "  process   %u on ", process->pid);
		gmt_console_text(console, recording->host);
	}
	if (process->rank >= 0)
		fprintf(console->file, ", rank %d", process->rank);
	/* An import may not describe its GPUs. */
	if (recording->devices.count || !gmt_recording_is_imported(recording))
		fprintf(console->file, ", %zu GPU%s", recording->devices.count,
			recording->devices.count == 1 ? "" : "s");
	fputc('\n', console->file);
	fputs("  recorded  ", console->file);
	if (process->start_time_ns)
		gmt_console_date(console, process->start_time_ns);
	else
		fputs("at a time that is not known", console->file);
	fprintf(console->file, ", for %s, %s events, ",
		gmt_text_duration(gmt_recording_duration_ns(recording)).text,
		gmt_text_count(recording->seen_events).text);
	if (gmt_recording_complete(recording)) {
		fputs("complete\n", console->file);
	} else {
		gmt_console_style(console, GMT_CONSOLE_WARN);
		fputs(recording->recording_pid ? "IN PROGRESS\n" : "INCOMPLETE\n", console->file);
		gmt_console_style(console, GMT_CONSOLE_NORMAL);
	}
	for (size_t i = 0; i < warnings->rows.count; i++) {
		const struct gmt_warning *warning = &warnings->rows.items[i];

		if (warning->kind == GMT_WARNING_INCOMPLETE)
			gmt_console_style(console, GMT_CONSOLE_WARN);
		fputs(warning->kind == GMT_WARNING_INCOMPLETE ? "  missing   " : "  note      ",
			console->file);
		gmt_console_text(console, warning->text);
		gmt_console_style(console, GMT_CONSOLE_NORMAL);
		fputc('\n', console->file);
	}
}
