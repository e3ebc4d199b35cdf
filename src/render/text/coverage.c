/* SPDX-License-Identifier: MIT */
#include "render/coverage.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

enum { NAME_WIDTH = 44, LINE_WIDTH = 100 };

static void write_padded(const struct gmt_plain *plain, const char *text, size_t width)
{
	gmt_plain_text(plain, text);
	for (size_t length = strlen(text); length < width; length++)
		fputc(' ', plain->file);
}

static void write_libraries(const struct gmt_coverage *coverage, const struct gmt_plain *plain)
{
	for (size_t i = 0; i < coverage->libraries.count; i++) {
		fputs("  ", plain->file);
		write_padded(plain, coverage->libraries.items[i].role, 12);
		gmt_plain_text(plain, coverage->libraries.items[i].path);
		fputc('\n', plain->file);
	}
}

static void write_unhooked(const struct gmt_coverage *coverage, const struct gmt_plain *plain)
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
		write_padded(plain, coverage->unhooked.items[i]->name.text, NAME_WIDTH);
		fputc(' ', plain->file);
		gmt_plain_text(plain, coverage->unhooked.items[i]->road.text);
		fputc('\n', plain->file);
	}
	fputs(
		"  Memory from these functions is not recorded; the ledger shows it as unexplained. Use the newest\n"
		"  version of gpumemtrace. If it does not hook them either, please report their names.\n",
		plain->file);
}

static void write_called(const struct gmt_coverage *coverage, const struct gmt_plain *plain)
{
	fprintf(plain->file, "\n  %-*s %-8s %11s\n", NAME_WIDTH, "called", "library", "calls");
	for (size_t i = 0; i < coverage->called.count; i++) {
		const struct gmt_coverage_api *row = &coverage->called.items[i];

		fputs("  ", plain->file);
		write_padded(plain, row->api->name.text, NAME_WIDTH);
		fputc(' ', plain->file);
		write_padded(plain, row->api->library.text, 8);
		fprintf(plain->file, " %11" PRIu64 "\n", row->calls);
	}
}

/* Writes one paragraph for each library. */
static void write_never_called(const struct gmt_coverage *coverage, const struct gmt_plain *plain)
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

void gmt_coverage_text(const struct gmt_coverage *coverage, const struct gmt_plain *plain)
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

void gmt_coverage_json(const struct gmt_coverage *coverage, struct gmt_json *json)
{
	gmt_json_begin_object(json);
	gmt_json_key(json, "libraries");
	gmt_json_begin_array(json);
	for (size_t i = 0; i < coverage->libraries.count; i++) {
		gmt_json_begin_object(json);
		gmt_json_key_text(json, "role", coverage->libraries.items[i].role);
		gmt_json_key_text(json, "path", coverage->libraries.items[i].path);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
	gmt_json_key(json, "unhooked");
	gmt_json_begin_array(json);
	for (size_t i = 0; i < coverage->unhooked.count; i++) {
		gmt_json_begin_object(json);
		gmt_json_key_text(json, "name", coverage->unhooked.items[i]->name.text);
		gmt_json_key_text(json, "road", coverage->unhooked.items[i]->road.text);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
	gmt_json_key(json, "called");
	gmt_json_begin_array(json);
	for (size_t i = 0; i < coverage->called.count; i++) {
		gmt_json_begin_object(json);
		gmt_json_key_text(json, "name", coverage->called.items[i].api->name.text);
		gmt_json_key_text(json, "library", coverage->called.items[i].api->library.text);
		gmt_json_key_u64(json, "calls", coverage->called.items[i].calls);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
	gmt_json_key(json, "never_called");
	if (coverage->is_whole) {
		gmt_json_begin_array(json);
		for (size_t i = 0; i < coverage->never.count; i++)
			gmt_json_text(json, coverage->never.items[i].api->name.text);
		gmt_json_end_array(json);
	} else {
		gmt_json_null(json);
	}
	gmt_json_end_object(json);
}
