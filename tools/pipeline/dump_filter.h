/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_DUMP_FILTER_H
#define GMT_TOOLS_PIPELINE_DUMP_FILTER_H

/*
 * The filter of `dump`: selects rows of a time span, of a device and of kinds of records. Blocks
 * without selected rows are not decoded.
 */

#include <stdbool.h>
#include <stdint.h>

#include "reader/load/recording.h"
#include "format/encoding/block.h"
#include "format/file/find_members.h"
#include "tools/options/moment.h"

struct gmt_dump_filter {
	struct gmt_moment from_option, until_option; /* as the user typed them */
	/* Nanoseconds since the recording began; UINT64_MAX: not given. From gmt_dump_filter_init. */
	uint64_t from_ns, until_ns;
	uint64_t device; /* UINT64_MAX: not given */
	uint64_t kinds;  /* gmt_member_bit of the selected records */
	bool
		reads_all; /* leave no member out, because the caller checks whether the file is complete */
	struct gmt_recording clocks; /* has only the clocks of the recording */
	struct gmt_members members; /* members of the file; gmt_source_leave_out skips some of them */
};

enum { GMT_DUMP_NO_FIELD = -1 };

/*
 * Converts the options to `from_ns` and `until_ns`, with the clocks that are known so far. The
 * options must be times.
 */
void gmt_dump_filter_set_times(struct gmt_dump_filter *filter);

/* Returns whether the filter has a time span. */
static inline bool gmt_dump_filter_has_times(const struct gmt_dump_filter *filter)
{
	return filter->from_option.kind || filter->until_option.kind;
}

/*
 * Prepares the filter. If the options have moments, reads the clocks of the recording and sets
 * `from_ns` and `until_ns`. For a moment such as the peak, reads the whole recording. Marks the
 * members of the file that need not be read. Returns 0, or an exit code after an error message. The
 * caller ends `filter` with gmt_dump_filter_fini in both cases.
 */
int gmt_dump_filter_init(struct gmt_dump_filter *filter, const char *path);

/* Returns whether a block may have rows that the filter accepts. */
bool gmt_dump_filter_may_accept_block(const struct gmt_dump_filter *filter,
	const struct gmt_block *block, const struct gmt_record_info *record);

/*
 * Returns whether the filter accepts a row. It accepts rows without a stamp or a device, and all
 * clocks, because the stamps of other rows are converted with them.
 */
bool gmt_dump_filter_accepts_row(const struct gmt_dump_filter *filter,
	const struct gmt_record_info *record, const void *row);

/*
 * Return the index of the field with a row's stamp or device. GMT_DUMP_NO_FIELD: the filter does
 * not test the field, or the record does not have it.
 */
int gmt_dump_filter_stamp_field(const struct gmt_dump_filter *filter,
	const struct gmt_record_info *record);
int gmt_dump_filter_device_field(const struct gmt_dump_filter *filter,
	const struct gmt_record_info *record);

/*
 * Returns whether the span between two stamps overlaps the filter's time span. Times have the same
 * order as their stamps.
 */
bool gmt_dump_filter_accepts_span(const struct gmt_dump_filter *filter, uint64_t first,
	uint64_t last);

void gmt_dump_filter_fini(struct gmt_dump_filter *filter);

#endif
