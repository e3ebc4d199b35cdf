/* SPDX-License-Identifier: MIT */
#ifndef GMT_SOURCE_RECOVERY_H
#define GMT_SOURCE_RECOVERY_H

/*
 * What the memory of a killed recorder has beyond its file, as blocks that go behind the file's. In the
 * flow: source (the file's blocks) -> recovery -> source. It watches all blocks of the file first, so that
 * it knows what is missing: then come what the journal has, the events of the rings with what they name, and
 * the end. Each event exactly once (docs/leftovers.md). One thread.
 */

#include "base/status.h"
#include "format/encoding/block.h"
#include "shared_memory/shared_recording_file.h"
#include "source/source.h"

struct gmt_recovery;

/* Of `leftover`, which stays the caller's and outlives it. NULL when out of memory. */
struct gmt_recovery *gmt_recovery_new(struct gmt_shared_recording *shared_recording);

/* `recovery` may be NULL. */
void gmt_recovery_free(struct gmt_recovery *recovery);

/* The next block of the file, in its order. GMT_NO_MEMORY. */
enum gmt_status gmt_recovery_watch(struct gmt_recovery *recovery, const struct gmt_block *block, struct gmt_error *error);

/* Once the file has no more: the next block, good until the next call. GMT_END, or GMT_NO_MEMORY. */
enum gmt_status gmt_recovery_next(struct gmt_recovery *recovery, struct gmt_block *ret_block, struct gmt_error *error);

/* Once gmt_recovery_next has said GMT_END. */
struct gmt_source_recovered gmt_recovery_result(const struct gmt_recovery *recovery);

#endif
