/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_IMPORT_NSIGHT_ROWS_H
#define GMT_TOOLS_IMPORT_NSIGHT_ROWS_H

/*
 * The rows of an export of Nsight Systems that an import needs, in memory. Nsight Systems creates
 * only tables that have rows, so all tables except the first may be missing.
 */

#include "containers/arena.h"
#include "containers/map.h"
#include "containers/vec.h"
#include "tools/import/nsight_database.h"

#define GMT_NSIGHT_MEMORY "CUDA_GPU_MEMORY_USAGE_EVENTS"

/*
 * In a globalTid, the lower 24 bits are the kernel's thread id; the next 24 bits are the process
 * id.
 */
enum { GMT_NSIGHT_ID_BITS = 24, GMT_NSIGHT_ID_MASK = (1 << GMT_NSIGHT_ID_BITS) - 1 };

struct gmt_nsight_event {
	int64_t start_ns, process, device, kind, operation, correlation;
	uint64_t address, size_bytes, stream, pool;
	uint64_t order; /* in the file */
	bool has_device, has_correlation;
};

/* The CUDA call that made an event. */
struct gmt_nsight_call {
	int64_t thread, chain, name;
};

struct gmt_nsight_range {
	int64_t start_ns, end_ns; /* end_ns < start_ns: it has no end */
	int64_t thread, domain;
	const char *name;
	uint32_t name_length;
	uint8_t type; /* 34: a mark, 59: a range of one thread, 60: another range */
};

struct gmt_nsight_frame {
	int64_t chain, depth, symbol, module;
};

struct gmt_nsight_text {
	const char *text;
	size_t length;
};

struct gmt_nsight_rows {
	struct gmt_arena arena;
	int64_t process; /* the process of these rows: its globalPid in the file */
	GMT_VEC(struct gmt_nsight_event) events; /* in order of time */
	GMT_VEC(struct gmt_nsight_call) calls;
	struct gmt_map call_of;                  /* correlation to index in `calls` */
	GMT_VEC(struct gmt_nsight_range) ranges;
	GMT_VEC(struct gmt_nsight_frame) frames; /* sorted by chain, then depth: leaf first */
	GMT_VEC(struct gmt_nsight_text) texts;
	struct gmt_map text_of;                  /* id to index in `texts` */
	int64_t session_start_ns;                /* since the Unix epoch; 0: not known */
};

/*
 * Reads the rows of process `pid`; 0: the only process with memory. Fails with GMT_FORMAT if the
 * table of memory events is missing, or if the file does not have exactly this process.
 */
enum gmt_status gmt_nsight_rows_read(struct gmt_nsight_rows *ret_rows,
	struct gmt_nsight_database *database, uint64_t pid, struct gmt_error *error);

/* Returns the text with this id, or "" if the file does not have it. */
struct gmt_nsight_text gmt_nsight_rows_text(const struct gmt_nsight_rows *rows, int64_t id);

void gmt_nsight_rows_fini(struct gmt_nsight_rows *rows);

#endif
