/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "analysis/job/summarizer.h"

uint32_t gmt_summarize_text(struct gmt_summarizer *summarizer, const char *text)
{
	uint32_t id = gmt_job_intern_text(summarizer->store, text ? text : "", text ? strlen(text) : 0);

	summarizer->is_out_of_memory |= id == UINT32_MAX;
	return id;
}

void *gmt_summarize_rows(struct gmt_summarizer *summarizer, size_t count, size_t row_bytes)
{
	void *rows = count ? gmt_arena_alloc(&summarizer->store->arena, count * row_bytes) : NULL;

	summarizer->is_out_of_memory |= count && !rows;
	return rows;
}
