/* SPDX-License-Identifier: MIT */
#include "render/allocator_state.h"

#include <inttypes.h>

#include "analysis/history/categories.h"
#include "analysis/tables/short_names.h"
#include "base/text.h"
#include "reader/load/clock.h"
#include "render/console.h"
#include "render/memory_names.h"

enum { ROWS_SHOWN = 30, PEAK_ROWS_SHOWN = 12, SHORT_ROWS_SHOWN = 3, ACCOUNTS_SHOWN = 64 };

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/*
 * Writes, for example, "layers.3.attn  (parameters 1.00 MiB, gradients 1.00 MiB)", with the amounts
 * by which the table is sorted. If the module's tensors are gone, writes the amounts over the whole
 * run.
 */
static void write_instance(const struct gmt_console *console,
	const struct gmt_allocator_state_view *view, const struct gmt_table *table,
	const struct gmt_table_row *row)
{
	const struct gmt_table_instance *instance = &table->instances.items[row->instance_plus_1 - 1];
	bool by_peak = view->order == GMT_SITES_BY_PEAK && row->peak_bytes;
	bool by_live = view->order == GMT_SITES_BY_LIVE && row->live_bytes;
	const char *before = "  (", *end = "";

	gmt_console_text(console, row->name);
	for (uint8_t role = GMT_ROLE_NONE + 1; role < GMT_ROLES; role++) {
		uint64_t bytes = by_peak ? instance->roles[role].peak_bytes
			: by_live            ? instance->roles[role].live_bytes
								 : instance->roles[role].total_bytes;

		if (!bytes)
			continue;
		fprintf(console->file, "%s%s %s", before, gmt_category_name(gmt_category_of_role(role)),
			gmt_text_size(bytes).text);
		before = ", ";
		end = ")";
	}
	fputs(end, console->file);
}

static void write_name(const struct gmt_console *console,
	const struct gmt_allocator_state_view *view, const struct gmt_table *table,
	const struct gmt_table_row *row)
{
	const struct gmt_place *place;

	if (table->key == GMT_TABLE_STEP) {
		char name[64];

		gmt_table_step_name(view->timeline, row->series, row->step, name, sizeof(name));
		fputs(name, console->file);
	} else if (table->key == GMT_TABLE_FUNCTION && row->place_plus_1) {
		place = gmt_traces_place(view->traces, row->place_plus_1 - 1);
		gmt_console_text(console, gmt_traces_string(view->traces, place->function));
		if (place->file) {
			fputs("  ", console->file);
			gmt_console_text(console,
				gmt_short_name_of_file(view->recording,
					gmt_traces_string(view->traces, place->file)));
		}
	} else if (row->place_plus_1)
		gmt_console_own_place(console, view->recording, view->traces, row->place_plus_1 - 1);
	else if (row->instance_plus_1)
		write_instance(console, view, table, row);
	else if (row->name) {
		gmt_console_text(console, row->name);
		if (table->key == GMT_TABLE_MODULE)
			fputs("  (by class)", console->file);
	} else
		fprintf(console->file, "(%s)", gmt_table_key_none(table->key));
}

static void write_row(const struct gmt_console *console,
	const struct gmt_allocator_state_view *view, const struct gmt_table_row *row,
	uint64_t peak_bytes)
{
	fprintf(console->file, "  %10s %5.1f %% %10s %10s %11s", gmt_text_size(row->peak_bytes).text,
		percent(row->peak_bytes, peak_bytes), gmt_text_size(row->live_bytes).text,
		gmt_text_size(row->total_bytes).text, gmt_text_count(row->allocs).text);

	double ratio = row->peak_bytes ? (double)row->total_bytes / (double)row->peak_bytes : 0;
	if (!row->peak_bytes || ratio >= 1000)
		fprintf(console->file, " %8s", row->peak_bytes ? "> 999" : "-");
	else
		fprintf(console->file, " %8.1f", ratio);
	fprintf(console->file, " %10s", gmt_text_size(row->largest_bytes).text);
	if (view->table->key == GMT_TABLE_OWNER)
		fprintf(console->file, " %10s", gmt_text_size(row->max_live_bytes).text);
	fputs("  ", console->file);
	write_name(console, view, view->table, row);
	fputc('\n', console->file);
}

void gmt_table_text(const struct gmt_allocator_state_view *view, FILE *file)
{
	static const char *const sorted[] = { "peak", "live bytes", "total bytes" };
	if (!view->table)
		return;

	const struct gmt_console console = { file, view->color };
	const struct gmt_accounting *accounting = &view->replay->accounting;
	const struct gmt_table_row *row = view->table->rows.items;
	uint64_t limit = view->limit == UINT64_MAX ? ROWS_SHOWN : view->limit;
	size_t left = view->table->rows.count, count;

	while (left) {
		const struct gmt_account *account =
			gmt_accounting_find_account(accounting, (uint8_t)row->layer, (int16_t)row->device);
		char title[160];

		row = gmt_table_rows_of(view->table, row->layer, row->device, &count);
		snprintf(title, sizeof(title), "%s on %s by %s, sorted by %s", gmt_layer_name(row->layer),
			gmt_device_in_sentence(row->device).text, gmt_table_key_title(view->table->key),
			sorted[view->order]);
		gmt_console_heading(&console, title);
		gmt_console_style(&console, GMT_CONSOLE_DIM);
		fprintf(file, "  %10s %7s %10s %10s %11s %8s %10s%s\n", "at peak", "", "live", "total",
			"allocs", "tot/peak", "largest",
			view->table->key == GMT_TABLE_OWNER ? "  own peak" : "");
		gmt_console_style(&console, GMT_CONSOLE_NORMAL);
		for (size_t i = 0; i < count && i < limit; i++)
			write_row(&console, view, &row[i], account ? account->peak_bytes : 0);
		if (count > limit)
			fprintf(file, "  and %s more (--limit)\n", gmt_text_count(count - limit).text);
		row += count;
		left -= count;
	}
}

/*
 * Writes, for example, "activations 61 %, parameters 20 %, ...". Skips a table with only one row.
 */
static void write_shares(const struct gmt_console *console,
	const struct gmt_allocator_state_view *view, const struct gmt_table *table,
	const struct gmt_account *account)
{
	size_t count, shown = 0;
	const struct gmt_table_row *row =
		gmt_table_rows_of(table, account->layer, account->device, &count);

	if (count < 2 || !row->peak_bytes)
		return;
	fprintf(console->file, "  by %-18s ", gmt_table_key_title(table->key));
	/* A share that rounds to 0 % says nothing. */
	for (; shown < count && shown < SHORT_ROWS_SHOWN &&
		percent(row[shown].peak_bytes, account->peak_bytes) >= 0.5;
		shown++) {
		fputs(shown ? ", " : "", console->file);
		write_name(console, view, table, &row[shown]);
		fprintf(console->file, " %.0f %%", percent(row[shown].peak_bytes, account->peak_bytes));
	}
	if (shown < count && row[shown].peak_bytes)
		fputs(", ...", console->file);
	fputc('\n', console->file);
}

const struct gmt_table *gmt_peak_table(const struct gmt_allocator_state_view *view,
	enum gmt_table_grouping key)
{
	size_t i = 0;

	while (i + 1 < GMT_PEAK_TABLES && view->peaks[i].key != key)
		i++;
	return &view->peaks[i];
}

/* Returns whether several libraries held memory at a peak. The first of `peaks` is by owner. */
static bool has_owners(const struct gmt_allocator_state_view *view,
	const struct gmt_account *account)
{
	size_t count;
	const struct gmt_table_row *row =
		gmt_table_rows_of(&view->peaks[0], account->layer, account->device, &count);

	return count > 1 && row[1].peak_bytes;
}

static void write_rows(const struct gmt_console *console,
	const struct gmt_allocator_state_view *view, const struct gmt_table *table,
	const struct gmt_account *account)
{
	uint64_t limit = view->limit == UINT64_MAX ? PEAK_ROWS_SHOWN : view->limit, rest = 0;
	size_t count, left = 0;
	const struct gmt_table_row *row =
		gmt_table_rows_of(table, account->layer, account->device, &count);

	fprintf(console->file, "  by %s\n", gmt_table_key_title(table->key));
	for (size_t i = 0; i < count && row[i].peak_bytes; i++)
		if (i < limit) {
			fprintf(console->file, "  %12s %5.1f %% %9s x  ", gmt_text_size(row[i].peak_bytes).text,
				percent(row[i].peak_bytes, account->peak_bytes),
				gmt_text_count(row[i].peak_blocks).text);
			write_name(console, view, table, &row[i]);
			fputc('\n', console->file);
		} else {
			left++;
			rest += row[i].peak_bytes;
		}
	if (left)
		fprintf(console->file, "  %12s %5.1f %%  in %s more\n", gmt_text_size(rest).text,
			percent(rest, account->peak_bytes), gmt_text_count(left).text);
}

void gmt_peaks_text(const struct gmt_allocator_state_view *view, bool is_short, FILE *file)
{
	const struct gmt_console console = { file, view->color };
	const struct gmt_accounting *accounting = &view->replay->accounting;

	for (uint8_t layer = GMT_ACCOUNTING_LAYERS; layer-- > 0;)
		for (size_t a = 0; a < accounting->accounts.count && a < ACCOUNTS_SHOWN; a++) {
			const struct gmt_account *account = &accounting->accounts.items[a];
			char title[160];

			/*
			 * For the driver's memory, the short form shows only the owners, because it has few
			 * sites.
			 */
			bool is_driver = is_short && layer != GMT_LAYER_TORCH;
			if (account->layer != layer || !account->peak_bytes ||
				(is_driver && !has_owners(view, account)))
				continue;
			snprintf(title, sizeof(title), "Composition of the %s peak on %s: %s at %s",
				gmt_layer_name(layer), gmt_device_in_sentence(account->device).text,
				gmt_text_size(account->peak_bytes).text,
				gmt_text_duration(gmt_clock_time_ns(view->recording, account->peak_stamp)).text);
			gmt_console_heading(&console, title);
			for (size_t i = 0; i < (is_driver ? 1 : GMT_PEAK_TABLES); i++)
				(is_short ? write_shares : write_rows)(&console, view, &view->peaks[i], account);
		}
}
