/* SPDX-License-Identifier: MIT */
#include "tools/report/report_page.h"

#include <stdlib.h>

#include "render/page.h"
#include "render/page/page_template.h"
#include "tools/output/message.h"
#include "tools/output/default_output_name.h"
#include "tools/report/page_document.h"

bool gmt_report_page_is_possible(void)
{
	size_t length;

	return gmt_page_template(&length) != NULL;
}

bool gmt_report_page_require(const char *verb)
{
	if (gmt_report_page_is_possible())
		return true;
	gmt_message_error("%s: --html: this program was built without the page", verb);
	gmt_message_hint("install Node.js and npm, then run scripts/build, which builds the page too");
	return false;
}

const char *gmt_report_page_file_name(const char *wanted, const char *recording,
	char buffer[PATH_MAX])
{
	return *wanted ? wanted : gmt_default_output_name(recording, ".html", buffer);
}

/* A part of a recording, in memory. */
struct part {
	char *text;
	size_t length;
};

static bool make_part(const struct gmt_page_view *view, unsigned part, struct part *ret_part)
{
	FILE *stream = open_memstream(&ret_part->text, &ret_part->length);
	bool done = stream;

	if (done && part == GMT_PAGE_PART_ITEM)
		gmt_page_write_index_item(view, stream);
	else if (done)
		done = part == GMT_PAGE_PART_SUMMARY ? gmt_page_write_summary(view, stream)
											 : gmt_page_write_packets(view, stream);
	if (stream)
		done &= !fclose(stream);
	return done;
}

bool gmt_report_page_write(const struct gmt_page *page, struct gmt_report *report, unsigned number,
	FILE *parts)
{
	struct gmt_page_view view = {
		.page = page,
		.report = report,
		.overhead = gmt_overhead_estimate(report->recording),
		.number = number,
	};
	struct part made[GMT_PAGE_PART_COUNT] = { 0 };
	bool done = true;

	report->without_sites = true;
	/* Write all parts, or no part: after a failure, the caller writes the parts with the error. */
	for (unsigned part = 0; done && part < GMT_PAGE_PART_COUNT; part++)
		done = make_part(&view, part, &made[part]);
	for (unsigned part = 0; part < GMT_PAGE_PART_COUNT; part++) {
		if (done)
			gmt_page_part_write(parts, (enum gmt_page_part)part, made[part].text,
				made[part].length);
		free(made[part].text);
	}
	return done;
}

void gmt_report_page_write_unreadable(const char *path, FILE *parts)
{
	const char *error = gmt_message_last_error();
	char *text = NULL;
	size_t length = 0;

	for (unsigned part = GMT_PAGE_PART_ITEM; part <= GMT_PAGE_PART_SUMMARY; part++) {
		FILE *stream = open_memstream(&text, &length);

		if (!stream)
			return;
		if (part == GMT_PAGE_PART_ITEM)
			gmt_page_write_unreadable_item(path, error, stream);
		else
			gmt_page_write_unreadable_summary(path, error, stream);
		if (!fclose(stream))
			gmt_page_part_write(parts, (enum gmt_page_part)part, text, length);
		free(text);
		text = NULL;
	}
}
