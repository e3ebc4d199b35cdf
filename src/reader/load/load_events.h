/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_LOAD_LOAD_EVENTS_H
#define GMT_READER_LOAD_LOAD_EVENTS_H

/*
 * The events of a file, while it is loaded: each gets its trace and its place in the order of time. Part of
 * load. One thread; false means out of memory.
 */

#include "containers/map.h"
#include "containers/vec.h"
#include "reader/load/order.h"
#include "reader/load/snapshot.h"
#include "format/encoding/columns.h"

/* A trace that an event had lately, by what it is made of. */
struct gmt_load_known_trace {
	uint64_t stacks; /* stack << 32 | frames */
	uint32_t caller;
	uint32_t trace_plus_1; /* 0: none */
};

enum { GMT_LOAD_KNOWN_TRACES = 1024 };

/* Zero-initialise, then set `snapshot` and order.shapes. */
struct gmt_load_events {
	struct gmt_snapshot *snapshot;
	struct gmt_map trace_ids;   /* stack << 32 | frames to index in traces */
	struct gmt_map caller_ids;  /* that index << 32 | caller to the trace that has both */
	struct gmt_map clamp_ids;   /* thread to index in clamps */
	GMT_VEC(uint64_t) clamps;   /* the last stamp of each thread */
	uint32_t clamp_thread;      /* whose clamp was used last ... */
	size_t clamp_index_plus_1;  /* ... and where it is */
	struct gmt_load_known_trace known[GMT_LOAD_KNOWN_TRACES];
	struct gmt_order order;
	size_t count; /* events given to it */
	GMT_VEC(uint64_t) words[2]; /* of the shapes of a block's rows */
	GMT_VEC(uint64_t) zeros;    /* as many as a block has rows; never written to */
};

/*
 * Keeps the events of a block, those whose kind and layer this version knows. Its columns are spread (columns.h). False also
 * when they are more than 32 bits can count.
 */
bool gmt_load_event_columns(struct gmt_load_events *loader, struct gmt_columns *columns);

/* All events so far are survivors of what was folded. */
bool gmt_load_end_past(struct gmt_load_events *loader);

/* Index in traces; `caller` 0: nobody says for whom. */
bool gmt_load_trace(struct gmt_load_events *loader, uint32_t stack, uint32_t frames, uint32_t caller,
	uint32_t *ret_trace);

/* A record of this moment is in the file. */
static inline void gmt_load_see_stamp(struct gmt_snapshot *snapshot, uint64_t stamp)
{
	if (stamp > snapshot->last_stamp)
		snapshot->last_stamp = stamp;
}

/* Behind the last: makes snapshot->events and its reader. */
bool gmt_load_finish_events(struct gmt_load_events *loader);

void gmt_load_events_fini(struct gmt_load_events *loader);

#endif
