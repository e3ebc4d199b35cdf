/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_KEPT_CHECK_H
#define GMT_TESTS_KEPT_CHECK_H

#include "kept_log.h"
#include "reader/load/recording.h"

/*
 * How much of the log the recording must have. KEPT_WHOLE: all calls. KEPT_STOPPED: the recording
 * may have ended before the program. KEPT_CUT: it may also have ended at another call in each
 * thread, so the check does not compare the live blocks.
 */
enum kept_how { KEPT_WHOLE, KEPT_STOPPED, KEPT_CUT };

/*
 * Compares the recording with the log of the program. Each thread's events must be all calls of its
 * log, in their order. Only the call that a thread was in when it was killed may be missing. The
 * live blocks at the end, the counts and the peak must follow from the log.
 *
 * `published` (KEPT_THREADS numbers, or NULL) is how many events each thread had published. A
 * compacted recording needs it, and KEPT_WHOLE. Its events in detail must be the end of each
 * thread's log. The live blocks and the totals at the compaction must follow from the calls before.
 * The folded calls plus the events in detail must be as many as `published`.
 *
 * Returns 0, or prints the first difference and returns 1.
 */
int kept_check(const struct gmt_recording *recording, const struct kept_log *kept,
	enum kept_how how, const uint64_t *published);

#endif
