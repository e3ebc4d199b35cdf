/* SPDX-License-Identifier: MIT */
#ifndef GMT_SOURCE_RECOVERY_STATE_H
#define GMT_SOURCE_RECOVERY_STATE_H

/*
 * The state of a recovery (recovery.h), and the functions that its parts share. Private to these:
 *
 *   recovery.c         the order in which the blocks are made
 *   recovery_definitions.c    definitions from the lost part of the file
 *   recovery_blocks.c  which ids are defined; decoding the journal, and queueing the blocks
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/map.h"
#include "containers/vec.h"
#include "format/encoding/decode_rows.h"
#include "format/encoding/encode_rows.h"
#include "source/recovery.h"
#include "shared_memory/ring_rows.h"

/* Which blocks the recovery makes next. */
enum gmt_recovery_phase {
	GMT_RECOVER_BEGINNING,
	GMT_RECOVER_LOST,
	GMT_RECOVER_JOURNAL,
	GMT_RECOVER_RINGS,
	GMT_RECOVER_LOSSES,
	GMT_RECOVER_END,
	GMT_RECOVER_DONE,
};

struct gmt_recovery_position {
	uint32_t thread;
	uint64_t consumed;
};

struct gmt_recovery {
	struct gmt_shared_recording *shared_recording;

	/* The content of the file, and of the blocks added to it. */
	struct gmt_map ids; /* record kind << 32 | id -> the record is defined */
	uint32_t last_ids[GMT_RECORD_UNHOOKED + 1]; /* by kind: the largest id */
	uint64_t sync_stamp;  /* stamp of the file's last sync record; 0: no sync record */
	uint64_t blocks_since_sync;
	uint64_t events;      /* number of events, as counted in sync and end records */
	uint64_t last_stamp;
	bool has_process, has_end;

	/* The content of the shared recording. */
	const uint8_t *journal;
	size_t journal_bytes;
	uint64_t base_stamp;
	struct gmt_recovery_position positions[GMT_SHARED_RECORDING_RINGS];
	GMT_VEC(struct gmt_api) apis; /* function names from the preamble */
	struct gmt_map api_ids; /* id -> index in `apis` of the first row with that id */
	bool apis_are_read;

	enum gmt_recovery_phase phase;
	size_t journal_at; /* offset in the journal */
	uint64_t blocks_to_skip; /* blocks of the journal that are already in the file */
	uint32_t depot_id; /* of the next entry, for GMT_RECOVER_LOST */
	uint32_t slot;    /* index of the ring that is read next, for GMT_RECOVER_RINGS */
	/* head of that slot's ring, if slot_begun; read once, because the file may change meanwhile */
	struct gmt_ring ring;
	uint64_t next_event; /* number of the next event in that ring */
	bool slot_begun;
	uint64_t events_left; /* upper limit: the file on disk has no room for more events */
	uint64_t damaged_blocks; /* damaged blocks of the preamble and the journal; they are left out */
	struct gmt_source_recovered result;

	GMT_VEC(uint8_t) queue; /* consecutive blocks that gmt_recovery_next has yet to return */
	size_t returned_bytes; /* bytes of `queue` that were returned */
	bool no_memory;
	struct gmt_decoder decoder, preamble_decoder;
	struct gmt_encoder encoder;
	struct gmt_definitions definitions;
	struct gmt_ring_rows rows;
	struct gmt_ring_event batch[GMT_RING_ROWS_MAX];
};

/* Returns whether the file, or a block added to it, has the record of that kind and id. */
bool gmt_recovery_is_defined(const struct gmt_recovery *recovery, uint32_t kind, uint32_t id);

/*
 * Returns whether the block can be decoded, or has a kind that this version does not know. A
 * recorder writes only such blocks. A reader would take any other block for the end of the valid
 * part, and lose all blocks after it. Invalidates the decoder's previous rows.
 */
bool gmt_recovery_is_readable(struct gmt_recovery *recovery, const struct gmt_block *block);

/* Appends complete blocks to `queue`. */
void gmt_recovery_add_bytes(struct gmt_recovery *recovery, const void *bytes, size_t length);

/*
 * Encodes the rows as a block and appends it to `queue`. Leaves out rows that do not fit
 * into a block; a recorder never writes such rows. `context` is the recovery.
 */
void gmt_recovery_add_rows(void *context, uint32_t kind, const void *rows, uint32_t count);

/* Returns the record kind for a depot entry, or 0. */
uint32_t gmt_recovery_record_kind(enum gmt_depot_kind kind);

/* Reads the journal entry at *at and moves *at to the next entry. Returns false at the end. */
bool gmt_recovery_next_entry(const struct gmt_recovery *recovery, size_t *at,
	struct gmt_journal_entry *ret_entry, const uint8_t **ret_bytes);

/*
 * The recorder stores an entry's file_id before it writes the definition. If it was killed in
 * between, the id has no definition. So the id counts only if the file or the journal defines it.
 * We use `reserved` to mark an entry as checked.
 */
struct gmt_depot_entry *gmt_recovery_find_entry(void *context, uint32_t id,
	enum gmt_depot_kind kind);

/* Adds the blocks of the recording's beginning, if the file lacks them. */
void gmt_recovery_add_preamble(struct gmt_recovery *recovery);

/* Adds some definitions from the lost part of the file. Returns false at the end. */
bool gmt_recovery_add_lost(struct gmt_recovery *recovery);

/* Adds the name of a function that events use, unless it is already there. */
void gmt_recovery_add_api(struct gmt_recovery *recovery, uint32_t id);

#endif
