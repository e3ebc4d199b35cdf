/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_COMPLETE_H
#define GMT_TOOLS_COMPLETE_H

/* A snapshot and what its killed recorder left in memory, written as one whole file. */

#include "base/status.h"
#include "wire/source.h"

struct gmt_completed {
	uint64_t events; /* in the new file */
	struct gmt_source_recovered recovered;
};

/*
 * Writes the snapshot at `path` (NULL: it is gone) with what `leftover` has to `to`, which may be the same
 * name: it is replaced in one step, when all is on the disk, and keeps owner and permissions where there are some.
 */
enum gmt_status gmt_complete(const char *path, struct gmt_leftover *leftover, const char *to,
	struct gmt_completed *ret_completed, struct gmt_error *error);

#endif
