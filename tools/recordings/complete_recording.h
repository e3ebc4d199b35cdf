/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_COMPLETE_RECORDING_H
#define GMT_TOOLS_RECORDINGS_COMPLETE_RECORDING_H

/*
 * A recording and the shared-memory recording of its killed recorder, written as one complete file.
 */

#include "base/status.h"
#include "tools/output/replaceable_file.h"
#include "source/source.h"

struct gmt_completed {
	uint64_t events; /* in the new file */
	struct gmt_source_recovered recovered;
};

/*
 * Writes the recording `from` (NULL: the file is gone), completed from `shared_recording`, to `to`,
 * which may be the same file. Replaces the file `to` in one step when all data is on the disk, and
 * gives it the permissions of `from`. `to` NULL: only counts the events.
 */
enum gmt_status gmt_complete_recording(const struct gmt_replaceable_file *from,
	struct gmt_shared_recording *shared_recording, const struct gmt_replaceable_file *to,
	struct gmt_completed *ret_completed, struct gmt_error *error);

#endif
