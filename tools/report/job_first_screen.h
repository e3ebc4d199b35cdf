/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_REPORT_JOB_FIRST_SCREEN_H
#define GMT_TOOLS_REPORT_JOB_FIRST_SCREEN_H

/*
 * The first screen of a report on several recordings, for example of the ranks of a job: a line for
 * each recording, and a verdict on all of them. The process that reads a recording writes the
 * recording's row to a temporary file.
 */

#include <stdbool.h>
#include <stdio.h>

#include "tools/pipeline/pipeline.h"

/* Writes the row of one recording. The pipeline needs wants_report_details. */
void gmt_job_first_screen_write_row(const struct gmt_pipeline *pipeline, FILE *rows);

/* Writes the text from the rows. Returns false when out of memory. */
bool gmt_job_first_screen_write(FILE *rows, FILE *document);

#endif
