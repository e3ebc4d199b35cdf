/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_FILES_H
#define GMT_TOOLS_PIPELINE_FILES_H

/*
 * Several recordings on one command line, each told of as if it were alone; in JSON as one list. Where there are processors
 * for it, they are read beside each other (files_parallel.h).
 */

#include <stdbool.h>
#include <stdio.h>

#include "render/json.h"
#include "tools/options/options.h"
#include "tools/output/output.h"

/* Where what is told of a recording goes. */
struct gmt_files_output {
	FILE *file;
	struct gmt_json json; /* to that file; its state is that of the list */
	bool color;
	bool is_told; /* at least one recording was told of whole */
	bool is_incomplete; /* set by who tells of a recording that is, never cleared */
};

struct gmt_files {
	int count;
	char **paths;
	const char *output; /* as gmt_output_open takes it */
	const struct gmt_option_texts *owners; /* other files that are read; may be NULL */
	bool force; /* the output may replace a recording */
	bool json;
	bool strict; /* an incomplete recording is worth an exit code */
	enum gmt_color color;
	const char *schema, *key; /* of the object around several, and of the list in it */
	/* Writes of one; returns an exit code, and has said why it is not 0. May be called in a process of its own. */
	int (*tell)(const void *user, const char *path, struct gmt_files_output *output);
	const void *user;
};

/* Opens the output, tells of all and closes it. The last exit code that was not 0: the others are told of all the same. */
int gmt_files_report(const struct gmt_files *files);

#endif
