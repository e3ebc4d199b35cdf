/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_RECORDING_OVERHEAD_H
#define GMT_ANALYSIS_RECORDING_OVERHEAD_H

/*
 * An estimate of the cost of recording. The recorder times some calls of the program's threads,
 * from the return of the original function until the event is in the ring. The estimate leaves out
 * the wrappers' work before the call, and the cache lines that the recorder displaces.
 */

#include <stdint.h>

#include "reader/load/recording.h"

struct gmt_overhead_estimate {
	/* 0: too few calls, or the recorder did not report it; then the next two fields are 0 */
	uint64_t timed_calls;
	uint64_t call_ns;     /* average of one call */
	uint64_t calls_ns;    /* of all calls, if each took the average */
	uint64_t long_calls; /* timed calls that are left out: the thread was descheduled or waited */
	uint64_t writer_ns; /* processor time of the writer; 0: the recorder did not report it */
};

struct gmt_overhead_estimate gmt_overhead_estimate(const struct gmt_recording *recording);

#endif
