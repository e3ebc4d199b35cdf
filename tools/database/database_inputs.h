/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_DATABASE_DATABASE_INPUTS_H
#define GMT_TOOLS_DATABASE_DATABASE_INPUTS_H

/* The recordings that the operands of `sql` and of `export --format=sqlite` name. */

#include "tools/report/job_files.h"

struct gmt_database_inputs {
	struct gmt_job_files files; /* of folders; empty if no operand is a folder */
	GMT_VEC(const char *) paths; /* borrowed from the operands, or from `files` */
};

/*
 * Lists the operands, with the recordings in a folder and its folders in place of it. Prints
 * errors, and warnings about files in folders that cannot be read. `ret_inputs` is zeroed; end it
 * with gmt_database_inputs_fini, also after a failure. Returns 0 or an exit code.
 */
int gmt_database_inputs_find(struct gmt_database_inputs *ret_inputs, int count, char **operands);

void gmt_database_inputs_fini(struct gmt_database_inputs *inputs);

#endif
