/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_LOAD_CLOCK_H
#define GMT_READER_LOAD_CLOCK_H

/*
 * Converts stamps (clock ticks) to times. Between two clock records, the reader interpolates.
 * Before the first record and after the last, it uses the average rate of all records. With fewer
 * than two records, it takes one tick as one nanosecond.
 *
 * Times are in nanoseconds since process.start_time_ns. The arithmetic is exact, in integers, and
 * monotone: a later stamp never gives an earlier time.
 */

#include <stdint.h>

#include "reader/load/recording.h"

/* Drops clock records that do not advance. Call once, after all records are loaded. */
void gmt_clock_prepare(struct gmt_recording *recording);

/*
 * Returns the nanoseconds from the start of the recording to `stamp`, or 0 if `stamp` is earlier.
 */
uint64_t gmt_clock_time_ns(const struct gmt_recording *recording, uint64_t stamp);

/*
 * Returns the time, in nanoseconds since the start of the recording, of a moment that a
 * command-line option gives. A `moment` of 10^17 or more counts nanoseconds since the Unix epoch. A
 * smaller `moment` is already relative to the start. UINT64_MAX, which no option gives, stays
 * UINT64_MAX.
 */
uint64_t gmt_clock_time_of_option_ns(const struct gmt_recording *recording, uint64_t moment);

/*
 * Returns the time of `epoch_ns` (nanoseconds since the Unix epoch), in nanoseconds since the start
 * of the recording. Returns 0 for moments before the start.
 */
uint64_t gmt_clock_time_of_epoch_ns(const struct gmt_recording *recording, uint64_t epoch_ns);

/*
 * Converts a number of ticks to nanoseconds, at the average rate of all clock records. Rounds down.
 */
uint64_t gmt_clock_span_ns(const struct gmt_recording *recording, uint64_t ticks);

/* Converts nanoseconds to a number of ticks, at the same rate. Rounds down. */
uint64_t gmt_clock_ticks(const struct gmt_recording *recording, uint64_t time_ns);

#endif
