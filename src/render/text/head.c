/* SPDX-License-Identifier: MIT */
#include "render/head.h"

#include "base/text.h"

static void write_command(const struct gmt_plain *plain, const struct gmt_snapshot *snapshot)
{
	fputs("  command  ", plain->file);
	for (size_t i = 0; i < snapshot->command.count; i++) {
		fputc(' ', plain->file);
		gmt_plain_argument(plain, snapshot->command.items[i]);
	}
	if (!snapshot->command.count) {
		fputc(' ', plain->file);
		gmt_plain_text(plain, *snapshot->executable ? snapshot->executable : "?");
	}
	fputc('\n', plain->file);
}

void gmt_head_text(const struct gmt_plain *plain, const struct gmt_snapshot *snapshot,
	const struct gmt_warnings *warnings)
{
	const struct gmt_process *process = &snapshot->process;

	gmt_plain_style(plain, GMT_PLAIN_BOLD);
	gmt_plain_text(plain, snapshot->path);
	gmt_plain_style(plain, GMT_PLAIN_NORMAL);
	fputc('\n', plain->file);
	write_command(plain, snapshot);
	fprintf(plain->file, "  process   %u on ", process->pid);
	gmt_plain_text(plain, snapshot->host);
	if (process->rank >= 0)
		fprintf(plain->file, ", rank %d", process->rank);
	fprintf(plain->file, ", %zu GPU%s\n", snapshot->devices.count,
		snapshot->devices.count == 1 ? "" : "s");
	fputs("  recorded  ", plain->file);
	gmt_plain_date(plain, process->start_time_ns);
	fprintf(plain->file, ", for %s, %s events, ",
		gmt_text_duration(gmt_snapshot_duration_ns(snapshot)).text,
		gmt_text_count(snapshot->seen_events).text);
	if (gmt_snapshot_complete(snapshot)) {
		fputs("complete\n", plain->file);
	} else {
		gmt_plain_style(plain, GMT_PLAIN_WARN);
		fputs(snapshot->recording_pid ? "IN PROGRESS\n" : "INCOMPLETE\n", plain->file);
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

void gmt_head_in_progress(struct gmt_json *json, const struct gmt_snapshot *snapshot)
{
	if (snapshot->recording_pid)
		gmt_json_key_u64(json, "in_progress", snapshot->recording_pid);
}

void gmt_head_remarks(struct gmt_json *json, const struct gmt_warnings *warnings)
{
	gmt_json_key_array(json, "remarks");
	for (size_t i = 0; i < warnings->rows.count; i++)
		gmt_json_text(json, warnings->rows.items[i].text);
	gmt_json_end_array(json);
}
