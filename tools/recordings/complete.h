/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_COMPLETE_H
#define GMT_TOOLS_RECORDINGS_COMPLETE_H

/* A snapshot and what its killed recorder left in memory, written as one whole file. */

#include "base/status.h"
#include "tools/output/target.h"
#include "source/source.h"

struct gmt_completed {
	uint64_t events; /* in the new file */
	struct gmt_source_recovered recovered;
};

/*
 * Writes the snapshot `from` (NULL: it is gone) with what `leftover` has to `to`, which may be the same. The file `to` is replaced
 * in one step, when all is on the disk, and gets the permissions of `from`. `to` NULL: only counts what would be written.
 */
enum gmt_status gmt_complete(const struct gmt_target *from, struct gmt_shared_recording *shared_recording, const struct gmt_target *to,
	struct gmt_completed *ret_completed, struct gmt_error *error);

#endif
