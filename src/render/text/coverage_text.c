/* SPDX-License-Identifier: MIT */
#include "render/coverage.h"

#include <inttypes.h>
#include <string.h>

enum { NAME_WIDTH = 44, LINE_WIDTH = 100 };

static void write_libraries(const struct gmt_function_coverage *coverage,
	const struct gmt_plain *plain)
{
	for (size_t i = 0; i < coverage->libraries.count; i++) {
		fputs("  ", plain->file);
		gmt_plain_padded(plain, coverage->libraries.items[i].role, 12);
		gmt_plain_text(plain, coverage->libraries.items[i].path);
		fputc('\n', plain->file);
	}
}

static void write_unhooked(const struct gmt_function_coverage *coverage,
	const struct gmt_plain *plain)
{
	fputc('\n', plain->file);
	if (!coverage->unhooked.count) {
		fputs("  Every function that was looked up and looks like an allocation call is hooked.\n",
			plain->file);
		return;
	}
	gmt_plain_style(plain, GMT_PLAIN_WARN);
	fprintf(plain->file, "  %-*s %s\n", NAME_WIDTH, "looked up, but not hooked", "through");
	gmt_plain_style(plain, GMT_PLAIN_NORMAL);
	for (size_t i = 0; i < coverage->unhooked.count; i++) {
		fputs("  ", plain->file);
		gmt_plain_padded(plain, coverage->unhooked.items[i]->name.text, NAME_WIDTH);
		fputc(' ', plain->file);
		gmt_plain_text(plain, coverage->unhooked.items[i]->route.text);
		fputc('\n', plain->file);
	}
	fputs(
		"  Memory from these functions is not recorded; the ledger shows it as unexplained. Use the newest\n"
		"  version of gpumemtrace. If it does not hook them either, please report their names.\n",
		plain->file);
}

static void write_called(const struct gmt_function_coverage *coverage,
	const struct gmt_plain *plain)
{
	fprintf(plain->file, "\n  %-*s %-8s %11s\n", NAME_WIDTH, "called", "library", "calls");
	for (size_t i = 0; i < coverage->called.count; i++) {
		const struct gmt_function_coverage_api *row = &coverage->called.items[i];

		fputs("  ", plain->file);
		gmt_plain_padded(plain, row->api->name.text, NAME_WIDTH);
		fputc(' ', plain->file);
		gmt_plain_padded(plain, row->api->library.text, 8);
		fprintf(plain->file, " %11" PRIu64 "\n", row->calls);
	}
}

/* Writes one paragraph for each library. */
static void write_never_called(const struct gmt_function_coverage *coverage,
	const struct gmt_plain *plain)
{
	const char *library = "";
	size_t column = 0;

	for (size_t i = 0; i < coverage->never.count; i++) {
		const struct gmt_api *api = coverage->never.items[i].api;
		bool is_first = strcmp(library, api->library.text) != 0;

		if (is_first) {
			fprintf(plain->file, "%s\n  hooked, but never called, library ", column ? "\n" : "");
			gmt_plain_text(plain, api->library.text);
			column = LINE_WIDTH;
		}
		library = api->library.text;
		if (column + 1 + api->name.length > LINE_WIDTH) {
			fputs("\n   ", plain->file);
			column = 3;
		}
		fputc(' ', plain->file);
		gmt_plain_text(plain, api->name.text);
		column += 1 + api->name.length;
	}
	if (column)
		fputc('\n', plain->file);
}

void gmt_coverage_text(const struct gmt_function_coverage *coverage, const struct gmt_plain *plain)
{
	write_libraries(coverage, plain);
	write_unhooked(coverage, plain);
	if (!coverage->has_counts) {
		fputs("\n  Calls were not counted: this version of the recorder cannot count them.\n",
			plain->file);
		return;
	}
	write_called(coverage, plain);
	write_never_called(coverage, plain);
	if (!coverage->is_whole)
		fputs(
			"\n  The list of functions that were never called is not known: the recording has no end.\n",
			plain->file);
}
