/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_DUMP_CHOICE_H
#define GMT_TOOLS_DUMP_CHOICE_H

/* Which rows `dump` shows: those of a stretch of time, of a device. Blocks without any are not decoded. */

#include <stdbool.h>
#include <stdint.h>

#include "model/snapshot.h"
#include "wire/block.h"

struct gmt_dump_choice {
	/* Nanoseconds since the recording began, or of the Unix epoch when 10^17 or more; UINT64_MAX: not said. */
	uint64_t from, until;
	uint64_t device; /* likewise */
	struct gmt_snapshot clocks; /* nothing else of a snapshot is in it */
};

/*
 * Reads the clocks of the recording, when times were asked for; `from` and `until` are since it began then. Returns 0,
 * or the exit code when something is wrong (and said). End it with gmt_dump_choice_fini in both cases.
 */
int gmt_dump_choice_init(struct gmt_dump_choice *choice, const char *path);

/* Whether a block may have rows that are wanted. */
bool gmt_dump_choice_may_be_in(const struct gmt_dump_choice *choice, const struct gmt_block *block,
	const struct gmt_record_info *record);

/* Whether a row is wanted. One without a moment or a device is, and so is a clock: others are read by it. */
bool gmt_dump_choice_wants(const struct gmt_dump_choice *choice, const struct gmt_record_info *record, const void *row);

void gmt_dump_choice_fini(struct gmt_dump_choice *choice);

#endif
