/* SPDX-License-Identifier: MIT */
/* The elements of a recording in the page. */
#include <stdlib.h>
#include <string.h>

#include "analysis/recording/recorded_program.h"
#include "render/page/page_write.h"
#include "render/page/html_escape.h"

/* Bytes of the report's text that a browser without scripts shows. */
enum { SUMMARY_BYTES = 16 << 10 };

bool gmt_page_write_packets(const struct gmt_page_view *view, FILE *file)
{
	bool done = gmt_page_write_recording(view, file);

	for (size_t i = 0; done && i < view->page->devices.count; i++)
		if (view->page->devices.items[i].accounts.count)
			done = gmt_page_write_device(view, &view->page->devices.items[i], file);
	return done;
}

static const struct gmt_page_device *find_device(const struct gmt_page *page, int32_t ordinal)
{
	for (size_t i = 0; i < page->devices.count; i++)
		if (page->devices.items[i].device == ordinal && page->devices.items[i].accounts.count)
			return &page->devices.items[i];
	return NULL;
}

/* Returns the account that a view shows first: PyTorch's, else the one with the largest peak. */
static const struct gmt_account *first_account(const struct gmt_page_view *view,
	const struct gmt_page_device *device)
{
	const struct gmt_accounting *accounting = &view->report->replay->accounting;
	const struct gmt_account *first = NULL;

	for (size_t i = 0; device && i < device->accounts.count; i++) {
		const struct gmt_account *account = &accounting->accounts.items[device->accounts.items[i]];

		if (account->layer == GMT_LAYER_TORCH)
			return account;
		/* Imported memory and views of memory count elsewhere. */
		if (gmt_layer_can_leak(account->layer) &&
			(!first || account->peak_bytes > first->peak_bytes))
			first = account;
	}
	return first;
}

static void write_device(const struct gmt_page_view *view, int32_t ordinal,
	const struct gmt_device *info, struct gmt_json *json)
{
	const struct gmt_page_device *device = find_device(view->page, ordinal);
	const struct gmt_account *account = first_account(view, device);

	gmt_json_begin_object(json);
	gmt_json_key_i64(json, "device", ordinal);
	gmt_json_key_text(json, "name", info ? info->name.text : NULL);
	gmt_json_key_known(json, "total_bytes", info, info ? info->total_bytes : 0);
	gmt_json_key_text(json, "layer", account ? gmt_layer_name(account->layer) : NULL);
	gmt_json_key_u64(json, "peak_bytes", account ? account->peak_bytes : 0);
	gmt_json_key_bool(json, "packet", device);
	gmt_json_end_object(json);
}

void gmt_page_write_index_item(const struct gmt_page_view *view, FILE *file)
{
	const struct gmt_report *report = view->report;
	const struct gmt_recording *recording = report->recording;
	const struct gmt_process *process = &recording->process;
	struct gmt_json item = { .file = file, .is_in_html = true }, *json = &item;

	gmt_json_begin_object(json);
	gmt_json_key_text(json, "file", recording->path);
	gmt_json_key_text(json, "title", gmt_recorded_program(recording));
	gmt_json_key_text(json, "host", recording->host);
	gmt_json_key_u64(json, "pid", process->pid);
	gmt_json_key_known(json, "rank", process->rank >= 0, (uint32_t)process->rank);
	gmt_json_key_bool(json, "complete", gmt_recording_complete(recording));
	gmt_json_key_u64(json, "duration_ns", report->replay->end_time_ns);
	gmt_json_key_u64(json, "events", report->replay->events);
	gmt_json_key_u64(json, "leaks", report->leaks->leaks->rows.count);
	gmt_json_key_u64(json, "ooms", report->ooms->failures);
	gmt_json_key_text(json, "error", NULL);
	gmt_json_key_array(json, "devices");
	for (size_t i = 0; i < report->summary->devices.count; i++)
		write_device(view, report->summary->devices.items[i].device,
			report->summary->devices.items[i].info, json);
	if (find_device(view->page, GMT_DEVICE_HOST))
		write_device(view, GMT_DEVICE_HOST, NULL, json);
	gmt_json_end_array(json);
	gmt_json_end_object(json);
}

void gmt_page_write_unreadable_item(const char *path, const char *error, FILE *file)
{
	struct gmt_json json = { .file = file, .is_in_html = true };

	gmt_json_begin_object(&json);
	gmt_json_key_text(&json, "file", path);
	gmt_json_key_text(&json, "title", path);
	gmt_json_key_text(&json, "host", NULL);
	gmt_json_key_known(&json, "pid", false, 0);
	gmt_json_key_known(&json, "rank", false, 0);
	gmt_json_key_bool(&json, "complete", false);
	gmt_json_key_u64(&json, "duration_ns", 0);
	gmt_json_key_u64(&json, "events", 0);
	gmt_json_key_u64(&json, "leaks", 0);
	gmt_json_key_u64(&json, "ooms", 0);
	gmt_json_key_text(&json, "error", error);
	gmt_json_key_array(&json, "devices");
	gmt_json_end_array(&json);
	gmt_json_end_object(&json);
}

static void write_heading(const char *title, const char *path, FILE *file)
{
	fputs("<section>\n<h2>", file);
	gmt_html_escape(file, title, strlen(title));
	fputs("</h2>\n<p>", file);
	gmt_html_escape(file, path, strlen(path));
	fputs("</p>\n", file);
}

static void write_text(const char *text, size_t length, FILE *file)
{
	fputs("<pre>", file);
	gmt_html_escape(file, text, length);
	fputs("</pre>\n</section>\n", file);
}

bool gmt_page_write_summary(const struct gmt_page_view *view, FILE *file)
{
	char *text = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&text, &length);
	bool done = stream && gmt_report_text(view->report, stream);

	if (stream)
		done &= !fclose(stream);
	if (done) {
		/* Cut at the end of a line. */
		const char *cut = length > SUMMARY_BYTES ? memrchr(text, '\n', SUMMARY_BYTES) : NULL;

		write_heading(gmt_recorded_program(view->report->recording), view->report->recording->path,
			file);
		write_text(text, cut ? (size_t)(cut + 1 - text) : length, file);
	}
	free(text);
	return done;
}

void gmt_page_write_unreadable_summary(const char *path, const char *error, FILE *file)
{
	write_heading(path, path, file);
	write_text(error, strlen(error), file);
}

void gmt_page_write_index(const char *items, size_t length, FILE *file)
{
	fputs("<script type=\"application/json\" id=\"index\">"
		  "{\"schema\":\"gpumemtrace.page/1\",\"made_by\":\"gpumemtrace " GMT_PROGRAM_VERSION
		  "\",\"recordings\":[",
		file);
	fwrite(items, 1, length, file);
	fputs("]}</script>\n", file);
}
