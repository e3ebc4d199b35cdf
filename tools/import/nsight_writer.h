/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_IMPORT_NSIGHT_WRITER_H
#define GMT_TOOLS_IMPORT_NSIGHT_WRITER_H

/* Writes the recording of an export of Nsight Systems: the state that events and phases share. */

#include "import/import_writer.h"
#include "tools/import/nsight_rows.h"

struct gmt_nsight_writer {
	struct gmt_nsight_rows rows;
	struct gmt_import_writer output;
	int64_t base_ns;      /* time in the file that corresponds to GMT_IMPORT_START_STAMP */
	uint64_t last_stamp;
	struct gmt_map threads; /* globalTid to thread id */
	struct gmt_map stacks;  /* chain to stack id */
	struct gmt_map live;    /* the addresses of live blocks; all values are 0 */
	GMT_VEC(uint32_t) frames; /* of the present stack */
	uint64_t without_stack, unknown_operations; /* numbers of events */
};

/* Returns the stamp of a time. Updates writer->last_stamp. */
uint64_t gmt_nsight_stamp(struct gmt_nsight_writer *writer, int64_t time_ns);

/* Finds or writes the thread with this globalTid. Returns false when out of memory. */
bool gmt_nsight_thread(struct gmt_nsight_writer *writer, int64_t global_tid, uint32_t *ret_id);

#endif
