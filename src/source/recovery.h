/* SPDX-License-Identifier: MIT */
#ifndef GMT_SOURCE_RECOVERY_H
#define GMT_SOURCE_RECOVERY_H

/*
 * Makes blocks from the memory of a killed recorder, to append to its file. In the flow: source
 * (the file's blocks) -> recovery -> source. It first sees all blocks of the file, so that it knows
 * which are missing. Then it makes the blocks of the journal, the events of the rings with their
 * definitions, and the end. Each event appears exactly once (docs/internals/shared-recordings.md).
 * One thread.
 */

#include "base/status.h"
#include "format/encoding/block.h"
#include "shared_memory/shared_recording_reader.h"
#include "source/source.h"

struct gmt_recovery;

/*
 * Makes a recovery of `shared_recording`, which stays the caller's and must outlive it. NULL: out
 * of memory.
 */
struct gmt_recovery *gmt_recovery_new(struct gmt_shared_recording *shared_recording);

/* `recovery` may be NULL. */
void gmt_recovery_free(struct gmt_recovery *recovery);

/* Call with each block of the file, in order. Returns GMT_OK or GMT_NO_MEMORY. */
enum gmt_status gmt_recovery_note_block(struct gmt_recovery *recovery,
	const struct gmt_block *block, struct gmt_error *error);

/*
 * Call after the file's last block. Gets the next block, valid until the next call. Returns GMT_OK,
 * GMT_END or GMT_NO_MEMORY.
 */
enum gmt_status gmt_recovery_next(struct gmt_recovery *recovery, struct gmt_block *ret_block,
	struct gmt_error *error);

/* Returns the result, after gmt_recovery_next has returned GMT_END. */
struct gmt_source_recovered gmt_recovery_result(const struct gmt_recovery *recovery);

#endif
