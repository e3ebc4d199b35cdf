/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_LEDGER_LEDGER_H
#define GMT_ANALYSIS_LEDGER_LEDGER_H

/*
 * Where a device's memory is: what the device says is in use, line by line, and what no line explains. In the
 * flow: samples + a replay that is observed -> ledger -> report. One for each device and moment: the end of
 * the program's work, the peak of what the process had from the driver, each failed request.
 *
 * The device was asked at moments of its own (records sample and oom). Of those the nearest one counts
 * at which the process held the same; where there is none, what it held more or less by then is added to the
 * answer. What pools and graphs hold, and what others do, is as of that answer.
 *
 *	gmt_ledger_watch_init(&watch, snapshot, traces)        observer for a replay
 *	gmt_ledger_init(&ledger, &watch, ooms, replay, error)  after it
 */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/oom/ooms.h"
#include "base/status.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/load/snapshot.h"
#include "reader/stacks/traces.h"

enum gmt_ledger_line {
#define GMT_LEDGER_LINE(NAME, name, text) GMT_LEDGER_##NAME,
#include "analysis/ledger/ledger_lines.def"
#undef GMT_LEDGER_LINE
	GMT_LEDGER_LINES
};

/* What a process held on one device at one moment, by space; among that PyTorch's segments and other libraries' arenas. */
struct gmt_ledger_holding {
	uint64_t bytes[GMT_SPACE_COUNT];
	uint64_t segments[GMT_SPACE_COUNT];
	uint64_t arenas[GMT_SPACE_COUNT];
	bool knows_segments; /* there have been some by then */
	uint64_t told_allocated_bytes; /* by PyTorch */
	uint64_t told_reserved_bytes;
	uint64_t stamp;
};

/* What of a holding an answer is compared with: in sum, of pools, of graphs. */
struct gmt_ledger_sums {
	uint64_t steady_bytes; /* all that neither pools nor graphs keep for themselves */
	uint64_t pool_bytes, graph_bytes;
};

/* One answer of the device, and what the process held before and after it. */
struct gmt_ledger_answer {
	struct gmt_sample sample;
	struct gmt_ledger_sums before, after;
	bool is_past; /* a fold says what was held */
};

struct gmt_ledger_device {
	int16_t device;
	struct gmt_ledger_holding now, peak;
	struct gmt_ledger_holding end; /* at the end of the program's work */
	uint64_t cuda_bytes; /* of layer cuda, now */
	uint64_t peak_bytes; /* its most */
};

/* What counting a site's blocks takes, found out once. */
struct gmt_ledger_site {
	uint32_t device_plus_1; /* index in devices; 0: its blocks do not count */
	uint8_t space;
	bool is_known, is_cuda, is_segment, is_arena;
};

struct gmt_ledger_watch {
	struct gmt_replay_observer observer;
	const struct gmt_snapshot *snapshot;
	const struct gmt_traces *traces;
	GMT_VEC(struct gmt_ledger_device) devices;
	struct gmt_map device_ids; /* ordinal to index in devices */
	GMT_VEC(struct gmt_ledger_site) sites; /* by site */
	GMT_VEC(struct gmt_ledger_answer) answers; /* by the stamp of their end */
	GMT_VEC(uint32_t) begins;                  /* indices of answers, by the stamp of their begin */
	size_t next_begin, next_end;
	uint64_t quiet_until; /* the stamp of the next answer, or of the end of the program's work */
	uint64_t work_end;    /* UINT64_MAX: no mark says when, or it was noted down */
	uint64_t end_stamp;   /* when it was noted down; UINT64_MAX: behind the last event */
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
	bool has_answer;         /* the device was asked; else the rest but lines is 0, and nothing is unexplained */
	uint64_t answer_time_ns; /* when */
	bool is_moved;           /* the process held something else then: used_bytes is moved by the difference */
	uint64_t total_bytes, used_bytes;
	int64_t lines[GMT_LEDGER_LINES]; /* bytes; they add up to used_bytes */
	bool known[GMT_LEDGER_LINES];    /* somebody said so; else the line is 0, and what it is lies in others */
	uint64_t managed_bytes;  /* may be on the device, as far as it was touched there: not among the lines */
	uint64_t imported_bytes; /* others pay for it: likewise */
};

struct gmt_ledger {
	GMT_VEC(struct gmt_ledger_entry) entries; /* by device, then moment */
};

struct gmt_ledger_sums gmt_ledger_sums(const struct gmt_ledger_holding *holding);

/* The fixed id of a line, and what it is called in text. */
const char *gmt_ledger_line_name(enum gmt_ledger_line line);
const char *gmt_ledger_line_text(enum gmt_ledger_line line);

/* `watch` is zeroed, and stays where it is; end it with gmt_ledger_watch_fini. False when out of memory. */
bool gmt_ledger_watch_init(struct gmt_ledger_watch *watch, const struct gmt_snapshot *snapshot,
	const struct gmt_traces *traces);
void gmt_ledger_watch_fini(struct gmt_ledger_watch *watch);

/*
 * After the replay that was watched. Fails only for lack of memory. `ret_ledger` (zeroed) is the caller's;
 * end it with gmt_ledger_fini.
 */
enum gmt_status gmt_ledger_init(struct gmt_ledger *ret_ledger, const struct gmt_ledger_watch *watch,
	const struct gmt_ooms *ooms, const struct gmt_replay *replay, struct gmt_error *error);

/* The ledger of a device at a moment; NULL when there is none. `oom` counts AT_REFUSAL only. */
const struct gmt_ledger_entry *gmt_ledger_find(const struct gmt_ledger *ledger, int32_t device,
	enum gmt_ledger_moment moment, size_t oom);

void gmt_ledger_fini(struct gmt_ledger *ledger);

#endif
