/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_REPORT_REPORT_EACH_H
#define GMT_TOOLS_REPORT_REPORT_EACH_H

/*
 * Reports on each recording of a command line, one after the other. JSON has one line for each
 * recording. On several processors, the recordings are read in parallel (report_each_parallel.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "render/json.h"
#include "reader/stacks/owner_rules.h"
#include "tools/options/options.h"
#include "tools/output/output.h"
#include "tools/output/pager.h"

/* The output of the reports. */
struct gmt_report_each_output {
	FILE *file;
	struct gmt_json json; /* writes to `file` */
	bool color;
	bool is_utf8;    /* the terminal shows UTF-8 */
	bool may_page;   /* the output is text for stdout, which a pager may show */
	size_t columns;  /* width of the output */
	bool is_reported; /* at least one recording was reported completely */
	bool is_incomplete; /* a recording is incomplete; the reporting function sets it */
};

/* Options of the verbs that report on each recording. */
struct gmt_report_each_options {
	const char *output; /* path for gmt_output_open */
	struct gmt_option_texts owners; /* files with owner rules */
	int color; /* enum gmt_color */
	bool force; /* the output may replace a recording */
	bool json;
	bool strict; /* exit with 4 if a recording is incomplete */
};

/*
 * The last rows of the option table, for a verb that has a struct gmt_report_each_options at
 * `offset`.
 */
#define GMT_REPORT_EACH_LAST_OPTIONS(offset) \
	{ "strict", 0, GMT_OPTION_FLAG, NULL, \
		(offset) + offsetof(struct gmt_report_each_options, strict), \
		"exit with 4 if the recording is incomplete" }, \
		{ "color", 0, GMT_OPTION_WORD, "auto|always|never", \
			(offset) + offsetof(struct gmt_report_each_options, color), \
			"colours (default: on a terminal)" }, \
		{ "output", 'o', GMT_OPTION_TEXT, "FILE", \
			(offset) + offsetof(struct gmt_report_each_options, output), "write to FILE" }, \
		{ "force", 0, GMT_OPTION_FLAG, NULL, \
			(offset) + offsetof(struct gmt_report_each_options, force), \
			"allow --output to replace a recording or an input file" }

struct gmt_report_each {
	int count;
	char **paths;
	const struct gmt_report_each_options *options;
	/*
	 * Writes the report of one recording. Returns 0, or an exit code after an error message. May
	 * run in a separate process.
	 */
	int (*report)(const void *context, const char *path, struct gmt_report_each_output *output);
	const void *context;
	/*
	 * Optional, for a document that is made from all reports. `report` then writes to a temporary
	 * file, without text between the reports. `assemble` writes the document from this file.
	 * Returns false when out of memory.
	 */
	bool (*assemble)(FILE *reports, FILE *document);
	bool assembles_text; /* the document is text for a terminal */
};

/* Starts the pager on a terminal (pager.h). Call it before the first text of a recording. */
static inline void gmt_report_each_begin_text(const struct gmt_report_each_output *output)
{
	if (output->may_page && output->file == stdout)
		gmt_pager_begin();
}

/* Ends the line. Call it after the JSON object of a recording. */
static inline void gmt_report_each_end_json(struct gmt_report_each_output *output)
{
	output->json.needs_comma = false;
	fputc('\n', output->file);
}

/*
 * Loads the owner rules into `rules` (zeroed), which the reporting function uses. Opens the output,
 * reports on all recordings and closes the output. If a recording fails, continues with the others.
 * Then ends `rules`. Returns the last exit code that was not 0, or 0.
 */
int gmt_report_each_recording(const struct gmt_report_each *files, struct gmt_owner_rules *rules);

#endif
