/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_FILES_H
#define GMT_TOOLS_FILES_H

/* Several recordings on one command line, each told of as if it were alone; in JSON as one list. */

#include <stdbool.h>
#include <stdio.h>

#include "render/json.h"

struct gmt_files {
	int count;
	char **paths;
	const char *output; /* as gmt_output_open takes it */
	bool json;
	bool strict; /* an incomplete recording is worth an exit code */
	const char *schema, *key; /* of the object around several, and of the list in it */
	/* Writes of one; returns an exit code. *ret_incomplete is set when it is, never cleared. */
	int (*tell)(const void *user, const char *path, struct gmt_json *json, FILE *file, bool *ret_incomplete);
	const void *user;
};

/* Opens the output, tells of all and closes it. The last exit code that was not 0: the others are told of all the same. */
int gmt_files_tell(const struct gmt_files *files);

#endif
