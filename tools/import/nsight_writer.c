/* SPDX-License-Identifier: MIT */
#include "tools/import/nsight_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint64_t gmt_nsight_stamp(struct gmt_nsight_writer *writer, int64_t time_ns)
{
	uint64_t since = time_ns > writer->base_ns ? (uint64_t)time_ns - (uint64_t)writer->base_ns : 0;
	uint64_t stamp = GMT_IMPORT_START_STAMP + (since < INT64_MAX ? since : 0);

	if (stamp > writer->last_stamp)
		writer->last_stamp = stamp;
	return stamp;
}

bool gmt_nsight_thread(struct gmt_nsight_writer *writer, int64_t global_tid, uint32_t *ret_id)
{
	uint64_t known;
	char name[32];
	uint32_t tid = (uint32_t)(global_tid & GMT_NSIGHT_ID_MASK);

	if (gmt_map_find(&writer->threads, (uint64_t)global_tid, &known)) {
		*ret_id = (uint32_t)known;
		return true;
	}
	*ret_id = (uint32_t)writer->threads.count + 1;
	snprintf(name, sizeof(name), tid ? "thread %" PRIu32 : "not known", tid);
	return gmt_map_put(&writer->threads, (uint64_t)global_tid, *ret_id) &&
		gmt_import_thread(&writer->output, *ret_id, tid, name, strlen(name));
}
