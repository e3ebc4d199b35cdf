/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_IMPORT_NSIGHT_WRITER_H
#define GMT_TOOLS_IMPORT_NSIGHT_WRITER_H

/* What the parts share that write the recording of an export of Nsight Systems. */

#include "import/import_writer.h"
#include "tools/import/nsight_rows.h"

struct gmt_nsight_writer {
	struct gmt_nsight_rows rows;
	struct gmt_import_writer output;
	int64_t base_ns;      /* time of the start stamp */
	uint64_t last_stamp;
	struct gmt_map threads; /* number of a thread to its id */
	struct gmt_map stacks;  /* chain to id of its stack */
	struct gmt_map live;    /* address to 0, of live blocks */
	GMT_VEC(uint32_t) frames; /* of the stack that is being read */
	uint64_t without_stack, unknown_operations;
};

/* Returns the stamp of a time, and notes the last one. */
uint64_t gmt_nsight_stamp(struct gmt_nsight_writer *writer, int64_t time_ns);

/* Gets the id of a thread by its number in the file. Returns false if memory is exhausted. */
bool gmt_nsight_thread(struct gmt_nsight_writer *writer, int64_t number, uint32_t *ret_id);

#endif
