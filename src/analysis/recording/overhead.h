/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_RECORDING_OVERHEAD_H
#define GMT_ANALYSIS_RECORDING_OVERHEAD_H

/*
 * What recording took, as far as the recorder knows: an estimate. Threads of the program are timed once in some calls,
 * and only between a call that has returned and its event in the ring: what the wrappers do before, and what caches lost to
 * the recorder, is not in it.
 */

#include <stdint.h>

#include "reader/load/snapshot.h"

struct gmt_overhead_estimate {
	uint64_t timed_calls; /* 0: too few calls were made, and the next two are 0; or the recorder did not say */
	uint64_t call_ns;     /* of one, on average */
	uint64_t calls_ns;    /* of all, if each took that */
	uint64_t long_calls;  /* timed and left out: the thread did not run, or waited */
	uint64_t writer_ns;   /* processor time of the thread that writes the file; 0: the recorder did not say */
};

struct gmt_overhead_estimate gmt_overhead_estimate(const struct gmt_snapshot *snapshot);

#endif
