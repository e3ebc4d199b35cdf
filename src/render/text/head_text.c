/* SPDX-License-Identifier: MIT */
#include "render/head.h"

#include "base/text.h"

static void write_command(const struct gmt_plain *plain, const struct gmt_recording *recording)
{
	fputs("  command  ", plain->file);
	for (size_t i = 0; i < recording->command.count; i++) {
		fputc(' ', plain->file);
		gmt_plain_argument(plain, recording->command.items[i]);
	}
	if (!recording->command.count) {
		fputc(' ', plain->file);
		gmt_plain_text(plain, *recording->executable ? recording->executable : "?");
	}
	fputc('\n', plain->file);
}

void gmt_head_text(const struct gmt_plain *plain, const struct gmt_recording *recording,
	const struct gmt_warnings *warnings)
{
	const struct gmt_process *process = &recording->process;

	gmt_plain_style(plain, GMT_PLAIN_BOLD);
	gmt_plain_text(plain, recording->path);
	gmt_plain_style(plain, GMT_PLAIN_NORMAL);
	fputc('\n', plain->file);
	write_command(plain, recording);
	fprintf(plain->file, "  process   %u on ", process->pid);
	gmt_plain_text(plain, recording->host);
	if (process->rank >= 0)
		fprintf(plain->file, ", rank %d", process->rank);
	fprintf(plain->file, ", %zu GPU%s\n", recording->devices.count,
		recording->devices.count == 1 ? "" : "s");
	fputs("  recorded  ", plain->file);
	gmt_plain_date(plain, process->start_time_ns);
	fprintf(plain->file, ", for %s, %s events, ",
		gmt_text_duration(gmt_recording_duration_ns(recording)).text,
		gmt_text_count(recording->seen_events).text);
	if (gmt_recording_complete(recording)) {
		fputs("complete\n", plain->file);
	} else {
		gmt_plain_style(plain, GMT_PLAIN_WARN);
		fputs(recording->recording_pid ? "IN PROGRESS\n" : "INCOMPLETE\n", plain->file);
		gmt_plain_style(plain, GMT_PLAIN_NORMAL);
	}
	for (size_t i = 0; i < warnings->rows.count; i++) {
		const struct gmt_warning *warning = &warnings->rows.items[i];

		if (warning->kind == GMT_WARNING_INCOMPLETE)
			gmt_plain_style(plain, GMT_PLAIN_WARN);
		fputs(warning->kind == GMT_WARNING_INCOMPLETE ? "  missing   " : "  note      ",
			plain->file);
		gmt_plain_text(plain, warning->text);
		gmt_plain_style(plain, GMT_PLAIN_NORMAL);
		fputc('\n', plain->file);
	}
}
