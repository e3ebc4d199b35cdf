/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_LOAD_CLOCK_H
#define GMT_READER_LOAD_CLOCK_H

/*
 * Stamps to time. Between two clock records stamps are interpolated; before the first and behind the
 * last the average rate of all of them goes on. With one record a tick is taken for a nanosecond.
 *
 * Times count nanoseconds from process.start_time_ns. Everything is exact integer arithmetic and
 * monotone: a later stamp is never an earlier time.
 */

#include <stdint.h>

#include "reader/load/snapshot.h"

/* Drops clock records that do not advance. To be called once, when all are loaded. */
void gmt_clock_prepare(struct gmt_snapshot *snapshot);

/* Nanoseconds between the start of the recording and `stamp`; 0 for earlier ones. */
uint64_t gmt_clock_time_ns(const struct gmt_snapshot *snapshot, uint64_t stamp);

/*
 * The same for a moment as options say it: nanoseconds since the recording began already, or of the Unix epoch when 10^17
 * or more. UINT64_MAX, which no option says, stays what it is.
 */
uint64_t gmt_clock_time_of_option_ns(const struct gmt_snapshot *snapshot, uint64_t moment);

/* The same for a moment of the Unix epoch; 0 for moments before the start. */
uint64_t gmt_clock_time_of_epoch_ns(const struct gmt_snapshot *snapshot, uint64_t epoch_ns);

/* How long so many ticks are, by the average rate of all clock records, rounded down. */
uint64_t gmt_clock_span_ns(const struct gmt_snapshot *snapshot, uint64_t ticks);

#endif
