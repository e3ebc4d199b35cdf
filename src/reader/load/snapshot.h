/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_LOAD_SNAPSHOT_H
#define GMT_READER_LOAD_SNAPSHOT_H

/*
 * A snapshot in memory: what the file says, in order of time, nothing concluded yet. In the flow:
 * feed -> load -> (symbols, replay). It owns all that is reached from it; readers borrow.
 *
 * Nothing in it is trusted: ids may name what does not exist, so look them up with the functions
 * below, which answer NULL.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/arena.h"
#include "containers/map.h"
#include "base/status.h"
#include "containers/vec.h"
#include "compaction/compacted_prefix.h"
#include "reader/load/events.h"
#include "format/format.h"
#include "source/source.h"

/* What else an event of CUDA's is about: see the record's fields of these names. */
struct gmt_snapshot_object {
	uint64_t object;
	uint64_t offset; /* its `stream`, of kinds where that is one */
	uint16_t context;
};

/* What PyTorch reported with an event. */
struct gmt_snapshot_totals {
	uint64_t allocated_bytes;
	uint64_t reserved_bytes;
};

/* A native and a Python stack that an event named together. */
struct gmt_snapshot_trace {
	uint32_t stack;  /* id; 0: none */
	uint32_t frames; /* id; 0: none */
	uint32_t caller; /* Python stack of the thread that this one works for (reader/load/backward_stacks.h); 0: none */
	bool gets;       /* an event that got or mapped memory has it */
};

struct gmt_snapshot_drop {
	uint32_t thread;
	const char *reason;
	uint64_t count;
};

/* A point of the clock: stamps between two of them are interpolated. */
struct gmt_snapshot_clock {
	uint64_t stamp;
	uint64_t monotonic_ns;
	uint64_t realtime_ns;
};

/* What the program, or what watches it, said; by stamp once loaded. */
struct gmt_snapshot_mark {
	uint64_t stamp;
	uint64_t object; /* 0: none */
	const char *name; /* "" when it has none */
	uint32_t thread;  /* id */
	uint32_t position; /* in the file */
	uint8_t kind, source; /* enum gmt_mark_kind, enum gmt_mark_source */
};

struct gmt_snapshot {
	struct gmt_arena arena;
	const char *path;
	uint64_t file_bytes;

	struct gmt_process process;
	const char *host, *executable, *directory, *shim_version, *machine; /* as strings */
	GMT_VEC(const char *) command;
	bool has_process;

	GMT_VEC(struct gmt_option) options;
	GMT_VEC(struct gmt_api) apis;
	GMT_VEC(struct gmt_device) devices;
	GMT_VEC(struct gmt_thread) threads;
	GMT_VEC(struct gmt_module) modules;
	GMT_VEC(struct gmt_code) codes;
	GMT_VEC(struct gmt_frame) frame_places;
	GMT_VEC(struct gmt_frames) frames;
	GMT_VEC(struct gmt_stack) stacks;
	GMT_VEC(struct gmt_snapshot_clock) clocks;
	GMT_VEC(struct gmt_snapshot_drop) drops;
	GMT_VEC(const char *) notes;
	GMT_VEC(struct gmt_name) names;
	GMT_VEC(struct gmt_snapshot_mark) marks;
	GMT_VEC(struct gmt_oom) ooms; /* what the driver said at refusals; see the event of that stamp */
	GMT_VEC(struct gmt_sample) samples;
	GMT_VEC(struct gmt_pool) pools;
	GMT_VEC(struct gmt_calls) calls;    /* the last of each api counts */
	GMT_VEC(struct gmt_unhooked) unhooked;
	struct gmt_overhead overhead; /* the last record; all zero: the recorder did not say */
	/* Id to index, for each kind of record that has ids. */
	struct gmt_map device_ids, api_ids, thread_ids, module_ids, code_ids, frame_ids, frames_ids,
		stack_ids, name_ids;

	struct gmt_shapes shapes; /* of the events */
	struct gmt_events events; /* in order of time */
	struct gmt_events_reader *reader; /* for gmt_snapshot_event */
	bool has_torch; /* there are events of layer torch, ... */
	bool has_pool;  /* ... of space pool ... */
	bool has_refusals; /* ... and refused requests */
	GMT_VEC(struct gmt_snapshot_trace) traces;

	/* What was folded (docs/folding.md), when past.has_fold: the first past_events events are the survivors. */
	struct gmt_compacted compacted;
	size_t past_events;
	GMT_VEC(uint32_t) past_traces; /* by row of past.sites: index in traces */
	const char *fold_why;

	/* Completeness. */
	uint64_t last_stamp;    /* of all events, syncs, clocks and the end */
	bool has_end;           /* the recording ended in order */
	bool counts_differ;     /* a sync or end record counts other events than there are */
	uint64_t promised_events; /* by the last sync or end record */
	uint64_t seen_events;     /* in the file, with those of unknown_events, and folded ones */
	uint32_t recording_pid;   /* the process that still records to the file; 0: none, or the file has its end */
	bool damaged;
	const char *damage;       /* what is wrong with the file; "" when !damaged */
	struct gmt_source_recovered recovered; /* what came from the recorder's memory */
	uint64_t unknown_blocks;  /* of records that this version does not know, skipped */
	uint64_t unknown_events;  /* of layers or kinds that this version does not know, left out */
	uint64_t unknown_marks;   /* likewise, of kinds or sources */
	uint64_t repeated_ids;  /* records whose id was given before, left out */
};

/* Called now and then while loading; for progress. */
typedef void gmt_snapshot_progress(void *user, uint64_t read_bytes, uint64_t file_bytes);

struct gmt_snapshot_load_options {
	gmt_snapshot_progress *progress; /* or NULL */
	void *user;
	uint32_t recording_pid; /* the process that still records to the file; 0: none that is known of */
	struct gmt_shared_recording *shared_recording; /* the killed recorder's memory, which belongs to the file; or NULL */
};

/*
 * Loads `path`. A file that is damaged or cut after readable data loads up to there, with GMT_OK and
 * `damaged` set, unless a process still records to it. Fails like gmt_source_open, and with GMT_FORMAT when nothing is readable in it.
 * On success the caller frees *ret_snapshot with gmt_snapshot_free.
 */
enum gmt_status gmt_snapshot_load(const char *path, const struct gmt_snapshot_load_options *options,
	struct gmt_snapshot **ret_snapshot, struct gmt_error *error);

/* `snapshot` may be NULL. */
void gmt_snapshot_free(struct gmt_snapshot *snapshot);

/* Event number `index` in order of time. Passes over many have a reader of their own (events.h). One thread. */
struct gmt_snapshot_event gmt_snapshot_event(const struct gmt_snapshot *snapshot, size_t index);

/* What PyTorch reported with an event; false when it did not. */
static inline bool gmt_snapshot_totals(const struct gmt_snapshot_event *event, struct gmt_snapshot_totals *ret_totals)
{
	if (event->layer != GMT_LAYER_TORCH)
		return false;
	*ret_totals = (struct gmt_snapshot_totals){ event->more[0], event->more[1] };
	return true;
}

/* What else an event is about; all zeros when the file does not say. */
static inline struct gmt_snapshot_object gmt_snapshot_object(const struct gmt_snapshot_event *event)
{
	if (event->layer == GMT_LAYER_TORCH)
		return (struct gmt_snapshot_object){ 0 };
	return (struct gmt_snapshot_object){ event->more[0], event->more[1], event->context };
}

/* By id; NULL when the file has none. */
const struct gmt_device *gmt_snapshot_device(const struct gmt_snapshot *snapshot, uint32_t ordinal);
const struct gmt_api *gmt_snapshot_api(const struct gmt_snapshot *snapshot, uint32_t id);
const struct gmt_thread *gmt_snapshot_thread(const struct gmt_snapshot *snapshot, uint32_t id);
const struct gmt_code *gmt_snapshot_code(const struct gmt_snapshot *snapshot, uint32_t id);
const struct gmt_frame *gmt_snapshot_frame(const struct gmt_snapshot *snapshot, uint32_t id);
const struct gmt_frames *gmt_snapshot_frames(const struct gmt_snapshot *snapshot, uint32_t id);
const struct gmt_stack *gmt_snapshot_stack(const struct gmt_snapshot *snapshot, uint32_t id);

/* The value of an option of the recorder that was in force; "" when the file does not say. */
const char *gmt_snapshot_option(const struct gmt_snapshot *snapshot, const char *key);

/* Events that the recorder says it lost. */
uint64_t gmt_snapshot_dropped(const struct gmt_snapshot *snapshot);

/* Events that are in totals only, because they were folded. */
uint64_t gmt_snapshot_folded(const struct gmt_snapshot *snapshot);

/* From the start to the last moment of which the file tells. Once loaded. */
uint64_t gmt_snapshot_duration_ns(const struct gmt_snapshot *snapshot);

/* Whether the recording ended in order, nothing of it is missing, and the reader left nothing out (base/budget.h). */
bool gmt_snapshot_complete(const struct gmt_snapshot *snapshot);

#endif
