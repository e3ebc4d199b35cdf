/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_REPORT_JOB_SUMMARY_H
#define GMT_TOOLS_REPORT_JOB_SUMMARY_H

/*
 * The first screen for several recordings, for example of the ranks of a job: one line for each,
 * and what holds for all of them. Each recording's row is written to a temporary file by the
 * process that reads the recording.
 */

#include <stdbool.h>
#include <stdio.h>

#include "tools/pipeline/pipeline.h"

/* Writes the row of one recording. The pipeline needs wants_report_details. */
void gmt_job_summary_row(const struct gmt_pipeline *pipeline, FILE *rows);

/* Writes the text from the rows. False when out of memory. */
bool gmt_job_summary_write(FILE *rows, FILE *document);

#endif
