/* SPDX-License-Identifier: MIT */
#include "render/diff.h"

#include "base/text.h"
#include "render/recording_head.h"
#include "render/console.h"
#include "render/lines/wrap_stream.h"
#include "render/memory_names.h"

/* Default number of rows. */
enum { ROWS_SHOWN = 20 };

/* Real machines have fewer accounts. The limit protects against damaged files. */
enum { ACCOUNTS_SHOWN = 128 };

struct writer {
	const struct gmt_diff *diff;
	const struct gmt_diff_style *style;
	struct gmt_console console;
	FILE *file;
	struct gmt_stack_summary summary;
};

struct signed_text {
	char text[40];
};

static uint64_t magnitude(int64_t difference)
{
	return difference < 0 ? -(uint64_t)difference : (uint64_t)difference;
}

static struct signed_text with_sign(int64_t difference, const char *magnitude_text)
{
	struct signed_text text;

	snprintf(text.text, sizeof(text.text), "%s%s",
		difference < 0   ? "-"
			: difference ? "+"
						 : "",
		magnitude_text);
	return text;
}

/* "+1.50 MiB", "-139 MiB", "0 B" */
static struct signed_text signed_size(int64_t difference)
{
	return with_sign(difference, gmt_text_size(magnitude(difference)).text);
}

static struct signed_text signed_count(int64_t difference)
{
	return with_sign(difference, gmt_text_count(magnitude(difference)).text);
}

/* "-24.9 %"; "" if the base has 0. */
static struct signed_text percent(const struct gmt_diff_pair *pair)
{
	struct signed_text text = { "" };

	if (pair->sides[GMT_DIFF_BASE])
		snprintf(text.text, sizeof(text.text), "%+.1f %%",
			100.0 * (double)gmt_diff_pair_change(pair) / (double)pair->sides[GMT_DIFF_BASE]);
	return text;
}

static void write_head(const struct writer *writer)
{
	static const char *const titles[] = { "base  ", "new   " };
	const struct gmt_diff *diff = writer->diff;

	for (int side = 0; side < GMT_DIFF_SIDES; side++) {
		fputs(titles[side], writer->file);
		gmt_recording_head_text(&writer->console, diff->sides[side].recording,
			diff->sides[side].warnings);
	}
	gmt_console_style(&writer->console, GMT_CONSOLE_WARN);
	for (size_t i = 0; i < diff->uncertainties.count; i++) {
		fputs("warning: ", writer->file);
		gmt_console_text(&writer->console, diff->uncertainties.items[i]);
		fputc('\n', writer->file);
	}
	gmt_console_style(&writer->console, GMT_CONSOLE_NORMAL);
}

static const char *device_text(const struct gmt_diff_account *account, char *text, size_t size)
{
	if (account->device >= 0 && account->new_device != account->device)
		snprintf(text, size, "GPU %d (new: GPU %d)", account->device, account->new_device);
	else
		snprintf(text, size, "%s", gmt_device_in_sentence(account->device).text);
	return text;
}

static void write_pair(const struct writer *writer, const char *name,
	const struct gmt_diff_pair *pair, bool is_size)
{
	int64_t difference = gmt_diff_pair_change(pair);
	uint64_t base = pair->sides[GMT_DIFF_BASE], now = pair->sides[GMT_DIFF_NEW];

	fprintf(writer->file, "  %-10s %12s %12s %12s%s%s\n", name,
		is_size ? gmt_text_size(base).text : gmt_text_count(base).text,
		is_size ? gmt_text_size(now).text : gmt_text_count(now).text,
		is_size ? signed_size(difference).text : signed_count(difference).text,
		difference && *percent(pair).text ? "  " : "", difference ? percent(pair).text : "");
}

static void write_account(const struct writer *writer, const struct gmt_diff_account *account)
{
	char memory_name[48], title[200];
	const struct gmt_diff_pair *amounts = account->amounts;

	snprintf(title, sizeof(title), "%s on %s", gmt_layer_name(account->layer),
		device_text(account, memory_name, sizeof(memory_name)));
	gmt_console_heading(&writer->console, title);
	gmt_console_style(&writer->console, GMT_CONSOLE_DIM);
	fprintf(writer->file, "  %-10s %12s %12s %12s\n", "", "base", "new", "difference");
	gmt_console_style(&writer->console, GMT_CONSOLE_NORMAL);
	write_pair(writer, "peak", &amounts[GMT_DIFF_PEAK_BYTES], true);
	if (account->has_reserved)
		write_pair(writer, "reserved", &account->reserved_peak_bytes, true);
	write_pair(writer, "live", &amounts[GMT_DIFF_LIVE_BYTES], true);
	write_pair(writer, "total", &amounts[GMT_DIFF_TOTAL_BYTES], true);
	write_pair(writer, "allocs", &amounts[GMT_DIFF_ALLOCS], false);
	write_pair(writer, "frees", &amounts[GMT_DIFF_FREES], false);
	if (account->refused.sides[GMT_DIFF_BASE] || account->refused.sides[GMT_DIFF_NEW])
		write_pair(writer, "refused", &account->refused, false);
}

static bool write_stack(struct writer *writer, const struct gmt_diff_row *row)
{
	int side = row->largest[GMT_DIFF_NEW] ? GMT_DIFF_NEW : GMT_DIFF_BASE;
	const struct gmt_diff_side *from = &writer->diff->sides[side];
	const struct gmt_site *site = row->largest[side];
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(from->traces, site->stack, &count);

	if (!writer->style->frames)
		return true;
	if (!gmt_stack_summary_make(&writer->summary, from->traces, site->stack))
		return false;
	gmt_console_style(&writer->console, GMT_CONSOLE_DIM);
	for (size_t i = 0; i < writer->summary.lines.count && i < writer->style->frames; i++) {
		const struct gmt_stack_summary_line *line = &writer->summary.lines.items[i];

		fputs(line->frame == site->own_line ? "            > " : "              ", writer->file);
		gmt_console_place(&writer->console, from->recording, from->traces, places[line->frame]);
		fputc('\n', writer->file);
	}
	if (writer->summary.lines.count > writer->style->frames)
		fprintf(writer->file, "              ... %zu more lines\n",
			(size_t)(writer->summary.lines.count - writer->style->frames));
	gmt_console_style(&writer->console, GMT_CONSOLE_NORMAL);
	return true;
}

static bool write_row(struct writer *writer, const struct gmt_diff_row *row)
{
	const struct gmt_diff_pair *bytes = &row->amounts[writer->diff->amount];
	const struct gmt_diff_pair *blocks = &row->amounts[writer->diff->count];
	int64_t difference = gmt_diff_pair_change(bytes);
	char counts[72];

	snprintf(counts, sizeof(counts), "%s -> %s", gmt_text_count(blocks->sides[GMT_DIFF_BASE]).text,
		gmt_text_count(blocks->sides[GMT_DIFF_NEW]).text);
	gmt_console_style(&writer->console, difference > 0 ? GMT_CONSOLE_WARN : GMT_CONSOLE_NORMAL);
	fprintf(writer->file, "  %12s", signed_size(difference).text);
	gmt_console_style(&writer->console, GMT_CONSOLE_NORMAL);
	fprintf(writer->file, " %10s %10s  %14s  %-6s  ",
		gmt_text_size(bytes->sides[GMT_DIFF_BASE]).text,
		gmt_text_size(bytes->sides[GMT_DIFF_NEW]).text, counts, gmt_diff_change_name(row->change));
	gmt_console_text(&writer->console,
		*row->name ? row->name : gmt_diff_by_none(writer->diff->options.by));
	if (row->moved_from) {
		fputs("  (was ", writer->file);
		gmt_console_text(&writer->console, row->moved_from);
		fputc(')', writer->file);
	}
	if (writer->diff->options.by == GMT_DIFF_BY_STACK)
		fprintf(writer->file, "  %s", gmt_site_key_text(row->hash).text);
	fputc('\n', writer->file);
	return write_stack(writer, row);
}

/*
 * Writes, for example, "40 lines: 2 new, 1 gone, 3 grown, 34 unchanged; 120 MiB without a
 * difference".
 */
static void write_counts(const struct writer *writer, const struct gmt_diff_account *account)
{
	const char *separator = ": ";

	fprintf(writer->file, "  %s %s", gmt_text_count(account->row_count).text,
		account->row_count == 1 ? gmt_diff_by_row(writer->diff->options.by)
								: gmt_diff_by_rows(writer->diff->options.by));
	for (int change = 0; change < GMT_DIFF_CHANGES; change++) {
		if (!account->changes[change])
			continue;
		fprintf(writer->file, "%s%s %s", separator, gmt_text_count(account->changes[change]).text,
			gmt_diff_change_name(change));
		separator = ", ";
	}
	if (account->same_bytes)
		fprintf(writer->file, "; %s unchanged", gmt_text_size(account->same_bytes).text);
	fputc('\n', writer->file);
}

static bool write_rows(struct writer *writer, const struct gmt_diff_account *account)
{
	uint64_t limit = writer->style->limit == UINT64_MAX ? ROWS_SHOWN : writer->style->limit;
	struct gmt_diff_hidden cut = { 0 };

	if (account->shown_count) {
		gmt_console_style(&writer->console, GMT_CONSOLE_DIM);
		fprintf(writer->file, "  %12s %10s %10s  %14s\n", "difference", "base", "new",
			writer->diff->options.key == GMT_SITES_BY_TOTAL ? "allocs" : "blocks");
		gmt_console_style(&writer->console, GMT_CONSOLE_NORMAL);
	}
	for (size_t i = 0; i < account->shown_count; i++) {
		const struct gmt_diff_row *row = &account->rows[i];

		if (i < limit) {
			if (!write_row(writer, row))
				return false;
		} else {
			cut.rows++;
			cut.difference += gmt_diff_pair_change(&row->amounts[writer->diff->amount]);
		}
	}
	if (cut.rows)
		fprintf(writer->file, "  %12s  in %s more (--limit)\n", signed_size(cut.difference).text,
			gmt_text_count(cut.rows).text);
	if (account->hidden.rows)
		fprintf(writer->file, "  %12s  in %s that differ by less than %s each (--threshold)\n",
			signed_size(account->hidden.difference).text, gmt_text_count(account->hidden.rows).text,
			gmt_text_size(writer->diff->options.threshold_bytes).text);
	write_counts(writer, account);
	return true;
}

static bool write_list(struct writer *writer, const struct gmt_diff_account *account)
{
	static const char *const titles[] = {
		[GMT_SITES_BY_PEAK] = "Peak of %s on %s: %s -> %s, %s%s%s%s",
		[GMT_SITES_BY_LIVE] = "Live %s blocks on %s at the end: %s -> %s, %s%s%s%s",
		[GMT_SITES_BY_TOTAL] = "All %s allocations on %s: %s -> %s, %s%s%s%s",
	};
	const struct gmt_diff_pair *pair = &account->amounts[writer->diff->amount];
	struct signed_text part = percent(pair);
	int64_t difference = gmt_diff_pair_change(pair);
	char memory_name[48], title[300];

	if (!pair->sides[GMT_DIFF_BASE] && !pair->sides[GMT_DIFF_NEW])
		return true;
	if (!difference)
		part.text[0] = 0;
	snprintf(title, sizeof(title), titles[writer->diff->options.key],
		gmt_layer_name(account->layer), device_text(account, memory_name, sizeof(memory_name)),
		gmt_text_size(pair->sides[GMT_DIFF_BASE]).text,
		gmt_text_size(pair->sides[GMT_DIFF_NEW]).text,
		difference ? signed_size(difference).text : "no difference", *part.text ? " (" : "",
		part.text, *part.text ? ")" : "");
	gmt_console_heading(&writer->console, title);
	return write_rows(writer, account);
}

static void write_hint(const struct writer *writer, const char *verb, const char *meaning,
	bool with_base)
{
	fprintf(writer->file, "gpumemtrace %s ", verb);
	for (int side = with_base ? GMT_DIFF_BASE : GMT_DIFF_NEW; side < GMT_DIFF_SIDES; side++) {
		gmt_console_argument(&writer->console, writer->diff->sides[side].recording->path);
		fputc(side == GMT_DIFF_NEW ? '\n' : ' ', writer->file);
	}
	fprintf(writer->file, "        # %s\n", meaning);
}

static void write_next(const struct writer *writer)
{
	const struct gmt_diff *diff = writer->diff;

	fputs("\nnext: ", writer->file);
	if (diff->differs && diff->options.by != GMT_DIFF_BY_STACK) {
		write_hint(writer, "diff --by stack", "each stack separately", true);
		fputs("      ", writer->file);
	}
	write_hint(writer, "report", "which lines hold the memory in the new recording", false);
}

bool gmt_diff_text(const struct gmt_diff *diff, const struct gmt_diff_style *style, FILE *file)
{
	FILE *wrapped = gmt_wrap_stream_open(file);
	struct writer writer = {
		.diff = diff, .style = style, .console = { wrapped, style->color }, .file = wrapped
	};
	size_t accounts = diff->accounts.count < ACCOUNTS_SHOWN ? diff->accounts.count : ACCOUNTS_SHOWN;
	bool done = true;

	write_head(&writer);
	for (size_t i = 0; i < accounts; i++)
		write_account(&writer, &diff->accounts.items[i]);
	for (size_t i = 0; done && i < accounts; i++)
		done = write_list(&writer, &diff->accounts.items[i]);
	if (accounts < diff->accounts.count)
		fprintf(wrapped, "\nand %zu more (see --json)\n", diff->accounts.count - accounts);
	write_next(&writer);
	gmt_stack_summary_fini(&writer.summary);
	gmt_wrap_stream_close(wrapped, file);
	return done;
}
