/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_LOAD_LOAD_EVENTS_H
#define GMT_READER_LOAD_LOAD_EVENTS_H

/*
 * Loads the events of a file. Gives each event its trace and its place in the order of time. Part
 * of load.
 *
 * For one thread. False means out of memory.
 */

#include "containers/map.h"
#include "containers/vec.h"
#include "reader/load/event_sorter.h"
#include "reader/load/recording.h"
#include "format/encoding/decode_columns.h"

/* One entry of the cache of recent traces. */
struct gmt_load_recent_trace {
	uint64_t stacks; /* key: stack << 32 | frames */
	uint32_t caller;
	uint32_t trace_plus_1; /* 0: the entry is empty */
};

enum { GMT_LOAD_RECENT_TRACES = 1024 };

/* Initialize with zeros, then set `recording` and `sorter.shapes`. */
struct gmt_load_events {
	struct gmt_recording *recording;
	struct gmt_map trace_ids;   /* from stack << 32 | frames to the index in `traces` */
	struct gmt_map caller_ids;  /* from that index << 32 | caller to the trace with this caller */
	struct gmt_map last_stamp_ids;   /* from a thread to its index in `last_stamps` */
	GMT_VEC(uint64_t) last_stamps;   /* the last stamp of each thread */
	uint32_t clamp_thread;      /* the thread whose clamp was used last */
	size_t clamp_index_plus_1;  /* the index of that thread's clamp, plus 1 */
	struct gmt_load_recent_trace recent[GMT_LOAD_RECENT_TRACES];
	struct gmt_event_sorter sorter;
	size_t count; /* number of events loaded so far */
	GMT_VEC(uint64_t) words[2]; /* the two shape words of each row of a block */
	GMT_VEC(uint64_t) zeros;    /* one zero for each row of the largest block; read-only */
};

/*
 * Loads the events of a block. Skips and counts events whose kind or layer this version does not
 * know. Spreads the columns that it needs (decode_columns.h). Also returns false if the file has
 * more events than 32 bits can count.
 */
bool gmt_load_event_columns(struct gmt_load_events *loader, struct gmt_columns *columns);

/* Marks the end of the compacted prefix: all events so far are survivors of the compaction. */
bool gmt_load_end_compacted(struct gmt_load_events *loader);

/*
 * Finds or makes the trace of two stacks, and sets `*ret_trace` to its index in `traces`. `caller`
 * 0 means that the thread works for no known caller.
 */
bool gmt_load_trace(struct gmt_load_events *loader, uint32_t stack, uint32_t frames,
	uint32_t caller, uint32_t *ret_trace);

/* Notes that the file has a record with this stamp. */
static inline void gmt_load_note_stamp(struct gmt_recording *recording, uint64_t stamp)
{
	if (stamp > recording->last_stamp)
		recording->last_stamp = stamp;
}

/* Makes recording->events and its reader. Call after the last event. */
bool gmt_load_finish_events(struct gmt_load_events *loader);

void gmt_load_events_fini(struct gmt_load_events *loader);

#endif
