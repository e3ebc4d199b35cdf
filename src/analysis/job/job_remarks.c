/* SPDX-License-Identifier: MIT */
/* Text about a job: remarks, and lists of ranks. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/job/job_make.h"

bool gmt_job_remark(struct gmt_job *job, const char *format, ...)
{
	const char **remark = gmt_vec_push(&job->remarks);
	va_list arguments;

	if (!remark)
		return false;
	va_start(arguments, format);
	*remark = gmt_arena_vprint(&job->store->arena, format, arguments);
	va_end(arguments);
	job->remarks.count -= !*remark;
	return *remark;
}

void gmt_job_list_ranks(const uint32_t *ranks, size_t count, char *ret_text, size_t bytes)
{
	size_t length = 0;

	*ret_text = 0;
	for (size_t i = 0; i < count;) {
		size_t end = i + 1;
		char item[32];

		while (end < count && ranks[end] == ranks[end - 1] + 1)
			end++;
		if (end - i > 1)
			snprintf(item, sizeof(item), "%s%" PRIu32 "%s%" PRIu32, i ? ", " : "", ranks[i],
				end - i > 2 ? "-" : ", ", ranks[end - 1]);
		else
			snprintf(item, sizeof(item), "%s%" PRIu32, i ? ", " : "", ranks[i]);
		if (length + strlen(item) + sizeof(", ...") > bytes) {
			snprintf(ret_text + length, bytes - length, ", ...");
			return;
		}
		length += (size_t)snprintf(ret_text + length, bytes - length, "%s", item);
		i = end;
	}
}
