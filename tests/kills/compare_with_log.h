/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_COMPARE_WITH_LOG_H
#define GMT_TESTS_COMPARE_WITH_LOG_H

#include "call_log.h"
#include "reader/load/recording.h"

/*
 * How much of the log the recording must have. HAS_ALL_CALLS: all calls. MAY_STOP_EARLY: the
 * recording may have ended before the program. MAY_BE_CUT: each thread's events may also end at a
 * different time, so the live blocks are not compared.
 */
enum log_coverage { HAS_ALL_CALLS, MAY_STOP_EARLY, MAY_BE_CUT };

/*
 * Compares the recording with the log of the program. Each thread's events must be all calls of its
 * log, in their order. Only the call that a thread was in when it was killed may be missing. The
 * live blocks at the end, the counts and the peak must follow from the log.
 *
 * `published` (LOGGED_THREADS numbers, or NULL) is how many events each thread had published. A
 * compacted recording needs it, and HAS_ALL_CALLS. Its events in detail must be the end of each
 * thread's log. The live blocks and the totals at the compaction must follow from the calls before.
 * The compacted calls plus the events in detail must be as many as `published`.
 *
 * Returns 0, or prints the first difference and returns 1.
 */
int compare_with_log(const struct gmt_recording *recording, const struct call_log *call_log,
	enum log_coverage coverage, const uint64_t *published);

#endif
