/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_DUMP_CHOICE_H
#define GMT_TOOLS_PIPELINE_DUMP_CHOICE_H

/*
 * The rows that `dump` shows: those of a time span or of a device. Blocks without such rows are not
 * decoded.
 */

#include <stdbool.h>
#include <stdint.h>

#include "reader/load/recording.h"
#include "format/encoding/block.h"
#include "format/file/find_members.h"
#include "tools/options/moment.h"

struct gmt_dump_choice {
	struct gmt_moment from_option, until_option; /* as the user gave them */
	/* Nanoseconds since the recording began; UINT64_MAX: not given. From gmt_dump_choice_init. */
	uint64_t from, until;
	uint64_t device; /* UINT64_MAX: not given */
	uint64_t kinds;  /* gmt_member_bit of the wanted records */
	/* read all parts of the file, because the caller checks whether it is complete */
	bool needs_all;
	struct gmt_recording clocks; /* only the clocks of the recording are filled */
	struct gmt_members members; /* parts of the file; some are left out */
};

enum { GMT_DUMP_NO_FIELD = -1 };

/*
 * Converts the options to `from` and `until`, with the clocks that are known so far. The options
 * must be times.
 */
void gmt_dump_choice_set_times(struct gmt_dump_choice *choice);

/* Returns whether the choice has a time span. */
static inline bool gmt_dump_choice_has_times(const struct gmt_dump_choice *choice)
{
	return choice->from_option.kind || choice->until_option.kind;
}

/*
 * Prepares the choice. If times were given, reads the clocks of the recording and sets `from` and
 * `until`. For a moment that is no time, such as the peak, reads the whole recording. Marks the
 * parts of the file in choice->members that need not be read. Returns 0, or an exit code after an
 * error message. In both cases the caller ends `choice` with gmt_dump_choice_fini.
 */
int gmt_dump_choice_init(struct gmt_dump_choice *choice, const char *path);

/* Returns whether a block may have wanted rows. */
bool gmt_dump_choice_may_be_in(const struct gmt_dump_choice *choice, const struct gmt_block *block,
	const struct gmt_record_info *record);

/*
 * Returns whether a row is wanted. Rows without a moment or a device are wanted. Clocks are wanted
 * too, because the stamps of other rows are converted with them.
 */
bool gmt_dump_choice_wants(const struct gmt_dump_choice *choice,
	const struct gmt_record_info *record, const void *row);

/*
 * Return the index of the field that holds a row's moment or device. GMT_DUMP_NO_FIELD: rows are
 * wanted for any value of it.
 */
int gmt_dump_choice_moment_of(const struct gmt_dump_choice *choice,
	const struct gmt_record_info *record);
int gmt_dump_choice_device_of(const struct gmt_dump_choice *choice,
	const struct gmt_record_info *record);

/*
 * Returns whether the span between two stamps meets the wanted times. Times have the same order as
 * their stamps.
 */
bool gmt_dump_choice_is_in_time(const struct gmt_dump_choice *choice, uint64_t first,
	uint64_t last);

void gmt_dump_choice_fini(struct gmt_dump_choice *choice);

#endif
