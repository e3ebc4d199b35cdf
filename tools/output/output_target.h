/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_OUTPUT_TARGET_H
#define GMT_TOOLS_OUTPUT_OUTPUT_TARGET_H

/*
 * Finds the file to which the name of an output leads, and whether the program may replace that
 * file.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

enum { GMT_OUTPUT_INPUTS = 6 };

/* The files that an output must not replace. Borrows its texts. */
struct gmt_output_rules {
	/* Names of the files that the verb reads, in lists. A name may be NULL. */
	struct {
		const char *const *items;
		size_t count;
	} inputs[GMT_OUTPUT_INPUTS];
	bool force; /* --force: recordings and inputs may be replaced */
	bool has_no_force; /* the verb has no option --force */
};

enum gmt_output_kind {
	GMT_OUTPUT_FILE,       /* a regular file, or a free name */
	/* an open descriptor of this process: /dev/stdout, /dev/fd/3, /proc/self/fd/3 */
	GMT_OUTPUT_DESCRIPTOR,
	/* a device, a pipe, or a descriptor of another process; written to directly */
	GMT_OUTPUT_SPECIAL,
};

struct gmt_output_target {
	enum gmt_output_kind kind;
	int descriptor;      /* for GMT_OUTPUT_DESCRIPTOR */
	bool exists;
	struct stat status;  /* valid if it exists */
	/* the name after the last symbolic link, so that the links continue to lead to the file */
	char path[PATH_MAX];
};

/* Follows the links of `path`. Returns 0 or an errno. */
int gmt_output_target_find(const char *path, struct gmt_output_target *ret_target);

/*
 * Returns why the verb must not write to the target, as the end of a sentence that begins with the
 * target's name. Returns NULL if the verb may write. A file is a recording by its content or by its
 * name, because a recorder creates an empty file and writes to it later.
 */
const char *gmt_output_target_refusal(const struct gmt_output_target *target, const char *path,
	const struct gmt_output_rules *rules);

/* Returns whether both names would write to the same file. */
bool gmt_output_target_is_same(const struct gmt_output_target *a,
	const struct gmt_output_target *b);

#endif
