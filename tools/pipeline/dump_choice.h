/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_DUMP_CHOICE_H
#define GMT_TOOLS_PIPELINE_DUMP_CHOICE_H

/* Which rows `dump` shows: those of a stretch of time, of a device. Blocks without any are not decoded. */

#include <stdbool.h>
#include <stdint.h>

#include "reader/load/snapshot.h"
#include "format/encoding/block.h"
#include "format/file/members.h"

struct gmt_dump_choice {
	/* Nanoseconds since the recording began, or of the Unix epoch when 10^17 or more; UINT64_MAX: not said. */
	uint64_t from, until;
	uint64_t device; /* likewise */
	uint64_t kinds;  /* gmt_member_bit of the records that are wanted */
	bool needs_all;  /* of the file: who wants to know whether it is whole */
	struct gmt_snapshot clocks; /* nothing else of a snapshot is in it */
	struct gmt_members members; /* parts of the file, some of which are left out */
};

enum { GMT_DUMP_NO_FIELD = -1 };

/*
 * Reads the clocks of the recording, when times were asked for; `from` and `until` are since it began then. What of the
 * file need not be read is choice->members. Returns 0, or the exit code when something is wrong (and said). End it with
 * gmt_dump_choice_fini in both cases.
 */
int gmt_dump_choice_init(struct gmt_dump_choice *choice, const char *path);

/* Whether a block may have rows that are wanted. */
bool gmt_dump_choice_may_be_in(const struct gmt_dump_choice *choice, const struct gmt_block *block,
	const struct gmt_record_info *record);

/* Whether a row is wanted. One without a moment or a device is, and so is a clock: others are read by it. */
bool gmt_dump_choice_wants(const struct gmt_dump_choice *choice, const struct gmt_record_info *record, const void *row);

/* The field that tells when a row was, and of which device; GMT_DUMP_NO_FIELD when rows are wanted whatever it says. */
int gmt_dump_choice_moment_of(const struct gmt_dump_choice *choice, const struct gmt_record_info *record);
int gmt_dump_choice_device_of(const struct gmt_dump_choice *choice, const struct gmt_record_info *record);

/* The first and the last of some stamps; their times stand in the same order. */
bool gmt_dump_choice_is_in_time(const struct gmt_dump_choice *choice, uint64_t first, uint64_t last);

void gmt_dump_choice_fini(struct gmt_dump_choice *choice);

#endif
