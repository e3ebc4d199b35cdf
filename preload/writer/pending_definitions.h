/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_PENDING_DEFINITIONS_H
#define GMT_WRITER_PENDING_DEFINITIONS_H

/*
 * What the compressor holds back would be lost on a kill; so all that goes into the file since its last
 * sync point stands here too (shared_memory/shared_recording.h, struct gmt_shared_recording_journal). In the flow: encode -> journal
 * -> sink. Used by the writer's thread alone.
 *
 * What is staged counts from the commit on, all together: blocks of events, and how far they empty the ring.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared_memory/shared_recording.h"

struct gmt_pending_definitions {
	struct gmt_shared_recording_journal *memory;
	uint64_t size_bytes;   /* of memory->entries */
	uint64_t staged_bytes; /* with what is not committed yet */
};

/* Begins a journal in `memory` (zeroed, `bytes` long), which stays the caller's, for a file that has nothing yet. */
void gmt_pending_definitions_init(struct gmt_pending_definitions *ret_journal, void *memory, uint64_t bytes);

/* Whether an entry of `length` bytes can be staged. */
bool gmt_pending_definitions_has_room(const struct gmt_pending_definitions *journal, uint64_t length);

/* Copies an entry in. False when there is no room. */
bool gmt_pending_definitions_stage(struct gmt_pending_definitions *journal, enum gmt_pending_definitions_kind kind, const void *bytes, uint32_t length);

/* What was staged counts. Returns where in entries[] it begins, for gmt_pending_definitions_next. */
uint64_t gmt_pending_definitions_commit(struct gmt_pending_definitions *journal);

/* What was staged since the last commit does not count. */
void gmt_pending_definitions_drop(struct gmt_pending_definitions *journal);

/* The bytes of the next block from *at on, which moves behind it; NULL when there is none. */
const void *gmt_pending_definitions_next(const struct gmt_pending_definitions *journal, uint64_t *at, uint32_t *ret_length);

/* All that was committed is in the file for certain, before the sync point of that stamp. */
void gmt_pending_definitions_reset(struct gmt_pending_definitions *journal, uint64_t stamp);

#endif
