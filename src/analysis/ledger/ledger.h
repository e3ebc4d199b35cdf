/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_LEDGER_LEDGER_H
#define GMT_ANALYSIS_LEDGER_LEDGER_H

/*
 * Ledger: which memory of a device is used for what. It starts from the memory in use that the
 * device reports, splits it into lines, and shows the unexplained rest. In the flow: samples + a
 * replay that is observed -> ledger -> report. There is a ledger for each device and moment: the
 * end of the program's work, the peak of the process's driver memory, each failed request.
 *
 * The recorder asks the device at other moments (records sample and oom). The ledger uses the
 * nearest answer at which the process held the same memory. If there is no such answer, the ledger
 * adds the difference of the process's memory to the answer. The lines for pools and graphs, and
 * for other processes, are as of that answer.
 *
 *   gmt_ledger_watch_init(&watch, recording, traces)        observer for a replay
 *   gmt_ledger_compute(&ledger, &watch, ooms, replay, error)  after it
 */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/oom/ooms.h"
#include "base/status.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/load/recording.h"
#include "reader/stacks/traces.h"

enum gmt_ledger_line {
#define GMT_LEDGER_LINE(NAME, name, text) GMT_LEDGER_##NAME,
#include "analysis/ledger/ledger_lines.def"
#undef GMT_LEDGER_LINE
	GMT_LEDGER_LINES
};

/*
 * Memory of a process on one device at one moment, by space. `segments` (PyTorch's) and `arenas`
 * (of other libraries) are parts of `bytes`.
 */
struct gmt_ledger_holding {
	uint64_t bytes[GMT_SPACE_COUNT];
	uint64_t segments[GMT_SPACE_COUNT];
	uint64_t arenas[GMT_SPACE_COUNT];
	bool knows_segments; /* a segment was seen before this moment */
	uint64_t reported_allocated_bytes; /* as PyTorch reported it */
	uint64_t reported_reserved_bytes;
	uint64_t stamp;
};

/* The sums of a holding that an answer is compared with. */
struct gmt_ledger_sums {
	/* memory of layers cuda and driver, without pools, graphs and managed memory */
	uint64_t steady_bytes;
	uint64_t pool_bytes, graph_bytes;
};

/* One answer of the device, and the memory of the process before and after it. */
struct gmt_ledger_answer {
	struct gmt_sample sample;
	struct gmt_ledger_sums before, after;
	bool is_in_compacted; /* `before` and `after` come from the compacted prefix */
};

struct gmt_ledger_device {
	int16_t device;
	struct gmt_ledger_holding now, peak;
	struct gmt_ledger_holding end; /* at the end of the program's work */
	uint64_t cuda_bytes; /* of layer cuda, now */
	uint64_t peak_bytes; /* maximum of cuda_bytes */
};

/* Properties of a site that determine how its blocks count; computed once. */
struct gmt_ledger_site {
	uint32_t device_plus_1; /* index in devices + 1; 0: its blocks do not count */
	uint8_t space;
	bool is_known, is_cuda, is_segment, is_arena;
};

struct gmt_ledger_watch {
	struct gmt_replay_observer observer;
	const struct gmt_recording *recording;
	const struct gmt_traces *traces;
	GMT_VEC(struct gmt_ledger_device) devices;
	struct gmt_map device_ids; /* ordinal to index in devices */
	GMT_VEC(struct gmt_ledger_site) sites; /* by site */
	GMT_VEC(struct gmt_ledger_answer) answers; /* by the stamp of their end */
	GMT_VEC(uint32_t) begins; /* indices of answers, by the stamp of their begin */
	size_t next_begin, next_end;
	uint64_t next_needed_stamp; /* stamp of the next answer, or of the end of the program's work */
	uint64_t work_end; /* UINT64_MAX: no mark gives the end, or the end has already been recorded */
	uint64_t end_stamp; /* moment for which `end` was recorded; UINT64_MAX: after the last event */
	bool has_ended;
	GMT_VEC(struct gmt_ledger_holding) refusals; /* at refusals for lack of memory, by stamp */
	GMT_VEC(int16_t) refusal_devices;
};

enum gmt_ledger_moment { GMT_LEDGER_AT_END, GMT_LEDGER_AT_PEAK, GMT_LEDGER_AT_REFUSAL };

struct gmt_ledger_entry {
	enum gmt_ledger_moment moment;
	size_t oom; /* AT_REFUSAL: index of the row in the ooms */
	int16_t device;
	uint64_t time_ns;
	/* the device answered; else answer_time_ns and total_bytes are 0, unexplained is 0 */
	bool has_answer;
	uint64_t answer_time_ns; /* time of the answer */
	/* the process held other memory at the answer; used_bytes is corrected by the difference */
	bool is_adjusted;
	uint64_t total_bytes, used_bytes;
	int64_t lines[GMT_LEDGER_LINES]; /* bytes; they add up to used_bytes */
	/* a source exists for the line; if not, the line is 0 and its memory is part of other lines */
	bool known[GMT_LEDGER_LINES];
	/* managed memory; lies on the device only as far as touched there; not in the lines */
	uint64_t managed_bytes;
	/* memory imported from other processes, which account for it; not in the lines */
	uint64_t imported_bytes;
};

struct gmt_ledger {
	GMT_VEC(struct gmt_ledger_entry) entries; /* by device, then moment */
};

struct gmt_ledger_sums gmt_ledger_sums(const struct gmt_ledger_holding *holding);

/* Return the fixed id of a line, and its text for the user. */
const char *gmt_ledger_line_name(enum gmt_ledger_line line);
const char *gmt_ledger_line_text(enum gmt_ledger_line line);

/*
 * Prepares the observer. `watch` is zeroed and must not move; end it with gmt_ledger_watch_fini.
 * Returns false if memory is exhausted.
 */
bool gmt_ledger_watch_init(struct gmt_ledger_watch *watch, const struct gmt_recording *recording,
	const struct gmt_traces *traces);
void gmt_ledger_watch_fini(struct gmt_ledger_watch *watch);

/*
 * Computes the ledger after the replay that `watch` observed. Fails only if memory is exhausted.
 * `ret_ledger` (zeroed) belongs to the caller; end it with gmt_ledger_fini.
 */
enum gmt_status gmt_ledger_compute(struct gmt_ledger *ret_ledger,
	const struct gmt_ledger_watch *watch, const struct gmt_ooms *ooms,
	const struct gmt_replay *replay, struct gmt_error *error);

/*
 * Returns the ledger of a device at a moment, or NULL. `oom` matters only for
 * GMT_LEDGER_AT_REFUSAL.
 */
const struct gmt_ledger_entry *gmt_ledger_find(const struct gmt_ledger *ledger, int32_t device,
	enum gmt_ledger_moment moment, size_t oom);

void gmt_ledger_fini(struct gmt_ledger *ledger);

#endif
