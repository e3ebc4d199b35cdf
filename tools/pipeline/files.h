/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_FILES_H
#define GMT_TOOLS_PIPELINE_FILES_H

/*
 * Reports on several recordings on one command line, each as if it were alone; in JSON as one list.
 * If there are several processors, the recordings are read in parallel (files_parallel.h).
 */

#include <stdbool.h>
#include <stdio.h>

#include "render/json.h"
#include "reader/stacks/owner_rules.h"
#include "tools/options/options.h"
#include "tools/output/output.h"

/* The output of the reports. */
struct gmt_files_output {
	FILE *file;
	struct gmt_json json; /* to that file; its state is that of the list */
	bool color;
	bool is_reported; /* at least one recording was reported completely */
	/* set by the reporting function for an incomplete recording, never cleared */
	bool is_incomplete;
};

struct gmt_files {
	int count;
	char **paths;
	const char *output; /* as for gmt_output_open */
	const struct gmt_option_texts *owners; /* other files that are read; may be NULL */
	bool force; /* the output may replace a recording */
	bool json;
	bool strict; /* an incomplete recording changes the exit code */
	enum gmt_color color;
	/* schema of the object around several recordings, and key of the list in it */
	const char *schema, *key;
	/*
	 * Writes the report of one recording. Returns an exit code; if it is not 0, has printed an
	 * error. May be called in a separate process.
	 */
	int (*report)(const void *context, const char *path, struct gmt_files_output *output);
	const void *context;
};

/*
 * Opens the output, reports on all recordings and closes the output. If a recording fails,
 * continues with the others. Returns the last exit code that was not 0, else 0.
 */
int gmt_files_report(const struct gmt_files *files);

/*
 * Does the same for verb `verb` with the owner rules in `files->owners`: first checks that the user
 * named a file, and loads the rules into `rules` (zeroed), which the reporting function uses. Ends
 * `rules`.
 */
int gmt_files_report_with_owners(const char *verb, const struct gmt_files *files,
	struct gmt_owner_rules *rules);

#endif
