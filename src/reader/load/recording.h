/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_LOAD_RECORDING_H
#define GMT_READER_LOAD_RECORDING_H

/*
 * A recording in memory: the contents of the file in order of time, not yet interpreted. In the
 * flow: read_ahead -> load -> (symbols, replay). The recording owns everything that is reachable
 * from it. Its users borrow.
 *
 * Do not trust the contents: an id may name a record that does not exist. Look ids up with the
 * functions below, which return NULL in that case.
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

/* Details of an event that is not of layer torch. See the event record's fields of these names. */
struct gmt_recording_event_details {
	uint64_t object;
	uint64_t offset; /* the record's `stream`, for kinds where that field is an offset */
	uint16_t context;
};

/* PyTorch's totals, as it reported them with an event. */
struct gmt_recording_totals {
	uint64_t allocated_bytes;
	uint64_t reserved_bytes;
};

/*
 * A trace: the ids of the stacks that an event refers to. Events with equal stacks have the same
 * trace.
 */
struct gmt_recording_stack_ids {
	uint32_t stack;  /* id; 0: no stack */
	uint32_t frames; /* id of the Python stack; 0: no stack */
	/* Python stack of the thread that this thread works for (backward_stacks.h); 0: unknown */
	uint32_t caller;
	bool requests_memory;       /* an allocation or a mapping has this trace */
};

struct gmt_recording_drop {
	uint32_t thread;
	const char *reason;
	uint64_t count;
};

/* A clock record. The reader interpolates stamps between two of them. */
struct gmt_recording_clock {
	uint64_t stamp;
	uint64_t monotonic_ns;
	uint64_t realtime_ns;
};

/*
 * A mark: a report of the program, or of a source that watches it (format/mark_sources.def). In
 * order of stamps once loaded.
 */
struct gmt_recording_mark {
	uint64_t stamp;
	uint64_t object; /* 0: no object */
	const char *name; /* "" if the mark has no name */
	uint32_t thread;  /* id */
	uint32_t position; /* in the file */
	uint8_t kind, source; /* enum gmt_mark_kind, enum gmt_mark_source */
};

struct gmt_recording {
	struct gmt_arena arena;
	const char *path;
	uint64_t file_bytes;

	struct gmt_process process;
	/* strings that end with NUL */
	const char *host, *executable, *directory, *recorder_version, *machine;
	const char *imported_from; /* "": the recorder wrote it; else `gpumemtrace import` made it */
	GMT_VEC(const char *) command;
	bool has_process;

	GMT_VEC(struct gmt_option) options;
	GMT_VEC(struct gmt_environment) environment;
	GMT_VEC(struct gmt_api) apis;
	GMT_VEC(struct gmt_device) devices;
	GMT_VEC(struct gmt_thread) threads;
	GMT_VEC(struct gmt_module) modules;
	GMT_VEC(struct gmt_code) codes;
	GMT_VEC(struct gmt_frame) frame_places;
	GMT_VEC(struct gmt_frames) frames;
	GMT_VEC(struct gmt_stack) stacks;
	GMT_VEC(struct gmt_recording_clock) clocks;
	GMT_VEC(struct gmt_recording_drop) drops;
	GMT_VEC(const char *) notes;
	GMT_VEC(struct gmt_name) names;
	GMT_VEC(struct gmt_recording_mark) marks;
	/* the driver's numbers at refusals; the event has the same stamp */
	GMT_VEC(struct gmt_oom) ooms;
	GMT_VEC(struct gmt_sample) samples;
	GMT_VEC(struct gmt_pool) pools;
	GMT_VEC(struct gmt_calls) calls;    /* for each api, the last record counts */
	GMT_VEC(struct gmt_unhooked) unhooked;
	struct gmt_overhead overhead; /* the last record; all zeros: the recorder did not write one */
	/* From id to index, for each kind of record that has ids. */
	struct gmt_map device_ids, api_ids, thread_ids, module_ids, code_ids, frame_ids, frames_ids,
		stack_ids, name_ids;

	struct gmt_event_shapes shapes; /* of `events` */
	struct gmt_events events; /* in order of time */
	struct gmt_events_reader *reader; /* used by gmt_recording_event */
	bool has_torch; /* some events are of layer torch */
	bool has_pool;  /* some events are of space pool */
	bool has_refusals; /* some requests were refused */
	GMT_VEC(struct gmt_recording_stack_ids) traces;

	/*
	 * The compacted prefix (docs/compaction.md), if compacted.exists. The first
	 * compacted_events events are the survivors.
	 */
	struct gmt_compacted_prefix compacted;
	size_t compacted_events;
	GMT_VEC(uint32_t) compacted_traces; /* for each row of compacted.sites: index in `traces` */
	const char *compaction_why;

	/* Completeness of the recording. */
	/* the latest stamp of all events, syncs, clocks, marks, the compaction and the end */
	uint64_t last_stamp;
	bool has_end;           /* the recording has its end record */
	/* the count in a sync or end record differs from the events in the file */
	bool counts_differ;
	uint64_t promised_events; /* the count in the last sync or end record */
	/* events in the file, including unknown_events and compacted events */
	uint64_t seen_events;
	/* the process that still writes the file; 0: no process, or the file has its end */
	uint32_t recording_pid;
	bool damaged;
	bool
		is_cut; /* it ends in the middle of its last member, as the file of a killed process does */
	const char *damage; /* what is wrong with the file; "" if it is not damaged */
	struct gmt_source_recovered recovered; /* recovered from the recorder's shared memory */
	uint64_t unknown_blocks; /* skipped blocks, of record kinds that this version does not know */
	/* skipped events, of layers or kinds that this version does not know */
	uint64_t unknown_events;
	/* skipped marks, of kinds or sources that this version does not know */
	uint64_t unknown_marks;
	uint64_t repeated_ids; /* skipped records whose id the file had before */
};

/* Reports progress. The loader calls it from time to time. */
typedef void gmt_recording_progress(void *user, uint64_t read_bytes, uint64_t file_bytes);

struct gmt_recording_load_options {
	gmt_recording_progress *progress; /* may be NULL */
	void *user;
	/* the process that still writes the file; 0: no such process is known */
	uint32_t recording_pid;
	/* the killed recorder's shared memory that belongs to the file; may be NULL */
	struct gmt_shared_recording *shared_recording;
	/* read instead of the file, of which `path` is then only the name; NULL: the file is read */
	const struct gmt_source_stream *stream;
};

/*
 * Loads `path`. If the file is damaged or cut, loads the readable data before the damage, returns
 * GMT_OK and sets `damaged`. `damaged` stays false for a cut file that a process still writes. A
 * failed read of a stream is GMT_NO_FILE.
 * Fails like gmt_source_open, and with GMT_FORMAT if nothing in the file is readable. On success,
 * the caller frees *ret_recording with gmt_recording_free.
 */
enum gmt_status gmt_recording_load(const char *path,
	const struct gmt_recording_load_options *options, struct gmt_recording **ret_recording,
	struct gmt_error *error);

/* Frees a recording. `recording` may be NULL. */
void gmt_recording_free(struct gmt_recording *recording);

/*
 * Returns event number `index` in order of time. For one thread. A pass over many events uses its
 * own reader (events.h).
 */
struct gmt_recording_event gmt_recording_event(const struct gmt_recording *recording, size_t index);

/* Gets PyTorch's totals of an event. Returns false if PyTorch did not report this event. */
static inline bool gmt_recording_totals(const struct gmt_recording_event *event,
	struct gmt_recording_totals *ret_totals)
{
	if (event->layer != GMT_LAYER_TORCH)
		return false;
	*ret_totals = (struct gmt_recording_totals){ event->more[0], event->more[1] };
	return true;
}

/* Returns the details of an event; all zeros for layer torch. */
static inline struct gmt_recording_event_details gmt_recording_event_details(
	const struct gmt_recording_event *event)
{
	if (event->layer == GMT_LAYER_TORCH)
		return (struct gmt_recording_event_details){ 0 };
	return (struct gmt_recording_event_details){ event->more[0], event->more[1], event->context };
}

/* Return the record with an id, or NULL if the file does not have it. */
const struct gmt_device *gmt_recording_device(const struct gmt_recording *recording,
	uint32_t ordinal);
const struct gmt_api *gmt_recording_api(const struct gmt_recording *recording, uint32_t id);
const struct gmt_thread *gmt_recording_thread(const struct gmt_recording *recording, uint32_t id);
const struct gmt_code *gmt_recording_code(const struct gmt_recording *recording, uint32_t id);
const struct gmt_frame *gmt_recording_frame(const struct gmt_recording *recording, uint32_t id);
const struct gmt_frames *gmt_recording_frames(const struct gmt_recording *recording, uint32_t id);
const struct gmt_stack *gmt_recording_stack(const struct gmt_recording *recording, uint32_t id);

/* Returns the text of the name with an id, or "" if the file does not have it. */
const char *gmt_recording_name(const struct gmt_recording *recording, uint32_t id);

/* Returns the value of a recorder option that was in force, or "" if the file does not have it. */
const char *gmt_recording_option(const struct gmt_recording *recording, const char *key);

/*
 * Returns whether `gpumemtrace import` made the recording of another tool's data. Such data may
 * lack what a recorder writes, for example the end of the program.
 */
static inline bool gmt_recording_is_imported(const struct gmt_recording *recording)
{
	return recording->imported_from && *recording->imported_from;
}

/* Returns how many events the recorder reported as lost. */
uint64_t gmt_recording_dropped(const struct gmt_recording *recording);

/* Returns how many events were compacted into totals and are no longer in the file. */
uint64_t gmt_recording_compacted_events(const struct gmt_recording *recording);

/*
 * Returns the time from the start of the recording to the last stamp in the file. Call once loaded.
 */
uint64_t gmt_recording_duration_ns(const struct gmt_recording *recording);

/*
 * Returns whether the recording has its end, lacks no event, and the reader left nothing out
 * (base/budget.h).
 */
bool gmt_recording_complete(const struct gmt_recording *recording);

#endif
