/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_FOLLOW_FOLLOW_CURVE_H
#define GMT_READER_FOLLOW_FOLLOW_CURVE_H

/*
 * The live memory of an account in each of the last minutes' seconds: the most that it was in the
 * second, so that no peak is lost. Seconds count from the start of the recording. For one thread.
 */

#include <stdint.h>

enum { GMT_FOLLOW_CURVE_SECONDS = 600 };

/* Initialize with zeros. */
struct gmt_follow_curve {
	uint64_t max_bytes[GMT_FOLLOW_CURVE_SECONDS]; /* of second s: at s % GMT_FOLLOW_CURVE_SECONDS */
	uint64_t live_bytes; /* at the last change */
	uint32_t second; /* of the last change */
};

/* Notes that the account has `live_bytes` from now on. Seconds must not decrease. */
void gmt_follow_curve_set(struct gmt_follow_curve *curve, uint32_t second, uint64_t live_bytes);

/*
 * Returns the most live bytes in a second. `now` is the present second; seconds after it and those
 * that are no longer known give 0.
 */
uint64_t gmt_follow_curve_at(const struct gmt_follow_curve *curve, uint32_t second, uint32_t now);

#endif
