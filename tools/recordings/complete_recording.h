/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_COMPLETE_RECORDING_H
#define GMT_TOOLS_RECORDINGS_COMPLETE_RECORDING_H

/*
 * Writes one complete file from a recording and the shared-memory recording of its killed recorder.
 */

#include "base/status.h"
#include "tools/output/replaceable_file.h"
#include "source/source.h"

struct gmt_completed {
	uint64_t events; /* in the new file */
	struct gmt_source_recovered recovered;
};

/*
 * Completes the recording `from` (NULL: the file is gone) with the events in `shared_recording`,
 * and writes it to `to`, which may be the same file. Replaces the file `to` in one step after all
 * data is on the disk, and gives it the permissions of `from`. `to` NULL: only counts the events.
 */
enum gmt_status gmt_complete_recording(const struct gmt_replaceable_file *from,
	struct gmt_shared_recording *shared_recording, const struct gmt_replaceable_file *to,
	struct gmt_completed *ret_completed, struct gmt_error *error);

#endif
