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
	FILE *file;
	bool json;
	const char *schema, *key; /* of the object around several, and of the list in it */
	/* Writes of one; returns an exit code. */
	int (*tell)(void *user, const char *path, struct gmt_json *json, FILE *file);
	void *user;
};

/* The last exit code that was not 0: the others are told of all the same. */
int gmt_files_tell(const struct gmt_files *files);

#endif
