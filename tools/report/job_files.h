/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_REPORT_JOB_FILES_H
#define GMT_TOOLS_REPORT_JOB_FILES_H

/*
 * Finds and reads the files of a job: recordings, in parallel, and summaries. The result is a list
 * of process summaries in one store. The recordings themselves do not stay in memory.
 */

#include <limits.h>
#include <stdbool.h>

#include "analysis/job/process_summary.h"
#include "containers/vec.h"
#include "reader/stacks/traces.h"

#define GMT_SUMMARY_SUFFIX ".summary.gz"

enum gmt_job_file_kind { GMT_JOB_FILE_RECORDING, GMT_JOB_FILE_SUMMARY, GMT_JOB_FILE_OTHER };

struct gmt_job_file {
	const char *path; /* in the store's arena */
	bool is_operand;  /* the user named the file; otherwise it was found in a folder */
	enum gmt_job_file_kind kind;
	/* for a recording, by its name: it does not begin as one, for example because it is empty */
	bool lacks_header;
};

struct gmt_job_files {
	struct gmt_job_store store;
	GMT_VEC(struct gmt_job_file) files;
	GMT_VEC(struct gmt_process_summary) summaries;
	/* Lines for the user about files that were left out; in the store's arena. */
	GMT_VEC(const char *) remarks;
	uint32_t unreadable; /* files that could not be read */
	uint32_t others;     /* files in folders that are neither recordings nor summaries */
	const char *other_path; /* the first of the others */
	uint32_t summarized; /* recordings that were left out because their summary was read */
	bool is_out_of_memory;
};

/*
 * Finds the files that the operands name, also in folders and the folders in them, and sorts them
 * by path. Prints an error for an operand that cannot be opened. Returns 0 or an exit code;
 * `ret_files` (zeroed) has the found files in both cases. The caller ends it with
 * gmt_job_files_fini.
 */
int gmt_job_files_find(struct gmt_job_files *ret_files, int count, char **operands);

/*
 * Finds out the kind of each file from its first bytes, and reads the summaries, but no recordings.
 * Returns the same as gmt_job_files_read.
 */
int gmt_job_files_read_summaries(struct gmt_job_files *files);

/* Returns the file with this path, or NULL. */
const struct gmt_job_file *gmt_job_files_by_path(const struct gmt_job_files *files,
	const char *path);

/*
 * Reads all files. Adds a remark for each file in a folder that cannot be read. Returns 0, or the
 * exit code of the last operand that could not be read.
 */
int gmt_job_files_read(struct gmt_job_files *files, const struct gmt_traces_options *options);

/*
 * Writes the path of a recording's summary to `ret_path`: with .summary.gz in place of .gmt.gz, or
 * after another ending. Returns false if the path is too long.
 */
bool gmt_summary_path(const char *recording, char ret_path[PATH_MAX]);

/* Adds a remark, printed with `format`. */
__attribute__((format(printf, 2, 3))) void gmt_job_files_remark(struct gmt_job_files *files,
	const char *format, ...);

void gmt_job_files_fini(struct gmt_job_files *files);

#endif
