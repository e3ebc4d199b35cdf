/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_KEPT_CHECK_H
#define GMT_TESTS_KEPT_CHECK_H

#include "kept_log.h"
#include "model/snapshot.h"

/* The recording may have ended before the program; or of each thread elsewhere, so that there is no telling what lives. */
enum kept_how { KEPT_WHOLE, KEPT_STOPPED, KEPT_CUT };

/*
 * Whether the events of each thread are the calls that the program noted down, in their order, all of them: but
 * for the one that each thread was in when it was killed; and whether what lives at the end by the log is what
 * the replay says. Prints what is wrong and returns 1, or 0.
 */
int kept_check(struct gmt_snapshot *loaded, struct kept_log *kept, enum kept_how how);

#endif
