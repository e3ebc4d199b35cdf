/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_FILES_PARALLEL_H
#define GMT_TOOLS_PIPELINE_FILES_PARALLEL_H

/*
 * Recordings that are told of beside each other: each in a process of its own, as many at a time as there are processors.
 * What one writes waits for its turn, so that all looks as if they had been told of one behind the other. The processes share
 * the memory that this program may take.
 */

#include <stdbool.h>

#include "tools/pipeline/files.h"

struct gmt_files_parallel;

/* Begins with the first ones; `output` as it is before any of them. NULL where it is not worth it, or cannot be. */
struct gmt_files_parallel *gmt_files_parallel_open(const struct gmt_files *files, const struct gmt_files_output *output);

/*
 * Waits for recording number `index`, one more than in the call before, and writes what was told of it. False: the caller
 * has to tell of it itself, for there was no process, or it was ended from without, or had too little memory beside the
 * others. `beside` may be NULL.
 */
bool gmt_files_parallel_take(struct gmt_files_parallel *beside, int index, struct gmt_files_output *output, int *ret_code);

/* `beside` may be NULL. */
void gmt_files_parallel_close(struct gmt_files_parallel *beside);

#endif
