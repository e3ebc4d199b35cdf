/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_JOB_SUMMARIZER_H
#define GMT_ANALYSIS_JOB_SUMMARIZER_H

/* Shared by the files of summarize.h. The functions note a lack of memory in the summarizer. */

#include "analysis/job/summarize.h"
#include "containers/map.h"

struct gmt_summarizer {
	struct gmt_job_store *store;
	const struct gmt_summarize_input *input;
	struct gmt_map places; /* of frames that were named, by the number of the frame */
	size_t account; /* index of the first account in the accounting */
	bool is_out_of_memory;
};

/* Returns the number of a text with a NUL; NULL: of the empty text. */
uint32_t gmt_summarize_text(struct gmt_summarizer *summarizer, const char *text);

/* Returns zeroed rows in the store; NULL for none. */
void *gmt_summarize_rows(struct gmt_summarizer *summarizer, size_t count, size_t row_bytes);

/* The parts of a summary: lines, findings, refused requests and the end of the process. */
void gmt_summarize_places(struct gmt_summarizer *summarizer, struct gmt_process_summary *summary);
void gmt_summarize_findings(struct gmt_summarizer *summarizer, struct gmt_process_summary *summary);
void gmt_summarize_refusals(struct gmt_summarizer *summarizer, struct gmt_process_summary *summary);

#endif
