/* SPDX-License-Identifier: MIT */
#include "render/ledger.h"

#include "base/text.h"

/*
 * Formats an amount that may be negative: the process gave back memory that the device still
 * counted.
 */
static const char *signed_size(char *to, size_t bytes, int64_t value)
{
	uint64_t amount = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

	snprintf(to, bytes, "%s%s", value < 0 ? "-" : "", gmt_text_size(amount).text);
	return to;
}

static void write_amount(const struct gmt_console *console, const struct gmt_ledger_entry *entry,
	bool known, int64_t bytes)
{
	char text[48];

	if (entry)
		fprintf(console->file, " %14s",
			known ? signed_size(text, sizeof(text), bytes) : "not known");
}

static bool is_shown(const struct gmt_ledger_entry *entry, enum gmt_ledger_line line)
{
	return entry && (entry->lines[line] || line == GMT_LEDGER_UNEXPLAINED);
}

static void write_notes(const struct gmt_console *console, const struct gmt_ledger_entry *end,
	const struct gmt_ledger_entry *peak)
{
	if (!end->has_answer)
		fputs("  The device did not report its memory in this time: the list has only recorded "
			  "memory.\n",
			console->file);
	else if (peak && !peak->has_answer)
		fputs("  The device did not report its memory at the peak: that column has only recorded "
			  "memory.\n",
			console->file);
	if (end->managed_bytes)
		fprintf(console->file,
			"  In addition: %s of managed memory, which is on the device only where the device "
			"used it.\n",
			gmt_text_size(end->managed_bytes).text);
	if (end->imported_bytes)
		fprintf(console->file,
			"  In addition: %s of memory of other processes, which counts there.\n",
			gmt_text_size(end->imported_bytes).text);
}

void gmt_ledger_write_text(const struct gmt_ledger *ledger, int32_t device,
	const struct gmt_console *console)
{
	const struct gmt_ledger_entry *end = gmt_ledger_find(ledger, device, GMT_LEDGER_AT_END, 0),
								  *peak = gmt_ledger_find(ledger, device, GMT_LEDGER_AT_PEAK, 0);

	if (!end)
		return;
	fputc('\n', console->file);
	gmt_console_style(console, GMT_CONSOLE_BOLD);
	fprintf(console->file, "Where the memory of GPU %d is", (int)device);
	gmt_console_style(console, GMT_CONSOLE_NORMAL);
	fprintf(console->file, "\n  %-42s %14s%s\n", "", "at the end", peak ? "    at the peak" : "");
	fprintf(console->file, "  %-42s",
		end->has_answer ? "in use, as the device reports" : "in use, as recorded");
	write_amount(console, end, true, (int64_t)end->used_bytes);
	write_amount(console, peak, !end->has_answer || (peak && peak->has_answer),
		peak ? (int64_t)peak->used_bytes : 0);
	fputc('\n', console->file);
	for (unsigned line = 0; line < GMT_LEDGER_LINES; line++) {
		if (!is_shown(end, line) && !is_shown(peak, line))
			continue;
		fprintf(console->file, "    %-40s", gmt_ledger_line_text(line));
		write_amount(console, end, end->known[line], end->lines[line]);
		write_amount(console, peak, peak && peak->known[line], peak ? peak->lines[line] : 0);
		fputc('\n', console->file);
	}
	write_notes(console, end, peak);
}

bool gmt_ledger_write_refusal_text(const struct gmt_ledger *ledger, int32_t device,
	size_t oom_index, FILE *file)
{
	static const enum gmt_ledger_line lines[] = {
		GMT_LEDGER_POOL_CACHED,
		GMT_LEDGER_GRAPH_CACHED,
		GMT_LEDGER_CONTEXTS,
		GMT_LEDGER_MODULES,
		GMT_LEDGER_LIMITS,
		GMT_LEDGER_RUNTIME,
		GMT_LEDGER_OTHER_PROCESSES,
		GMT_LEDGER_UNEXPLAINED,
	};
	const struct gmt_ledger_entry *entry =
		gmt_ledger_find(ledger, device, GMT_LEDGER_AT_REFUSAL, oom_index);
	bool any = false;

	if (!entry || !entry->has_answer ||
		(!entry->known[GMT_LEDGER_CONTEXTS] && !entry->known[GMT_LEDGER_OTHER_PROCESSES]))
		return false;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		if (entry->lines[lines[i]] <= 0)
			continue;
		fprintf(file, "%s%s %s", any ? ", " : "", gmt_ledger_line_text(lines[i]),
			gmt_text_size((uint64_t)entry->lines[lines[i]]).text);
		any = true;
	}
	return any;
}
