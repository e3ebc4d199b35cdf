/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_JOB_PROCESS_SUMMARY_MAKER_H
#define GMT_ANALYSIS_JOB_PROCESS_SUMMARY_MAKER_H

/* Shared by process_summary_make*.c. The functions note a lack of memory in the maker. */

#include "analysis/job/process_summary_make.h"
#include "containers/map.h"

struct gmt_process_summary_maker {
	struct gmt_job_store *store;
	const struct gmt_process_summary_input *input;
	struct gmt_map places; /* of frames that were named, by the number of the frame */
	size_t account; /* index of the first account in the accounting */
	bool is_out_of_memory;
};

/* Stores a text and returns its id. NULL counts as the empty text. */
uint32_t gmt_process_summary_make_text(struct gmt_process_summary_maker *maker, const char *text);

/* Returns zeroed rows in the store; NULL for none. */
void *gmt_process_summary_make_rows(struct gmt_process_summary_maker *maker, size_t count,
	size_t row_bytes);

/* The parts of a summary: lines, findings, refused requests and the end of the process. */
void gmt_process_summary_make_places(struct gmt_process_summary_maker *maker,
	struct gmt_process_summary *summary);
void gmt_process_summary_make_findings(struct gmt_process_summary_maker *maker,
	struct gmt_process_summary *summary);
void gmt_process_summary_make_refusals(struct gmt_process_summary_maker *maker,
	struct gmt_process_summary *summary);

#endif
