/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_JOURNAL_H
#define GMT_WRITER_JOURNAL_H

/*
 * The journal: a copy, in shared memory, of each block that the stream has written
 * since the file's last sync point (shared_memory/shared_recording_layout.h, struct
 * gmt_shared_recording_journal). The compressor may still hold these blocks, and a kill would lose
 * them. Data flow: encoder -> journal -> sink. Only the writer's thread uses it.
 *
 * Staged entries become valid together, at the next commit. An entry is a block of the file, or the
 * position up to which a batch empties its ring.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared_memory/shared_recording_layout.h"

struct gmt_journal {
	struct gmt_shared_recording_journal *memory;
	uint64_t size_bytes;   /* size of memory->entries */
	uint64_t staged_bytes; /* including entries that are not committed yet */
};

/*
 * Initializes an empty journal in `memory` (zeroed, `bytes` long) for a file that is still
 * empty. The caller owns `memory`.
 */
void gmt_journal_init(struct gmt_journal *ret_journal, void *memory, uint64_t bytes);

/* Returns whether an entry of `length` bytes can be staged. */
bool gmt_journal_has_room(const struct gmt_journal *journal, uint64_t length);

/* Copies an entry into the journal. Returns false if there is no room. */
bool gmt_journal_stage(struct gmt_journal *journal, enum gmt_journal_kind kind, const void *bytes,
	uint32_t length);

/*
 * Makes all staged entries valid. Returns the offset in entries[] where they begin, for
 * gmt_journal_next.
 */
uint64_t gmt_journal_commit(struct gmt_journal *journal);

/* Drops the entries that were staged since the last commit. */
void gmt_journal_drop(struct gmt_journal *journal);

/*
 * Returns the bytes of the next block at or after offset *at, and moves *at behind it. Returns NULL
 * if there is no further block.
 */
const void *gmt_journal_next(const struct gmt_journal *journal, uint64_t *at, uint32_t *ret_length);

/*
 * Empties the journal. Called when the file certainly contains all committed entries,
 * before the sync point with the stamp `stamp`.
 */
void gmt_journal_reset(struct gmt_journal *journal, uint64_t stamp);

#endif
