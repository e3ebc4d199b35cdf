/* SPDX-License-Identifier: MIT */
#ifndef GMT_FILES_OUTPUT_NAME_H
#define GMT_FILES_OUTPUT_NAME_H

/*
 * The name of the recording's file: the template from option `output` with its tokens replaced.
 *
 *   %p pid  %h host  %e program  %t start time (20261121-093015)  %r rank  %l local rank
 *   %n a number that makes the name unique  %q{VAR} an environment variable  %% a percent sign
 *   %H two hex digits that spread the files of many ranks over 256 folders
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GMT_LAUNCHER_VARIABLES = 0
#define GMT_LAUNCHER_VARIABLE(name) +1
#include "format/launcher_variables.def"
#undef GMT_LAUNCHER_VARIABLE
};

/* The values of the tokens, and the environment of the process when its recording began. */
struct gmt_output_identity {
	int32_t rank;       /* -1: no launcher has set it */
	int32_t local_rank;
	char host[256];
	char program[256];  /* last part of the executable's path */
	int64_t time_s;     /* when gmt_output_identity_init was called, in seconds since 1970 */
	char folder[4096];  /* base folder of relative names; "": the current folder */
	/* Values of the variables of launcher_variables.def that are set, each ended by a NUL */
	char variables[4096];
	size_t variable_bytes;
	/* Offset of each variable's value in `variables`, plus 1; 0: not set, empty, or no room */
	uint16_t variable_offset_plus_1[GMT_LAUNCHER_VARIABLES];
};

/* Returns the value of variable number `variable`, or NULL if it is not set. */
const char *gmt_output_identity_variable(const struct gmt_output_identity *identity,
	unsigned variable, const char **ret_name);

/*
 * Reads the environment variables of the launcher (torchrun, MPI, Slurm, Flux), and asks the
 * system.
 */
void gmt_output_identity_init(struct gmt_output_identity *ret_identity);

/*
 * Writes the name for `template` to ret_path. A relative name begins with the identity's folder.
 * `number` replaces %n. If a rank is known and the template has neither %r nor %l, the function
 * inserts ".r<rank>" behind the first %h, or before the suffix if the template has no %h
 * (system/recording_name.h). Returns false with a reason if a token is unknown or the name is too
 * long.
 */
bool gmt_output_expand(const char *template, const struct gmt_output_identity *identity,
	uint32_t number, char *ret_path, size_t path_bytes, char *ret_why, size_t why_bytes);

/*
 * Creates a new file with the name of the template, and missing folders. Never overwrites a file:
 * if the name exists, the function inserts ".1", ".2" ... before the suffix
 * (system/recording_name.h). Only the user can read the file. Returns a close-on-exec descriptor,
 * or -1 with a reason.
 */
int gmt_output_create(const char *template, const struct gmt_output_identity *identity,
	char *ret_path, size_t path_bytes, char *ret_why, size_t why_bytes);

#endif
