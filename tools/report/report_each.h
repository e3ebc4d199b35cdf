/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_REPORT_REPORT_EACH_H
#define GMT_TOOLS_REPORT_REPORT_EACH_H

/*
 * Reports on several recordings on one command line, each as if it were alone; in JSON one line for
 * each. If there are several processors, the recordings are read in parallel
 * (report_each_parallel.h).
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
	struct gmt_json json; /* to that file */
	bool color;
	bool is_utf8;    /* its reader can show UTF-8 */
	bool may_page;   /* it is text for stdout */
	size_t columns;  /* its width */
	bool is_reported; /* at least one recording was reported completely */
	/* set by the reporting function for an incomplete recording, never cleared */
	bool is_incomplete;
};

/* The options that all verbs with such reports have. */
struct gmt_report_each_options {
	const char *output; /* as for gmt_output_open */
	struct gmt_option_texts owners; /* files with owner rules */
	int color; /* enum gmt_color */
	bool force; /* the output may replace a recording */
	bool json;
	bool strict; /* an incomplete recording changes the exit code */
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
	 * Writes the report of one recording. Returns an exit code; if it is not 0, has printed an
	 * error. May be called in a separate process.
	 */
	int (*report)(const void *context, const char *path, struct gmt_report_each_output *output);
	const void *context;
	/*
	 * Optional, for a document in which the reports have several places. The reports go to a
	 * temporary file without text between them. This function then writes the document from it.
	 * False when out of memory.
	 */
	bool (*assemble)(FILE *reports, FILE *document);
	bool assembles_text; /* the document is text for a terminal */
};

/* Call it before the first text of a recording: on a terminal, starts the pager (pager.h). */
static inline void gmt_report_each_begin_text(const struct gmt_report_each_output *output)
{
	if (output->may_page && output->file == stdout)
		gmt_pager_begin();
}

/* Call it after the JSON object of a recording: ends its line. */
static inline void gmt_report_each_end_json(struct gmt_report_each_output *output)
{
	output->json.needs_comma = false;
	fputc('\n', output->file);
}

/*
 * Loads the owner rules into `rules` (zeroed), which the reporting function uses. Opens the output,
 * reports on all recordings and closes the output. If a recording fails, continues with the others.
 * Returns the last exit code that was not 0, else 0. Ends `rules`.
 */
int gmt_report_each_recording(const struct gmt_report_each *files, struct gmt_owner_rules *rules);

#endif
