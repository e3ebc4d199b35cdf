/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_OUTPUT_H
#define GMT_WRITER_OUTPUT_H

/*
 * The name of the file: the template of option `output` with its tokens replaced.
 *
 * %p pid  %h host  %e program  %t start time (20261121-093015)  %r rank  %l local rank
 * %n a number that makes the name new  %q{VAR} an environment variable  %% a percent sign
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gmt_identity {
	int32_t rank;       /* -1: no launcher told one */
	int32_t local_rank;
	char host[256];
	char program[256];  /* last part of the executable's path */
	int64_t time_s;     /* when it was asked, since 1970 */
	char folder[4096];  /* that relative names begin in; "": the current one */
};

/* Reads the launcher's environment (torchrun, MPI, Slurm, Flux) and asks the system. */
void gmt_identity_init(struct gmt_identity *ret_identity);

/*
 * Writes the name for `template` to ret_path, in the identity's folder. `number` replaces %n. Where a rank is known and the
 * template says neither %r nor %l, ".r<rank>" is put behind %h, or in front of the suffix
 * (system/recording_name.h).
 * False, with a reason in ret_why, when a token is unknown or the name is too long.
 */
bool gmt_output_expand(const char *template, const struct gmt_identity *identity, uint32_t number,
	char *ret_path, size_t path_bytes, char *ret_why, size_t why_bytes);

/*
 * Creates a new file by the template, with missing folders, and never over an existing one: ".1", ".2" ... is put in
 * front of the suffix of a name that is taken, by whatever (system/recording_name.h). Only the user can read the file. The descriptor,
 * close-on-exec, or -1 with a reason.
 */
int gmt_output_create(const char *template, const struct gmt_identity *identity, char *ret_path,
	size_t path_bytes, char *ret_why, size_t why_bytes);

#endif
