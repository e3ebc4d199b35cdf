/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_REPORT_REPORT_EACH_PARALLEL_H
#define GMT_TOOLS_REPORT_REPORT_EACH_PARALLEL_H

/*
 * Reports on recordings in parallel: each recording in its own process, with as many processes at a
 * time as processors. The output of each process is held, and written in the order of the
 * recordings. The processes share the memory limit of this program.
 */

#include <stdbool.h>

#include "tools/report/report_each.h"

struct gmt_report_each_parallel;

/*
 * Starts the processes of the first recordings. Each process gets a copy of `output`. Returns NULL
 * if parallel processes are not useful or not possible.
 */
struct gmt_report_each_parallel *gmt_report_each_parallel_open(const struct gmt_report_each *files,
	const struct gmt_report_each_output *output);

/*
 * Waits for the process of recording number `index`, which is one more than in the previous call,
 * and writes its report. *ret_code is its exit code. Returns false if the caller must report on the
 * recording itself: the process did not start, was killed, or had too little memory next to the
 * other processes. `parallel` may be NULL.
 */
bool gmt_report_each_parallel_take(struct gmt_report_each_parallel *parallel, int index,
	struct gmt_report_each_output *output, int *ret_code);

/* Frees `parallel`, which may be NULL. */
void gmt_report_each_parallel_close(struct gmt_report_each_parallel *parallel);

#endif
