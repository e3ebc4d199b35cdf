/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "analysis/job/process_summary_maker.h"

uint32_t gmt_process_summary_make_text(struct gmt_process_summary_maker *maker, const char *text)
{
	uint32_t id = gmt_job_intern_text(maker->store, text ? text : "", text ? strlen(text) : 0);

	maker->is_out_of_memory |= id == UINT32_MAX;
	return id;
}

void *gmt_process_summary_make_rows(struct gmt_process_summary_maker *maker, size_t count,
	size_t row_bytes)
{
	void *rows = count ? gmt_arena_alloc(&maker->store->arena, count * row_bytes) : NULL;

	maker->is_out_of_memory |= count && !rows;
	return rows;
}
