/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_RECORDING_EVENT_COUNTS_H
#define GMT_ANALYSIS_RECORDING_EVENT_COUNTS_H

/* Counts the events of each function and of each thread in a recording. */

#include "containers/vec.h"
#include "reader/load/recording.h"

struct gmt_event_counts_api {
	uint32_t api; /* id; the file may not name it */
	uint64_t counts[GMT_KIND_COUNT]; /* by enum gmt_event_kind; [0] is the sum */
};

struct gmt_event_counts_thread {
	uint32_t thread; /* id */
	uint64_t events;
};

struct gmt_event_counts {
	GMT_VEC(struct gmt_event_counts_api) apis;       /* most events first */
	GMT_VEC(struct gmt_event_counts_thread) threads; /* most events first */
};

/*
 * Counts the events. Fails only if memory is exhausted. `ret_event_counts` (zeroed) belongs to the
 * caller; end it with gmt_event_counts_fini.
 */
enum gmt_status gmt_event_counts_compute(struct gmt_event_counts *ret_event_counts,
	const struct gmt_recording *recording, struct gmt_error *error);

void gmt_event_counts_fini(struct gmt_event_counts *event_counts);

#endif
