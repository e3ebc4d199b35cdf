/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_KEPT_CHECK_H
#define GMT_TESTS_KEPT_CHECK_H

#include "kept_log.h"
#include "reader/load/snapshot.h"

/*
 * The recording may have ended before the program; or of each thread elsewhere, so that there is no
 * telling what lives.
 */
enum kept_how { KEPT_WHOLE, KEPT_STOPPED, KEPT_CUT };

/*
 * Whether the events of each thread are the calls that the program noted down, in their order, all
 * of them: but for the one that each thread was in when it was killed; and whether what lives at
 * the end, the counts and the peak are what follows from the log. `published` (KEPT_THREADS of
 * them, or NULL) is how many events each thread had published: of a folded recording (KEPT_WHOLE)
 * the events in detail must be the end of each thread's log, what lived at the fold and its totals
 * must be what follows from the calls before them, and both together must be so many. Prints what
 * is wrong and returns 1, or 0.
 */
int kept_check(const struct gmt_snapshot *snapshot, const struct kept_log *kept, enum kept_how how,
	const uint64_t *published);

#endif
