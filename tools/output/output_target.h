/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_OUTPUT_TARGET_H
#define GMT_TOOLS_OUTPUT_OUTPUT_TARGET_H

/* Finds out which file the name of an output means, and whether the program may replace that file. */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Which files an output must not replace. The texts stay the caller's. */
enum { GMT_OUTPUT_INPUTS = 6 };

struct gmt_output_rules {
	/* Names of the files that the verb reads, in lists. A name may be NULL. */
	struct {
		const char *const *items;
		size_t count;
	} inputs[GMT_OUTPUT_INPUTS];
	bool force; /* the user means it: recordings and inputs may be replaced */
};

enum gmt_output_kind {
	GMT_OUTPUT_FILE,       /* a regular file, or a name that is free */
	GMT_OUTPUT_DESCRIPTOR, /* an open descriptor of this process: /dev/stdout, /dev/fd/3, /proc/self/fd/3 */
	GMT_OUTPUT_SPECIAL,    /* a device, a pipe, a descriptor of another process: written to directly */
};

struct gmt_output_target {
	enum gmt_output_kind kind;
	int descriptor;      /* of GMT_OUTPUT_DESCRIPTOR */
	bool exists;
	struct stat about;   /* when it exists */
	char path[PATH_MAX]; /* without symbolic links at its end: a link goes on to mean the file */
};

/* Follows the links of `path`. Returns 0, or an errno. */
int gmt_output_target_find(const char *path, struct gmt_output_target *ret_target);

/*
 * Returns why the verb must not write there, as the rest of a sentence that begins with the name; NULL when it may.
 * Recordings are known by their content; by their name too, because a recorder creates an empty file and writes
 * to it later.
 */
const char *gmt_output_target_refuses(const struct gmt_output_target *target, const char *path,
	const struct gmt_output_rules *rules);

/* Whether both names would write to one file. */
bool gmt_output_target_is_same(const struct gmt_output_target *a, const struct gmt_output_target *b);

#endif
