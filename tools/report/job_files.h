/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_REPORT_JOB_FILES_H
#define GMT_TOOLS_REPORT_JOB_FILES_H

/*
 * The files of a job: recordings, which are read in parallel, and summaries. The result is a list
 * of process summaries in one store. Nothing of a recording stays in memory.
 */

#include <limits.h>
#include <stdbool.h>

#include "analysis/job/process_summary.h"
#include "containers/vec.h"
#include "reader/stacks/traces.h"

#define GMT_JOB_SUMMARY_SUFFIX ".summary.gz"

enum gmt_job_file_kind { GMT_JOB_FILE_RECORDING, GMT_JOB_FILE_SUMMARY, GMT_JOB_FILE_OTHER };

struct gmt_job_file {
	const char *path; /* in the store's arena */
	bool is_operand;  /* the user named it; else it was found in a folder */
	enum gmt_job_file_kind kind;
	/* for a recording, by its name: it does not begin as one, for example because it is empty */
	bool lacks_header;
};

struct gmt_job_files {
	struct gmt_job_store store;
	GMT_VEC(struct gmt_job_file) files;
	GMT_VEC(struct gmt_process_summary) summaries;
	/* What was left out, for the user: one line each, in the store's arena. */
	GMT_VEC(const char *) remarks;
	uint32_t unreadable; /* files that could not be read */
	uint32_t others;     /* files in folders that are neither recordings nor summaries */
	const char *an_other; /* one of them */
	uint32_t summarized; /* recordings left out because their summary is there */
	bool is_out_of_memory;
};

/*
 * Finds the files that the operands name: files, and all files in folders and their folders. Prints
 * an error for an operand that cannot be opened. `ret_files` is zeroed; end it with
 * gmt_job_files_fini. Returns 0 or an exit code; the files that were found are there in both cases.
 */
int gmt_job_files_find(struct gmt_job_files *ret_files, int count, char **operands);

/*
 * Reads the begin of each file, which tells its kind, and the summaries. The first part of
 * gmt_job_files_read, for a caller that reads the recordings itself. Returns the same.
 */
int gmt_job_files_read_summaries(struct gmt_job_files *files);

/* Returns a file by its path; NULL: it is not among the files. */
const struct gmt_job_file *gmt_job_files_by_path(const struct gmt_job_files *files,
	const char *path);

/*
 * Reads all files. Files that cannot be read get a remark. Returns 0, or the exit code of the last
 * named file that could not be read.
 */
int gmt_job_files_read(struct gmt_job_files *files, const struct gmt_traces_options *options);

/*
 * Writes the name of a recording's summary to `ret_path`: .summary.gz in place of .gmt.gz, else at
 * the end. Returns false if the name is too long.
 */
bool gmt_job_summary_path(const char *recording, char ret_path[PATH_MAX]);

/* Adds a remark. */
__attribute__((format(printf, 2, 3))) void gmt_job_files_remark(struct gmt_job_files *files,
	const char *format, ...);

void gmt_job_files_fini(struct gmt_job_files *files);

#endif
