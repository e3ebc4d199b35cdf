/* SPDX-License-Identifier: MIT */
#include "render/function_coverage.h"

#include <inttypes.h>
#include <string.h>

enum { NAME_WIDTH = 44, LINE_WIDTH = 100 };

static void write_libraries(const struct gmt_function_coverage *coverage,
	const struct gmt_console *console)
{
	for (size_t i = 0; i < coverage->libraries.count; i++) {
		fputs("  ", console->file);
		gmt_console_padded(console, coverage->libraries.items[i].role, 12);
		gmt_console_text(console, coverage->libraries.items[i].path);
		fputc('\n', console->file);
	}
}

static void write_unhooked(const struct gmt_function_coverage *coverage,
	const struct gmt_console *console)
{
	fputc('\n', console->file);
	if (!coverage->unhooked.count) {
		fputs("  Every function that was looked up and looks like an allocation call is hooked.\n",
			console->file);
		return;
	}
	gmt_console_style(console, GMT_CONSOLE_WARN);
	fprintf(console->file, "  %-*s %s\n", NAME_WIDTH, "looked up, but not hooked", "through");
	gmt_console_style(console, GMT_CONSOLE_NORMAL);
	for (size_t i = 0; i < coverage->unhooked.count; i++) {
		fputs("  ", console->file);
		gmt_console_padded(console, coverage->unhooked.items[i]->name.text, NAME_WIDTH);
		fputc(' ', console->file);
		gmt_console_text(console, coverage->unhooked.items[i]->route.text);
		fputc('\n', console->file);
	}
	fputs("  Memory from these functions is not recorded; the ledger shows it as unexplained. Use "
		  "the newest\n"
		  "  version of gpumemtrace. If it does not hook them either, please report their names.\n",
		console->file);
}

static void write_called(const struct gmt_function_coverage *coverage,
	const struct gmt_console *console)
{
	fprintf(console->file, "\n  %-*s %-8s %11s\n", NAME_WIDTH, "called", "library", "calls");
	for (size_t i = 0; i < coverage->called.count; i++) {
		const struct gmt_function_coverage_api *row = &coverage->called.items[i];

		fputs("  ", console->file);
		gmt_console_padded(console, row->api->name.text, NAME_WIDTH);
		fputc(' ', console->file);
		gmt_console_padded(console, row->api->library.text, 8);
		fprintf(console->file, " %11" PRIu64 "\n", row->calls);
	}
}

/* Writes one paragraph for each library. */
static void write_never_called(const struct gmt_function_coverage *coverage,
	const struct gmt_console *console)
{
	const char *library = "";
	size_t column = 0;

	for (size_t i = 0; i < coverage->never_called.count; i++) {
		const struct gmt_api *api = coverage->never_called.items[i].api;
		bool is_first = strcmp(library, api->library.text) != 0;

		if (is_first) {
			fprintf(console->file, "%s\n  hooked, but never called, library ", column ? "\n" : "");
			gmt_console_text(console, api->library.text);
			column = LINE_WIDTH;
		}
		library = api->library.text;
		if (column + 1 + api->name.length > LINE_WIDTH) {
			fputs("\n   ", console->file);
			column = 3;
		}
		fputc(' ', console->file);
		gmt_console_text(console, api->name.text);
		column += 1 + api->name.length;
	}
	if (column)
		fputc('\n', console->file);
}

void gmt_function_coverage_text(const struct gmt_function_coverage *coverage,
	const struct gmt_console *console)
{
	write_libraries(coverage, console);
	write_unhooked(coverage, console);
	if (!coverage->has_counts) {
		fputs("\n  Calls were not counted: this version of the recorder cannot count them.\n",
			console->file);
		return;
	}
	write_called(coverage, console);
	write_never_called(coverage, console);
	if (!coverage->is_whole)
		fputs("\n  The list of functions that were never called is not known: the recording has no "
			  "end.\n",
			console->file);
}
